"""One run: its inputs, its folder, its sweeps and loads, and what one test is given.

Imports everything but the plugin, the command line and the lab.
"""
