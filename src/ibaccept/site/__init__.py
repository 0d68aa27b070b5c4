"""What the site hands in: inventory, cabling plan, settings, results recorded earlier.

Imports commands, verdict, transport, fabric and errors.
"""
