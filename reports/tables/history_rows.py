"""Rows of the tables made from all runs: changes of verdicts, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from reports.records import NOT_RECORDED, Verdict
from reports.tables.columns import CELL, Int16, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of a cell's verdict, or its first verdict.

    Attributes:
        clause: id of the clause.
        target: id of the target.
        listener: the target's listener.
        at: when the run with the new verdict began.
        run_id: that run.
        from_verdict: the verdict before; None if the cell appeared.
        to_verdict: the verdict after.
        kind: what the change is called, a value of `reports.records.TransitionKind`.
    """

    KEY: ClassVar[Sequence[str]] = (*CELL, "at", "run_id")

    clause: str
    target: str
    listener: str
    at: datetime
    run_id: str
    from_verdict: Verdict | None
    to_verdict: Verdict
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseStep:
    """A difference between the verdicts of two adjacent releases of one implementation.

    Attributes:
        clause: id of the clause.
        implementation: the product.
        listener: the listener of both.
        from_target: id of the older release.
        to_target: id of the newer one.
        from_verdict: the verdict of the older release.
        to_verdict: that of the newer one.
    """

    KEY: ClassVar[Sequence[str]] = ("clause", "implementation", "listener", "to_target")

    clause: str
    implementation: str
    listener: str
    from_target: str
    to_target: str
    from_verdict: Verdict
    to_verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Flakes:
    """How often the failures of a cell that was ever flaky recurred when repeated.

    Attributes:
        clause: id of the clause.
        target: id of the target.
        listener: the target's listener.
        failed: how many repeats failed.
        repeats: how many there were.
        rate: `failed` divided by `repeats`.
        low: lower end of the 95 % interval of the rate (Wilson).
        high: its upper end.
        runs: in how many runs the cell was flaky.
    """

    KEY: ClassVar[Sequence[str]] = CELL

    clause: str
    target: str
    listener: str
    failed: Int64
    repeats: Int64
    rate: float
    low: float
    high: float
    runs: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The outcomes of one kind of request of a property on one listener, over all targets, without shrinking.

    Attributes:
        clause: id of the clause.
        property: the test.
        listener: the listener.
        request: the kind of request, as in `reports.record_columns`; `not_recorded` for runs of older suites.
        targets: how many targets it was sent to.
        examples: how many examples sent it last.
        answered: how many of them got a response.
        closed: how many cost their connection.
        ignored: how many the target ignored.
        silent: after how many the target was silent.
        none: how many exchanged nothing.
        error_codes: the distinct error codes of the responses, sorted.
    """

    KEY: ClassVar[Sequence[str]] = ("clause", "property", "listener", "request")

    clause: str
    property: str
    listener: str
    request: str = NOT_RECORDED
    targets: Int64
    examples: Int64
    answered: Int64
    closed: Int64
    ignored: Int64 = 0
    silent: Int64
    none: Int64
    error_codes: tuple[Int16, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How many examples have their first response in one latency bucket, without shrinking.

    Attributes:
        target: id of the target.
        listener: the target's listener.
        bucket: `latency_bucket` of the examples; see `reports.record_columns`.
        examples: how many there are.
    """

    KEY: ClassVar[Sequence[str]] = ("target", "listener", "bucket")

    target: str
    listener: str
    bucket: Int16
    examples: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast a run judged one target, with everything that it did, such as starting it and repeating failures.

    Attributes:
        run_id: the run.
        target: id of the target.
        tier: how much the run sent.
        launcher: how the suite reached the target.
        started_at: when the run began.
        duration_s: how long the entire run took.
        examples: how many examples of the target it judged.
        examples_per_s: `examples` divided by `duration_s`; 0 if that is 0.
    """

    KEY: ClassVar[Sequence[str]] = ("run_id", "target")

    run_id: str
    target: str
    tier: str
    launcher: str
    started_at: datetime
    duration_s: float
    examples: Int64
    examples_per_s: float
