"""``python -m ibaccept`` is the ``ibaccept`` command."""

import sys

from ibaccept.cli import main

sys.exit(main())
