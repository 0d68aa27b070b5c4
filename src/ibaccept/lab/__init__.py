"""Simulated fabrics behind a real SSH server on loopback: ``Lab.start("healthy")``.

One port; the user name is the host. A scenario says what the fabric is, what is wrong with it, and
what the suite must say about it. Backend ``ibsim`` runs the real OpenSM and infiniband-diags.
"""

from ibaccept.lab.scenario import Scenario, load, names
from ibaccept.lab.session import BACKENDS, Lab, RunningLab

__all__ = ["BACKENDS", "Lab", "RunningLab", "Scenario", "load", "names"]
