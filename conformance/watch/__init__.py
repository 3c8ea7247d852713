"""Watches programs that talk to a cluster, and predicts which releases they would still work with."""
