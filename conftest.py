"""Loads the project's pytest plugins."""

pytest_plugins = [
    "fixtures.plugin",
    "reports.plugin",
    "conformance.engine.run_ends",
    "conformance.roles.plugin",
    "conformance.engine.selection_plugin",
    "conformance.engine.jobs_plugin",
]
