"""Vectors for clients that are plays.

They say what brokers do on several connections, and what must come of it.

They are made of the scripts that the properties of clients have pinned. `play_states` writes them as bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import catalogue
from conformance.mutation.properties import Property, holds
from conformance.mutation.subjects import SUBJECTS, Subject
from conformance.vectors.broker_check import strictest
from conformance.vectors.broker_vectors import ID_DIGITS
from conformance.vectors.play_states import healed_nodes, play_nodes
from fixtures.client_processes.driver_output import ERROR, OK
from fixtures.errors import HarnessError
from fixtures.registry.model_clients import model_client
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory_client import play_in_memory
from fixtures.under_test.play_cache import PlayCache
from reference_model.clients.model.negotiation import MODEL
from reference_model.clients.scripts.script import Script
from reference_model.profiles.listeners import SASL_LISTENERS, TLS_LISTENERS

ANY = "any"
MAX_RIGHT_MOVES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayCandidate:
    """A script with the property that judges what a client does with it.

    Attributes:
        judged: the property.
        script: what the brokers do.
    """

    judged: Property
    script: Script

    @property
    def id(self) -> str:
        """The id of the vector: the main clause, and a hash of the script and of the property's name."""
        text = f"{self.judged.name} {self.script!r}"
        return f"{self.judged.clauses[0]}-{hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]}"

    @property
    def cost(self) -> tuple[int, int]:
        """What it costs its readers: time, then the length of the script."""
        return self.script.timeout_ms, len(repr(self.script))


def pinned_plays(subject: Subject) -> Iterator[PlayCandidate]:
    """Yield the pinned scripts of every property of clients; those with TLS need more than a player of plays."""
    for judged in subject.properties().values():
        # Vectors stay when the folder of a proposal is deleted.
        if judged.function.__module__.startswith("proposals."):
            continue
        for values in judged.pinned:
            script = values.get("script")
            if set(values) == {"script"} and isinstance(script, Script) and script.listener not in TLS_LISTENERS:
                yield PlayCandidate(judged=judged, script=script)


def is_failed_by(candidate: PlayCandidate, fault: str) -> bool:
    """Return whether the model client with a fault fails the play; False if the property does not apply to it.

    Raises:
        HarnessError: the client could not be judged.
    """
    subject = SUBJECTS[MODEL]
    if not subject.applies(candidate.judged, fault):
        return False
    try:
        return not holds(candidate.judged, subject.at(fault, ""), {"script": candidate.script})
    except UnsatisfiedAssumption:
        return False


def as_json(candidate: PlayCandidate) -> dict[str, Any]:
    """Return the vector as JSON values."""
    clauses = candidate.judged.clauses
    script = candidate.script
    play = play_in_memory(script)
    return {
        "id": candidate.id,
        "clauses": list(clauses),
        "level": strictest([catalogue()[clause].level for clause in clauses]).value,
        "sentence": " ".join((candidate.judged.body.__doc__ or "").strip().partition("\n\n")[0].split()),
        "property": candidate.judged.name,
        "timeout_ms": script.timeout_ms,
        "options": list(script.options),
        "ends_after": script.ends_after,
        "listener": script.listener,
        "heals_after_ms": script.heals_after_ms,
        "heals_after_connections": script.heals_after_connections,
        "keeps_asking": script.keeps_asking,
        "sasl": script.listener in SASL_LISTENERS,
        "nodes": play_nodes(script),
        "healed": healed_nodes(script),
        "outcome": demanded_outcome(candidate),
        "right": [
            [each.connection, each.api_key, each.api_version] for each in play.recording.requests[:MAX_RIGHT_MOVES]
        ],
        "script": repr(script),
    }


def demanded_outcome(candidate: PlayCandidate) -> str:
    """Return what the application must see: "ok", "error" or "any".

    The property is asked: it gets the play of the correct client with the other outcome.
    """
    right = play_in_memory(candidate.script)
    outcome = right.result.outcome
    other = {OK: ERROR, ERROR: OK}.get(outcome or "")
    if outcome is None or other is None:
        return ANY
    changed = dataclasses.replace(
        right,
        result=dataclasses.replace(
            right.result,
            outcome=other,
            asks=tuple(dataclasses.replace(each, ok=other == OK) for each in right.result.asks),
        ),
    )

    def submit(script: Script) -> Future[Play]:
        done: Future[Play] = Future()
        done.set_result(changed if script == candidate.script else play_in_memory(script))
        return done

    client = ClientUnderTest(model_client(""), PlayCache(submit), artefacts={}, too_slow=lambda: "")
    try:
        is_right = holds(candidate.judged, client, {"script": candidate.script})
    except (UnsatisfiedAssumption, HarnessError):
        return ANY
    return ANY if is_right else outcome
