"""Tests of the mutation score in memory.

They check which property catches which fault of which model, and after how many examples.
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from typing import cast

import pytest

from conformance.commands.errors import UnknownName
from conformance.commands.mutation import is_everything, selected_planted
from conformance.mutation.in_memory import (
    QUICK_BYSTANDER_SHARE,
    blames_of,
    bystanders,
    clauses_in_memory,
    judged_in_memory,
    kills_of_standard_run,
)
from conformance.mutation.properties import all_properties
from conformance.mutation.subjects import (
    SUBJECTS,
    broker_with,
    listeners_in_memory,
    reference_broker,
)
from conformance.mutation.tried_faults import (
    FIRST_SEED,
    TriedFault,
    blame,
    caught_by_pinned,
    examples_to_kill,
)
from fixtures.errors import ConnectionFailed, HarnessError
from fixtures.under_test.broker import Broker
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.clients.model.negotiation import MODEL
from reference_model.faults.broker import DEFECTS
from reference_model.faults.clients import FAULTS
from reference_model.faults.proxies import FAULTS as PROXY_FAULTS
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import OLDER_REFERENCE, OLDER_REFERENCE_CLUSTER, REFERENCE
from reference_model.proxies.model_proxy import MODEL_PROXY

BROKER = SUBJECTS[REFERENCE]
OF_BROKERS = (REFERENCE, OLDER_REFERENCE, OLDER_REFERENCE_CLUSTER)
DEEP = "test_every_negative_version_gets_unsupported_version"
CLAUSE = "KIP-35.negative-version-gives-35"
DEFECT = "negative-versions-are-served-as-v0"


@pytest.mark.parametrize("name", [name for name, each in SUBJECTS.items() if each is not BROKER])
def test_every_fault_of_a_model_is_judged_in_memory(name: str) -> None:
    """Only defects of the broker may need sockets: a fault whose clause no property judges would count as nothing."""
    subject = SUBJECTS[name]
    broken = {clause for fault in subject.faults.values() for clause in fault.breaks}
    assert broken <= clauses_in_memory(subject)


def test_quick_bystanders_meet_properties_of_other_clauses() -> None:
    """Neighbouring properties share the defects that they must not blame, and each defect meets some property."""
    names, defects = list(judged_in_memory(BROKER)), list(BROKER.faults)
    parts = [
        bystanders(BROKER, defects, names[0], index=index, share=QUICK_BYSTANDER_SHARE)
        for index in range(QUICK_BYSTANDER_SHARE)
    ]
    assert sorted(chain(*parts)) == sorted(bystanders(BROKER, defects, names[0]))
    met = {
        defect
        for index, name in enumerate(names)
        for defect in bystanders(BROKER, defects, name, index=index, share=QUICK_BYSTANDER_SHARE)
    }
    assert met == set(defects)


def test_a_deep_property_alone_kills_nothing() -> None:
    """A defect that only a deep run catches has survived the standard run."""
    tried = TriedFault(property_name=DEEP, fault=DEFECT, pinned=True, generated=1)
    killed = {(DEEP, FIRST_SEED): {DEFECT: 1}}
    kills = kills_of_standard_run(BROKER, [DEFECT], [tried], killed, 1)
    (kill,) = (each for each in kills if each.clause == CLAUSE)
    assert kill.survived == 1
    assert not kill.is_certain


def test_a_standard_run_judges_every_clause() -> None:
    """No clause has only deep properties, whose kills would not be counted."""
    deep: set[str] = set()
    standard: set[str] = set()
    for name, clauses in judged_in_memory(BROKER).items():
        (deep if all_properties()[name].is_deep else standard).update(clauses)
    assert deep
    assert deep <= standard


NULL_TABLE = "null-table-aborts"
PROPERTY = "test_nonsense_is_survived"


def test_wrong_clause_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that names a clause which it does not break has survived it, and is blamed for the one that it breaks."""
    wrong = dataclasses.replace(FAULTS[NULL_TABLE], breaks=("KIP-511.client-name-valid",))
    monkeypatch.setitem(FAULTS, NULL_TABLE, wrong)
    tried = TriedFault(property_name=PROPERTY, fault=NULL_TABLE, pinned=True, generated=1)
    (blame,) = blames_of(SUBJECTS[MODEL], [NULL_TABLE], [tried])
    assert blame.missed == ["KIP-511.client-name-valid"]
    assert blame.also == ["KIP-35.client-survives-nonsense"]
    (kill,) = kills_of_standard_run(SUBJECTS[MODEL], [NULL_TABLE], [tried], {}, 1)
    assert not kill.is_certain


