"""The tables of a roll-up and their row keys. Importing this module is cheap, so commands can read it early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

_CELL = ("clause", "target", "listener")
ROW_KEYS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "cells": _CELL,
        "targets": ("target", "listener", "role"),
        "clauses": ("clause",),
        "runs": ("run_id",),
        "transitions": (*_CELL, "at", "run_id"),
        "release_steps": ("clause", "implementation", "listener", "to_target"),
        "flakes": _CELL,
        "coverage": ("clause", "property", "listener", "request"),
        "latency": ("target", "listener", "bucket"),
        "speed": ("run_id", "target"),
        "mutation": ("clause", "defect"),
        "release_changes": ("listener", "clause", "from_release", "to_release", "shortest"),
        "inputs_left_out": ("listener", "release", "reason"),
        "failures": ("run_id", "signature"),
        "neighbours": ("signature", "target", "listener"),
        "machines": ("target", "listener"),
        "inputs": ("run_id",),
    }
)
"""Every table of a roll-up, each with the columns that identify a row."""
