"""Bandwidth tests of ``perftest``: read stdout, and say whether a row is a measurement."""

from ibaccept.parse.perftest.accept import Refused, accept, is_port_taken
from ibaccept.parse.perftest.row import BandwidthRow, BandwidthTest, Unit, consistent
from ibaccept.parse.perftest.text import parse

__all__ = [
    "BandwidthRow",
    "BandwidthTest",
    "Refused",
    "Unit",
    "accept",
    "consistent",
    "is_port_taken",
    "parse",
]
