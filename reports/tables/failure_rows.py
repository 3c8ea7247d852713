"""Rows of the tables `failures`, `neighbours` and `machines`: what runs keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from reports.tables.columns import Int16, Int32, OptionalText


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFailure:
    """The stored form of one distinct failure that the grid shows; see `reports.run.failures`.

    A text that was not stored is empty.

    Attributes:
        run_id: the run that found it.
        signature: its id, and its folder's name among the run's failures.
        clause: id of the clause.
        target: id of the target.
        listener: the target's listener.
        property: the test that found it.
        kind: the class of the exception.
        message: the message of the assertion.
        example: what Hypothesis drew.
        verdict: the verdict of its examples.
        smallest_example: lowest number of an example with this failure.
        facts: the text of its `failure.json`.
        hex_dump: the bytes of its exchanges, as text.
        reproducer: the script that shows it again.
        pcap: the packet capture of its exchanges; None if none was stored.
        known_violation: the declarations that describe exactly this failure; empty if none does.
    """

    KEY: ClassVar[Sequence[str]] = ("run_id", "signature")

    run_id: str
    signature: str
    clause: str
    target: str
    listener: str
    property: OptionalText
    kind: OptionalText
    message: OptionalText
    example: OptionalText
    verdict: OptionalText
    smallest_example: Int32
    facts: OptionalText
    hex_dump: OptionalText
    reproducer: OptionalText
    pcap: bytes | None
    known_violation: OptionalText = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """What another target did with the smallest example of a failure.

    Attributes:
        signature: the failure.
        target: id of the other target.
        listener: its listener.
        release_order: the leading numbers of its release, which sort as releases do.
        outcome: what became of the request.
        error_code: that of its last ApiVersions response; None if there was none.
        verdict: the verdict of the example there.
        answer_sha256: SHA-256 of its last response; None if it was not kept.
    """

    KEY: ClassVar[Sequence[str]] = ("signature", "target", "listener")

    signature: str
    target: str
    listener: str
    release_order: tuple[Int32, ...]
    outcome: str
    error_code: Int16 | None
    verdict: str
    answer_sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMachine:
    """What was learned of one listener.

    Attributes:
        run_id: the run that learned it.
        target: id of the target.
        listener: the target's listener.
        machine: the JSON that its run has; see `reports.machines.learned`.
    """

    KEY: ClassVar[Sequence[str]] = ("target", "listener")

    run_id: str
    target: str
    listener: str
    machine: str
