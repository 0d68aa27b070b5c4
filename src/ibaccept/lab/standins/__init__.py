"""Stand-ins for programs that need hardware: not the real tools, and they say so in ``--version``.

Each prints what the real tool prints in Debian 12 for the same flags, with figures from the lab's
data plane (`ibaccept.lab.traffic.plane`). They start with ``python -I -S`` and import nothing
but a few built-in modules: hundreds start at once. This package must not
import the rest of the suite.
"""
