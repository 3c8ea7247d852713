"""The mutation score of the model client and the model proxy: exactly the clauses that a fault breaks turn red."""

from __future__ import annotations

import dataclasses
import os

import pytest

from conformance.commands.errors import UnknownName
from conformance.commands.mutation import selected_planted
from conformance.engine.budgets import CLIENT_EXAMPLES
from conformance.mutation import models
from conformance.mutation.model_subjects import SUBJECTS
from conformance.mutation.model_trials import model_trials
from conformance.mutation.properties import client_properties
from conformance.mutation.score import Score
from fixtures.registry.model_clients import MODEL
from fixtures.under_test.in_memory_proxy import MODEL_PROXY
from reference_model.faults.broker import DEFECTS
from reference_model.faults.clients import FAULTS
from reference_model.faults.proxies import FAULTS as PROXY_FAULTS

NULL_TABLE = "null-table-aborts"
PROPERTY = "test_nonsense_is_survived"


def test_trial_names_who_is_caught() -> None:
    """A property catches its clause's fault, but not another one or the plain model client; a seed decides what is drawn."""
    faults = ("", NULL_TABLE, "disabled-rebootstrap-is-ignored")
    plain, null_table, other = model_trials(MODEL, PROPERTY, faults, (1, 2))
    assert not plain.caught
    assert not other.caught
    assert null_table.pinned
    assert len(null_table.examples) == 2
    assert all(each is None or 1 <= each <= CLIENT_EXAMPLES for each in null_table.examples)
    assert model_trials(MODEL, PROPERTY, faults, (1, 2)) == [plain, null_table, other]


def test_every_property_has_pinned_examples() -> None:
    """Each property of clients draws a script, and has pinned ones, which every run plays."""
    for each in client_properties().values():
        assert each.target == "client"
        assert {tuple(values) for values in each.pinned} == {("script",)}


def test_faults_are_caught_by_exactly_their_clauses() -> None:
    """A fault in thirty turns exactly its clauses red with one seed; the complete score is a step of CI."""
    names = sorted(FAULTS)[::30]
    found = models.measure(
        SUBJECTS[MODEL], names, seeds=1, jobs=os.cpu_count() or 1, bystander_seeds=1
    )
    score = Score(
        clauses=models.judged_clauses(SUBJECTS[MODEL]),
        reference=found.reference,
        kills=found.kills,
        blames=found.blames,
        kills_of_property=found.kills_of_property,
        seeds=1,
        complete=False,
        models={MODEL: found.reference},
    )
    assert score.findings == []
    assert score.exact_defects == len(names)


@pytest.mark.parametrize("model", [name for name in SUBJECTS if name != MODEL])
def test_pinned_examples_catch_the_faults(model: str) -> None:
    """Each fault of a model proxy or broker turns exactly its clauses red, and the plain model has none."""
    subject = SUBJECTS[model]
    caught: dict[str, set[str]] = {fault: set() for fault in ("", *subject.faults)}
    for name, judged in subject.properties().items():
        for trial in model_trials(model, name, list(caught), ()):
            assert not trial.problem
            if trial.pinned:
                caught[trial.fault].update(judged.clauses)
    assert caught.pop("") == set()
    assert caught == {name: set(fault.breaks) for name, fault in subject.faults.items()}


def test_wrong_clause_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that names a clause which it does not break has survived it, and is blamed for the one that it breaks."""
    wrong = dataclasses.replace(FAULTS[NULL_TABLE], breaks=("KIP-511.client-name-valid",))
    monkeypatch.setitem(FAULTS, NULL_TABLE, wrong)
    found = models.measure(SUBJECTS[MODEL], [NULL_TABLE], seeds=1, jobs=1, bystander_seeds=1)
    (blame,) = found.blames
    assert blame.missed == ["KIP-511.client-name-valid"]
    assert blame.also == ["KIP-35.client-survives-nonsense"]
    assert [kill.is_certain for kill in found.kills] == [False]


def test_patterns_choose_defects_and_faults() -> None:
    """A pattern matches both halves; one that begins with "model+" matches faults alone."""
    assert selected_planted(()).is_everything
    assert selected_planted(["model+*"]) == (
        [],
        {**{key: [] for key in SUBJECTS}, MODEL: list(FAULTS)},
    )
    assert selected_planted(["model-proxy+*"]).faults[MODEL_PROXY] == list(PROXY_FAULTS)
    assert selected_planted(["tags-descend", NULL_TABLE]) == (
        ["tags-descend"],
        {**{key: [] for key in SUBJECTS}, MODEL: [NULL_TABLE]},
    )
    assert selected_planted(["*-table-*"]).faults[MODEL]
    assert set(selected_planted(["*"]).defects) == set(DEFECTS)
    with pytest.raises(UnknownName, match="no fault of model matches 'nothing'"):
        selected_planted(["model+nothing"])
    with pytest.raises(UnknownName):
        selected_planted(["nothing"])
