"""Tests of the published set: it follows from the models.

Its ids and its size are as promised.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from clauses.catalogue import catalogue
from conformance.failures.stored_failures import read_failure
from conformance.vectors.broker_vectors import as_json, read_vector
from conformance.vectors.generation import (
    choose,
    facts,
    generated,
    inputs_of,
    plays_of,
    published_plays,
    regenerated,
)
from conformance.vectors.vector_score import score_of_brokers, score_of_clients
from conformance.vectors.vector_set import (
    BROKER_KINDS,
    CHOICES,
    FOLDER,
    KINDS,
    MAX_SET_BYTES,
    PLAYS,
    InvalidVectors,
    VectorSet,
    check_schema,
    file_text,
    load_vectors,
)
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from workflows.vectors import FINDINGS

SET = load_vectors()
MIN_SHARE = 0.95


def test_the_set_follows_its_schema_and_is_small() -> None:
    size = sum(path.stat().st_size for path in FOLDER.glob("*.json"))
    check_schema(SET)
    assert size <= MAX_SET_BYTES
    assert all(SET.vectors[kind] for kind in KINDS)


def test_ids_are_unique_and_never_used_again() -> None:
    ids = [vector["id"] for _, vector in SET]
    assert len(ids) == len(set(ids))
    assert not set(ids) & set(SET.index["retired"])


def test_every_vector_names_clauses_of_the_catalogue_and_begins_with_the_main_one() -> None:
    for _, vector in SET:
        assert set(vector["clauses"]) <= {clause.id for clause in catalogue()}
        assert vector["id"].startswith(f"{vector['clauses'][0]}-")
        assert vector["sentence"].endswith("."), vector["id"]


def test_a_broker_vector_is_read_and_written_without_loss() -> None:
    for kind in BROKER_KINDS:
        for values in SET.vectors[kind]:
            assert as_json(read_vector(values)) == {key: own for key, own in values.items() if key != "fields"}


def test_the_index_says_what_the_models_say() -> None:
    assert {key: SET.index[key] for key in facts()} == facts()


def test_the_plays_of_published_findings_are_in_the_set() -> None:
    with assumptions_outside_hypothesis():
        published = {each.id for each in published_plays(FINDINGS)}
    assert published <= {vector["id"] for vector in SET.vectors[PLAYS]}


@pytest.mark.parametrize(
    ("finding", "vector"),
    [
        ("nafka/KIP-35.v0-always-served-1", "KIP-35.v0-always-served-a7074f"),
        ("tansu/KIP-482.unknown-tags-ignored-1", "KIP-482.unknown-tags-ignored-fd865b"),
        ("franz-go/KIP-35.client-falls-back-on-35-1", "KIP-35.client-falls-back-on-35-148e79"),
    ],
)
def test_a_found_failure_becomes_a_vector(finding: str, vector: str) -> None:
    inputs = inputs_of(read_failure(FINDINGS / finding))
    assert [each.as_vector().id for each in inputs.candidates] + [each.id for each in inputs.plays] == [vector]
    assert SET.find(vector) is not None


def test_a_failure_that_changes_a_broker_becomes_none() -> None:
    inputs = inputs_of(read_failure(FINDINGS / "tansu" / "PROTOCOL.no-response-to-acks-0-2"))
    assert (inputs.candidates, inputs.plays) == ([], [])


def test_a_failure_with_a_version_that_only_other_brokers_list_becomes_none() -> None:
    inputs = inputs_of(read_failure(FINDINGS / "noida-db" / "KIP-35.every-advertised-version-served-1"))
    assert (inputs.candidates, inputs.plays) == ([], [])


@pytest.mark.slow
def test_the_files_are_those_that_the_models_give() -> None:
    again = regenerated(SET, published_plays(FINDINGS))
    for kind in KINDS:
        assert (FOLDER / f"{kind}.json").read_text(encoding="utf-8") == file_text(kind, again[kind]), (
            f"{kind}.json is out of date: run python -m workflows.vectors"
        )


@pytest.mark.slow
@pytest.mark.nightly
def test_choosing_again_keeps_every_vector() -> None:
    with assumptions_outside_hypothesis():
        published = published_plays(FINDINGS)
    chosen = generated(choose(published, SET))
    for kind in KINDS:
        assert {each["id"] for each in SET.vectors[kind]} <= {each["id"] for each in chosen[kind]}


@pytest.mark.slow
def test_vectors_alone_catch_the_planted_faults_that_they_can_express() -> None:
    with assumptions_outside_hypothesis():
        brokers = score_of_brokers(SET.of_brokers())
        clients = score_of_clients(plays_of(SET))
    assert {"brokers": brokers.as_json(), "clients": clients.as_json()} == SET.index["score"]
    assert brokers.share >= MIN_SHARE
    assert clients.share >= MIN_SHARE


def test_a_file_that_is_cut_off_is_refused_in_one_sentence(tmp_path: Path) -> None:
    for path in FOLDER.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    whole = (tmp_path / "choices.json").read_text(encoding="utf-8")
    (tmp_path / "choices.json").write_text(whole[: len(whole) // 2], encoding="utf-8")
    with pytest.raises(InvalidVectors, match=r"choices\.json cannot be read"):
        load_vectors(tmp_path)


def test_a_vector_without_a_level_is_refused_with_its_place() -> None:
    incomplete = {key: value for key, value in SET.vectors[CHOICES][0].items() if key != "level"}
    with pytest.raises(InvalidVectors, match="vectors/0: 'level' is a required property"):
        check_schema(VectorSet(index=SET.index, vectors={CHOICES: [incomplete]}))
