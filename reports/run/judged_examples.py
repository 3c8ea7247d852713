"""One judged example, and what the records need of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from reports.records import Phase, Verdict
from reports.run.failures import Failure
from wire.api_keys import API_VERSIONS_KEY
from wire.exchange import Exchange, Step
from wire.headers import read_error_code

LATENCY_BUCKETS_PER_OCTAVE = 4


class CellKey(NamedTuple):
    """The key of a cell."""

    clause: str
    target: str
    listener: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedExample:
    """One example with its verdict.

    Attributes:
        property_name: the test function's name.
        number: counted from 1 within the property on this target.
        phase: whether it was drawn to judge or to shrink.
        steps: what was done on the connections, in order.
        failure: the failure, for a violation or an informational difference.
        newer: why the set of clauses that a run judges by does not ask for the example itself; empty if it does.
    """

    key: CellKey
    property_name: str
    number: int
    phase: Phase
    verdict: Verdict
    steps: Sequence[Step]
    failure: Failure | None = None
    newer: str = ""

    @property
    def exchanges(self) -> list[Exchange]:
        """All exchanges of the example, in order."""
        return [exchange for step in self.steps for exchange in step.exchanges]


def as_note(example: JudgedExample) -> JudgedExample:
    """Return an example so that it fails nothing: whatever does not conform is informational."""
    if example.verdict is Verdict.CONFORMS:
        return example
    note = Verdict.INFORMATIONAL
    failure = replace(example.failure, verdict=note.value) if example.failure else None
    return replace(example, verdict=note, failure=failure)


def latency_bucket(latency_us: int) -> int:
    """Return four times the binary logarithm of a latency in microseconds, rounded down."""
    return math.floor(LATENCY_BUCKETS_PER_OCTAVE * math.log2(max(latency_us, 1)))


def last_error_code(exchanges: Sequence[Exchange]) -> int | None:
    """Return the error code of the last response about versions that can be read; None if there is none."""
    for exchange in reversed(exchanges):
        is_about_versions = exchange.request.api_key == API_VERSIONS_KEY
        if is_about_versions and exchange.payload is not None:
            code = read_error_code(exchange.payload)
            if code is not None:
                return code
    return None


def sent_bytes(steps: Sequence[Step]) -> int:
    """Return how many bytes were sent."""
    return sum(len(piece) for step in steps for piece in step.pieces)


def first_latency_us(exchanges: Sequence[Exchange]) -> int | None:
    """Return the latency of the first response about versions, in microseconds; None if there is none."""
    about_versions = (exchange for exchange in exchanges if exchange.request.api_key == API_VERSIONS_KEY)
    return next((exchange.latency_us for exchange in about_versions), None)


def replaces(example: JudgedExample, kept: Failure) -> bool:
    """Return whether a failing example replaces the kept one: it is shrunk or shorter.

    Declared violations are not shrunk. A violation replaces a note, and never the other way round.
    """
    if example.verdict.value != kept.verdict:
        return example.verdict is Verdict.VIOLATES
    is_shrunk = example.phase is Phase.SHRINK and not kept.known_violation
    return is_shrunk or sent_bytes(example.steps) < sent_bytes(kept.steps)
