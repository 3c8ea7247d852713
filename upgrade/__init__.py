"""Tools for who runs a cluster: what an upgrade breaks, and what it changes."""
