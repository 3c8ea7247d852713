"""Loads the project's pytest plugins."""

pytest_plugins = ["fixtures.plugin", "reports.plugin", "conformance.engine.plugin"]
