"""The traffic of the lab: rates of flows over the tables, and the counters they move."""
