"""Forwarding tables as arrays: routes, delivery, credit loops, spread, forecast.

No input or output. Imports verdict (for absences), fabric and errors.
"""
