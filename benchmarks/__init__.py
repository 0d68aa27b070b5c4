"""Speed and memory, as ratios against another tool in the same run: ``tox -e bench``."""
