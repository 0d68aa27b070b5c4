"""Simulated subnets: ibsim, its net files and the topologies they hold."""
