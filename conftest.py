"""Options and fixtures of the suite, for tests_fabric and for the tests of the plugin."""

pytest_plugins = ["ibaccept.plugin", "pytester"]
