"""Watches programs that talk to a cluster, and predicts the effect of an upgrade.

The prediction says which releases each program would still work with.
"""
