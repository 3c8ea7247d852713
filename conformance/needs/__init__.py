"""Measures which versions the operations of clients need."""
