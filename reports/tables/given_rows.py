"""Rows of the tables made from the reports of `mutation` and `changes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from reports.tables.columns import Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationScore:
    """How reliably the properties of one clause catch one planted defect.

    Attributes:
        clause: id of the clause.
        defect: the planted defect, which breaks it.
        seeds: how many seeds were tried.
        killed: with how many of them the examples caught the defect.
        certain: whether every run catches it.
        median_examples: how many generated examples that took; None if too many seeds caught nothing.
        p95_examples: the same, as the 95th percentile.
    """

    KEY: ClassVar[Sequence[str]] = ("clause", "defect")

    clause: str
    defect: str
    seeds: Int32
    killed: Int32
    certain: bool
    median_examples: float | None
    p95_examples: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChange:
    """Inputs that two adjacent releases treat differently, and whether the profiles predict it.

    Attributes:
        listener: the listener of both.
        clause: id of a clause that the change rests on; empty if it rests on none.
        from_release: target id of the older release.
        to_release: that of the newer one.
        predicted: whether the profiles predict the change.
        inputs: how many inputs changed this way.
        shortest: the shortest of them, in hexadecimal.
        before: what the older release did, in words.
        after: what the newer one did.
    """

    KEY: ClassVar[Sequence[str]] = ("listener", "clause", "from_release", "to_release", "shortest")

    listener: str
    clause: str
    from_release: str
    to_release: str
    predicted: bool
    inputs: Int32
    shortest: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsLeftOut:
    """Inputs that were not compared on one release, all for the same reason.

    Attributes:
        listener: the listener; the stage before authentication has rows of its own.
        release: target id of the release.
        reason: why they were not compared.
        inputs: how many there are.
        names: their names, separated by commas.
    """

    KEY: ClassVar[Sequence[str]] = ("listener", "release", "reason")

    listener: str
    release: str
    reason: str
    inputs: Int32
    names: str
