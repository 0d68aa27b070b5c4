"""The simulated hosts: what is on them, and what the SSH server answers for them."""
