"""Writes the set of vectors.

It chooses the inputs, and asks the models what is right.

`choose` takes minutes, because it tries every planted fault; it keeps the inputs that the set has, and adds what
catches more. `regenerated` only asks the models again; so a change of a model, of a clause or of a rule shows as a
difference of files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from clauses.catalogue import Role, catalogue
from conformance.failures.drawn_values import UnreadableValues, read_values
from conformance.failures.stored_failures import StoredFailure
from conformance.mutation.properties import client_properties
from conformance.mutation.subjects import SUBJECTS
from conformance.vectors import play_vectors
from conformance.vectors.broker_candidates import (
    Candidate,
    candidate_of_bytes,
    drawn_candidates,
    login_candidates,
    merged,
    pinned_candidates,
    stored_candidates,
)
from conformance.vectors.broker_check import BrokerCheck
from conformance.vectors.broker_vectors import BrokerVector, as_json, read_vector
from conformance.vectors.choice_vectors import CHOICES
from conformance.vectors.cover import catches_of, covering
from conformance.vectors.expected_outcomes import CLUSTER_ID, NODE_ID, SentStep
from conformance.vectors.play_vectors import PlayCandidate, is_failed_by, pinned_plays
from conformance.vectors.request_fields import fields_of
from conformance.vectors.response_vectors import responses_in
from conformance.vectors.vector_score import (
    broker_in_memory,
    own_faults,
    score_of_brokers,
    score_of_clients,
    why_not_expressible,
)
from conformance.vectors.vector_set import BROKER_KINDS, CONVERSATIONS, PLAYS, REQUESTS, RESPONSES, VectorSet
from conformance.vectors.vector_set import CHOICES as CHOICES_KIND
from reference_model.broker.rules.sasl import CREDENTIALS
from reference_model.clients.model.negotiation import MODEL
from reference_model.clients.scripts.script import Script
from reference_model.profiles.listeners import PLAINTEXT, TLS_LISTENERS
from reference_model.profiles.profile import REFERENCE
from reports.grid.bugs import PLAIN_V0
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from wire.sentinel import sentinel_for

Vectors = Mapping[str, Sequence[Mapping[str, Any]]]
"""The JSON values of the vectors, by kind."""


class Chosen(NamedTuple):
    """The inputs of a set."""

    candidates: Sequence[Candidate]
    plays: Sequence[PlayCandidate]


def choose(published: Sequence[PlayCandidate] = (), present: VectorSet | None = None) -> Chosen:
    """Choose inputs: few, that together catch every planted fault that any candidate catches.

    Args:
        published: plays that are in the set in any case, those of published findings.
        present: the set whose inputs are kept, so that ids stay; None for a set from nothing.
    """
    candidates = [] if present is None else [*map(_candidate_of, _of_brokers(present))]
    plays = merged_plays([*([] if present is None else plays_of(present)), *published])
    with assumptions_outside_hypothesis():
        return Chosen([*candidates, *_further_candidates(candidates)], merged_plays([*plays, *_further_plays(plays)]))


def _of_brokers(present: VectorSet) -> Iterator[Mapping[str, Any]]:
    return (values for kind in BROKER_KINDS for values in present.vectors[kind])


def merged_plays(plays: Iterable[PlayCandidate]) -> list[PlayCandidate]:
    """Return each play once."""
    return list({each.id: each for each in plays}.values())


def published_plays(findings: Path) -> list[PlayCandidate]:
    """Return the plays of the findings below a folder, but for those with TLS or with more than a script."""
    plays = []
    for path in sorted(findings.glob("*/*/failure.json")):
        values = json.loads(path.read_text(encoding="utf-8"))
        if values.get("role") == Role.CLIENT:
            plays += _plays_of_example(values["property_name"], values["example"])
    return plays


def _plays_of_example(property_name: str, example: str) -> list[PlayCandidate]:
    judged = client_properties().get(property_name)
    given = {} if judged is None else read_values(example)
    script = given.get("script")
    if judged is None or set(given) != {"script"}:
        return []
    if not isinstance(script, Script) or script.listener in TLS_LISTENERS:
        return []
    return [PlayCandidate(judged=judged, script=script)]


def inputs_of(failure: StoredFailure) -> Chosen:
    """Return the inputs of a found failure; none of what vectors cannot have.

    What a broker was sent on the last connection shows the failure; those before it are for comparison, and a plain
    ApiVersions v0 after it looks whether the broker still serves. Vectors cannot have TLS, requests that change
    something on a broker, and what the models do not cover.
    """
    if failure.role == Role.CLIENT:
        return Chosen([], _plays_of_example(failure.property_name, failure.example))
    if failure.role != Role.BROKER or failure.listener != PLAINTEXT:
        return Chosen([], [])
    sentence = catalogue()[failure.clause].statement
    sent = [entry.data for entry in failure.entries()]
    meant = [data for data in sent if data[4:8].hex() != PLAIN_V0] or sent
    found = (candidate_of_bytes(failure.clause, sentence, data) for data in meant[-1:])
    return Chosen([each for each in found if each is not None], [])


def _further_candidates(kept: Sequence[Candidate]) -> list[Candidate]:
    """Return what catches planted defects that the vectors which are kept do not catch."""
    subject = SUBJECTS[REFERENCE]
    caught = score_of_brokers([each.as_vector() for each in kept]).caught
    found = merged([*pinned_candidates(subject), *login_candidates(), *stored_candidates()])
    plain = BrokerCheck(broker_in_memory(""))
    items = dict(sorted(found.items(), key=lambda item: (not item[1].is_on_plaintext, item[1].cost, item[0])))
    vectors = {key: each.as_vector() for key, each in items.items()}
    # What the correct broker does otherwise is about something that vectors leave out, such as SCRAM.
    vectors = {key: each for key, each in vectors.items() if plain.check(each) is None}
    faults = {name: fault.breaks for name, fault in subject.faults.items() if name not in caught}
    checks = {name: BrokerCheck(broker_in_memory(name)) for name in faults}

    def is_caught(fault: str, vector: BrokerVector) -> bool:
        return checks[fault].check(vector) is not None

    catches = catches_of(faults, vectors, lambda vector: vector.clauses, is_caught)
    for fault in [name for name, keys in catches.items() if not keys and not why_not_expressible(name)]:
        for key, each in merged(drawn_candidates(subject, fault)).items():
            vector = each.as_vector()
            if plain.check(vector) is None and is_caught(fault, vector):
                items[key], vectors[key] = each, vector
                catches[fault].append(key)
    # Every broker under test has a plaintext listener, and few have the others.
    catches = {fault: [key for key in own if items[key].is_on_plaintext] or own for fault, own in catches.items()}
    keys = covering(catches, {key: items[key].cost for key in vectors})
    return [items[key] for key in keys]


def _further_plays(kept: Sequence[PlayCandidate]) -> list[PlayCandidate]:
    """Return what catches planted faults that the choices, and the plays which are kept, do not catch."""
    subject = SUBJECTS[MODEL]
    caught = score_of_clients(kept).caught
    items = {each.id: each for each in sorted(pinned_plays(subject), key=lambda each: (each.cost, each.id))}
    faults = {name: subject.faults[name].breaks for name in own_faults() if name not in caught}
    catches = catches_of(faults, items, lambda each: each.judged.clauses, lambda fault, each: is_failed_by(each, fault))
    return [items[key] for key in covering(catches, {key: each.cost for key, each in items.items()})]


def generated(chosen: Chosen) -> Vectors:
    """Return the vectors of some inputs."""
    return _all_kinds([each.as_vector(complete=True) for each in chosen.candidates], chosen.plays)


def regenerated(
    present: VectorSet, published: Sequence[PlayCandidate] = (), found: Sequence[Candidate] = ()
) -> Vectors:
    """Return the vectors of the inputs that a set has, and of plays and candidates that are new.

    A play is left out once its property is gone.
    """
    candidates = merged([*map(_candidate_of, _of_brokers(present)), *found]).values()
    vectors = [each.as_vector(complete=True) for each in candidates]
    return _all_kinds(vectors, merged_plays([*plays_of(present), *published]))


def _candidate_of(values: Mapping[str, Any]) -> Candidate:
    vector = read_vector(values)
    sent = tuple(
        SentStep(
            connection=step.connection,
            listener=step.listener,
            writes=step.writes,
            ends_stream=step.ends_stream,
            closes=step.closes,
        )
        for step in vector.steps
    )
    return Candidate(
        clauses=vector.clauses, sentence=vector.sentence, malformed=vector.malformed, sent=sent, steps=vector.steps
    )


def plays_of(present: VectorSet) -> list[PlayCandidate]:
    """Return the plays of a set, without those whose property no longer exists."""
    return [play_of(values) for values in present.vectors[PLAYS] if values["property"] in client_properties()]


def play_of(values: Mapping[str, Any]) -> PlayCandidate:
    """Return the play of a vector.

    Raises:
        KeyError: its property no longer exists.
        UnreadableValues: its script cannot be read any more.
    """
    script = read_values(f"{{'script': {values['script']}}}")["script"]
    if not isinstance(script, Script):
        raise UnreadableValues("the vector has no script")
    return PlayCandidate(judged=client_properties()[values["property"]], script=script)


def _all_kinds(brokers: Sequence[BrokerVector], plays: Sequence[PlayCandidate]) -> Vectors:
    with assumptions_outside_hypothesis():
        as_values = {PLAYS: _ordered([play_vectors.as_json(each) for each in plays])}
    requests = [each for each in brokers if each.is_single_request]
    conversations = [each for each in brokers if not each.is_single_request]
    scripts = dict.fromkeys(each.script for each in plays)
    return {
        REQUESTS: _ordered([_with_fields(each) for each in requests]),
        CONVERSATIONS: _ordered([as_json(each) for each in conversations]),
        RESPONSES: _ordered([each.as_json() for each in responses_in(scripts)]),
        CHOICES_KIND: [each.as_json() for each in CHOICES],
        **as_values,
    }


def _ordered(vectors: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(vectors, key=lambda each: str(each["id"]))


def _with_fields(vector: BrokerVector) -> dict[str, Any]:
    values = as_json(vector)
    steps = values.pop("steps")
    return {**values, "fields": fields_of(vector.steps[0].frames[0]), "steps": steps}


def facts() -> dict[str, Any]:
    """Return what readers need besides the vectors."""
    return {
        "broker_under_test": {
            "cluster_id": CLUSTER_ID,
            "node_id": NODE_ID,
            "username": CREDENTIALS.username,
            "password": CREDENTIALS.password,
            "mechanism": "PLAIN",
        },
        "sentinel": {
            "meaning": "the last request of a connection that is still served, so that its response shows that",
            "bytes": sentinel_for(0).data.hex(),
            "before_authentication": sentinel_for(0, before_authentication=True).data.hex(),
        },
    }
