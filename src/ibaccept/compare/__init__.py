"""Two runs of one fabric, held against each other: what is new, what was mended, what moved.

Imports all below it, and neither plugin nor cli.
"""
