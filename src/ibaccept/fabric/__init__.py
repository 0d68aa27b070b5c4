"""The nouns: nodes, ports, cables, LIDs, rates, counters, units, node sets.

Imports only errors.
"""
