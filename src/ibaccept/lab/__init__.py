"""Simulated fabrics and their hosts behind a real SSH server on loopback.

``Lab.start("healthy")``. One port; the user name is the host. A scenario says what the fabric is,
what is wrong with it, and what the suite must report about it. Backend ``ibsim`` runs the real
OpenSM and infiniband-diags. Imports what lies below it; only the plugin and the command line
import the lab.
"""

from ibaccept.lab.scenario import Scenario, load, names
from ibaccept.lab.session import BACKENDS, Lab, RunningLab

__all__ = ["BACKENDS", "Lab", "RunningLab", "Scenario", "load", "names"]
