"""Every table of a roll-up, with the class of its rows and their key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from reports.tables.cell_rows import GridCell, GridClause
from reports.tables.columns import RowOfTable
from reports.tables.failure_rows import KeptFailure, KeptMachine, Neighbour
from reports.tables.given_rows import InputsLeftOut, MutationScore, ReleaseChange
from reports.tables.history_rows import Coverage, Flakes, Latency, ReleaseStep, Speed, Transition
from reports.tables.run_rows import GridInput, GridRun
from reports.tables.target_rows import GridTarget

ROW_TYPES: Mapping[str, type[RowOfTable]] = MappingProxyType(
    {
        "cells": GridCell,
        "targets": GridTarget,
        "clauses": GridClause,
        "runs": GridRun,
        "transitions": Transition,
        "release_steps": ReleaseStep,
        "flakes": Flakes,
        "coverage": Coverage,
        "latency": Latency,
        "speed": Speed,
        "mutation": MutationScore,
        "release_changes": ReleaseChange,
        "inputs_left_out": InputsLeftOut,
        "failures": KeptFailure,
        "neighbours": Neighbour,
        "machines": KeptMachine,
        "inputs": GridInput,
    }
)
"""The class of the rows of each table."""
ROW_KEYS: Mapping[str, Sequence[str]] = MappingProxyType({name: row_type.KEY for name, row_type in ROW_TYPES.items()})
"""The columns that identify a row of each table."""
