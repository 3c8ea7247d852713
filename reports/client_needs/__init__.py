"""Which versions a client needs in each of its operations, as it was measured."""
