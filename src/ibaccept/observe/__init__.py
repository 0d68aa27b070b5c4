"""One sweep of a fabric by read-only commands -> Snapshot.

Imports routing, site and what lies below them.
"""
