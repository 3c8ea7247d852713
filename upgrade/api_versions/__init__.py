"""Version tables of a cluster's brokers: read, compared, matched with features.

Matching says whether the brokers support the features that a user needs.
"""
