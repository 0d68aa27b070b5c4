"""One look at a fabric -> Snapshot. Imports routing and what lies below it."""