def test_patterns_choose_defects_and_faults() -> None:
    """A pattern matches the faults of all models; one that begins with "model+" those of one alone."""
    nothing: dict[str, list[str]] = {model: [] for model in SUBJECTS}
    assert is_everything(selected_planted(()))
    assert selected_planted(["model+*"]) == {**nothing, MODEL: list(FAULTS)}
    assert selected_planted(["model-proxy+*"]) == {**nothing, MODEL_PROXY: list(PROXY_FAULTS)}
    assert selected_planted(["reference+tags-descend"]) == {**nothing, REFERENCE: ["tags-descend"]}
    both = selected_planted(["tags-descend", NULL_TABLE])
    assert both == {**nothing, REFERENCE: ["tags-descend"], MODEL: [NULL_TABLE]}
    assert selected_planted(["*-table-*"])[MODEL]
    assert selected_planted(["*"])[REFERENCE] == list(BROKER.faults)
    older = selected_planted(["reference-at-3.9+*"])
    assert older == {**nothing, OLDER_REFERENCE: list(SUBJECTS[OLDER_REFERENCE].faults)}
    assert {*DEFECTS} == {name for model in OF_BROKERS for name in SUBJECTS[model].faults}
    with pytest.raises(UnknownName, match="no fault of model matches 'nothing'"):
        selected_planted(["model+nothing"])
    with pytest.raises(UnknownName):
        selected_planted(["nothing"])


SIGN = "negative-correlation-ids-lose-their-sign"
OTHER = "v1-lists-one-key-less"
ECHOED = "test_correlation_id_comes_back"


def test_blame_names_who_is_caught() -> None:
    """A property catches its clause's defect, but not another defect or the plain reference."""
    plain, sign, other = blame(SUBJECTS[REFERENCE], ECHOED, ("", SIGN, OTHER), 30)
    assert not plain.caught
    assert not other.caught
    assert sign.pinned
    assert sign.generated is None, "what a pinned example catches needs no other"
    assert {each.problem for each in (plain, sign, other)} == {""}


def test_examples_to_a_kill_are_counted_by_seed() -> None:
    """The same seed kills at the same example; a defect of another clause survives the budget."""
    first = examples_to_kill(SUBJECTS[REFERENCE], ECHOED, (SIGN, OTHER), 3)
    assert first == examples_to_kill(SUBJECTS[REFERENCE], ECHOED, (SIGN, OTHER), 3)
    assert first[SIGN] is not None
    assert first[OTHER] is None


class _Unreachable:
    def sibling(self, listener: str) -> Broker:
        raise ConnectionFailed(f"{listener}: no listener")


def test_a_defect_that_cannot_be_judged_has_not_survived() -> None:
    """An unreachable broker ends the count, and the message names its defect."""

    def brokers(defect: str) -> Broker:
        return cast("Broker", _Unreachable()) if defect == SIGN else broker_with(defect)

    words = f"{ECHOED} could not judge .*: with {SIGN} ConnectionFailed: plaintext: no listener"
    with pytest.raises(HarnessError, match=words):
        examples_to_kill(reference_broker(brokers), ECHOED, (SIGN, OTHER), 3)
    with pytest.raises(HarnessError, match=words):
        caught_by_pinned(reference_broker(brokers), ECHOED, (SIGN, OTHER))


@pytest.mark.parametrize(
    ("name", "listeners"),
    [
        (ECHOED, ("plaintext", "sasl_plaintext", "controller")),
        ("test_table_is_served_before_authentication", ("sasl_plaintext",)),
        ("test_nothing_is_answered_before_tls", ()),
        ("test_open_connections_are_counted_by_software", ()),
    ],
)
def test_listeners_are_those_without_tls(name: str, listeners: tuple[str, ...]) -> None:
    """A property runs in memory on its listeners without TLS, unless it needs a separate process."""
    assert listeners_in_memory(all_properties()[name]) == listeners


@pytest.mark.parametrize(
    ("name", "judging", "fault"),
    [
        (
            MODEL,
            "test_refusals_leave_nothing_behind",
            "late-table-replaces-those-of-open-connections",
        ),
        (
            MODEL,
            "test_older_broker_is_served_or_refused",
            "old-client-goes-down-by-one-on-its-next-connection",
        ),
        (
            REFERENCE,
            "test_odd_varints_go_as_pinned",
            "flexible-versions-close-before-authentication",
        ),
        (
            REFERENCE,
            "test_tags_out_of_order_go_as_pinned",
            "flexible-versions-close-before-authentication",
        ),
        (REFERENCE, "test_idle_connection_is_kept", "a-connection-that-spoke-late-is-not-served"),
    ],
)
def test_a_property_blames_no_fault_of_another_clause(name: str, judging: str, fault: str) -> None:
    """Pairs that a quick measurement met, or not, by the number of faults that there are."""
    assert not caught_by_pinned(SUBJECTS[name], judging, [fault])


def test_a_broker_is_asked_before_its_first_property() -> None:
    """What a property asks first is then the same, whichever properties came before it in the process."""
    broker = reference_broker().at("", PLAINTEXT)
    assert isinstance(broker, InMemoryBroker)
    assert "_versions" in vars(broker)
