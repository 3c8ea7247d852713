"""Tools for operators of a cluster: what an upgrade breaks, and what it changes."""
