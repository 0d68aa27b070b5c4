"""One run: inputs, folder, sweep, loads, and one test. Imports all but plugin, cli."""
