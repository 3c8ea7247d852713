"""Judging of clients: scripted brokers, the model client and the client oracle.

Scripts say what a broker does. The model shows what a client then does, and the oracle says what a client may do.
"""
