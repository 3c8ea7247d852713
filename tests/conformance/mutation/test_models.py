"""The mutation score of the model client and the model proxy: exactly the clauses that a fault breaks turn red."""

from __future__ import annotations

import dataclasses

import pytest

from conformance.commands.errors import UnknownName
from conformance.commands.mutation import is_everything, selected_planted
from conformance.mutation.in_memory import blames_of, kills_of_standard_run
from conformance.mutation.subjects import SUBJECTS
from conformance.mutation.tried_faults import TriedFault
from fixtures.registry.model_clients import MODEL
from fixtures.under_test.in_memory_proxy import MODEL_PROXY
from reference_model.faults.broker import DEFECTS
from reference_model.faults.clients import FAULTS
from reference_model.faults.proxies import FAULTS as PROXY_FAULTS
from reference_model.profiles.profile import REFERENCE

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
    assert selected_planted(["*"])[REFERENCE] == list(DEFECTS)
    with pytest.raises(UnknownName, match="no fault of model matches 'nothing'"):
        selected_planted(["model+nothing"])
    with pytest.raises(UnknownName):
        selected_planted(["nothing"])
