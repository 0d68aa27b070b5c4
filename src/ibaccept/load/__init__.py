"""Load runs: RDMA pairs and file system clients of a job, all at once, and the cables meanwhile.

Started only with ``--load``. `run.run_load` makes everything; the other modules are its parts.
"""
