"""Bandwidth tests of ``perftest``: read stdout or JSON, and say whether a row is a measurement."""

from ibaccept.parse.perftest.accept import Refused, accept
from ibaccept.parse.perftest.json_file import parse_json
from ibaccept.parse.perftest.row import BandwidthRow, BandwidthTest, Unit, consistent
from ibaccept.parse.perftest.text import bare_average, parse

__all__ = [
    "BandwidthRow",
    "BandwidthTest",
    "Refused",
    "Unit",
    "accept",
    "bare_average",
    "consistent",
    "parse",
    "parse_json",
]
