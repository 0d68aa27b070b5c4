"""Load runs: traffic of a job on many hosts at once, and the cables meanwhile -> LoadRuns.

Started only with ``--load``. ``runs.run_load`` makes everything; the other modules are its parts.
Imports observe, routing, site and what lies below them.
"""
