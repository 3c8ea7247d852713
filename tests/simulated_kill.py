"""The end of a process, simulated."""

from __future__ import annotations


class SimulatedKill(BaseException):
    """Simulates the end of the process: no code of the suite catches it."""
