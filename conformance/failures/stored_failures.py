"""Reads failures from a run folder, and turns them into corpus entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clauses.catalogue import Role
from conformance.corpus.entries import CorpusEntry
from reports.records import FACTS_FILE, HEADER_FILE, Verdict
from reports.repeats import stored_leave_open
from wire.foreign_json import read_foreign_json

_TEXTS = ("signature", "clause", "property_name", "target", "listener", "message", "example")


class NoStoredFailure(Exception):
    """No failure was found, or it is incomplete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFailure:
    """One failure of a run folder.

    Attributes:
        signature: identifies equal failures.
        clause: the violated clause.
        property_name: the test function's name.
        target: the target's id.
        listener: the listener's name.
        message: what was observed.
        example: the drawn values, as text.
        sent: the bytes that were sent, by connection, in order.
        needs_earlier_requests: whether it occurred only after requests of other examples on the same connection;
            earlier versions of the suite shared connections between examples.
        verdict: what its example showed: "violates" or "informational".
        role: what the target was judged as: "broker", "client" or "operation".
        client_command: what a user said about a client that is a command; empty for any other target.
        origin: where a target without a file came from (see `fixtures.launchers.named_targets.origin_of`).
        leaves_open: whether its repeats leave open whether the target is at fault.
        evidence: what shows it, a value of `ShownBy`; empty for one of an older suite, which did not record it.
    """

    signature: str
    clause: str
    property_name: str
    target: str
    listener: str
    message: str
    example: str
    sent: Mapping[int, bytes]
    needs_earlier_requests: bool
    verdict: str = Verdict.VIOLATES.value
    role: str = Role.BROKER.value
    client_command: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)
    leaves_open: bool = False
    evidence: str = ""

    @property
    def first_line(self) -> str:
        """The message's first line."""
        return self.message.partition("\n")[0]

    def entries(self) -> tuple[CorpusEntry, ...]:
        """Return an entry of the corpus for what was sent on each connection."""
        clause = self.clause.lower().replace(".", "-")
        origin = f"found on {self.target} ({self.listener}): {self.clause}: {self.first_line}"
        return tuple(
            CorpusEntry(name=f"{clause}-{self.signature[:8]}", origin=origin, data=data)
            for data in self.sent.values()
            if data
        )


def read_failure(path: Path) -> StoredFailure:
    """Read a failure from its folder, or from a file in it.

    Raises:
        NoStoredFailure: the folder holds no complete failure.
    """
    folder = path if path.is_dir() else path.parent
    try:
        facts = read_foreign_json((folder / FACTS_FILE).read_bytes())
        sent: dict[int, bytes] = {}
        for step in facts.get("sent", []):
            number = int(step["connection"])
            sent[number] = sent.get(number, b"") + bytes.fromhex(step["data"])
        return StoredFailure(
            sent=sent,
            needs_earlier_requests=bool(facts.get("served_before", 0)),
            verdict=str(facts.get("verdict", Verdict.VIOLATES.value)),
            role=str(facts.get("role", Role.BROKER.value)),
            client_command=dict(facts.get("client_command", {})),
            origin={key: str(value) for key, value in facts.get("origin", {}).items()},
            leaves_open=stored_leave_open(facts.get("repeats")),
            evidence=str(facts.get("evidence", "")),
            **{name: str(facts[name]) for name in _TEXTS},
        )
    except OSError as error:
        raise NoStoredFailure(_what_is_there(path, folder, error)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoStoredFailure(f"{folder / FACTS_FILE} does not describe a failure: {error!r}") from error


def _what_is_there(path: Path, folder: Path, error: OSError) -> str:
    """Return a sentence about a path that leads to no failure, with what to give instead."""
    if not isinstance(error, FileNotFoundError):
        return f"{folder / FACTS_FILE} cannot be read: {error.strerror}"
    if (folder / HEADER_FILE).is_file():
        if not any(folder.glob("failures/*")):
            return f"{folder} is the folder of a run without failures"
        return f"{folder} is the folder of a run: give failures of it, such as {folder}/failures/*"
    return (
        f"{path} {'contains' if path.is_dir() else 'is'} no failure: "
        "give a folder failures/SIGNATURE of a run, or a file in it"
    )
