"""Tests of the command `vectors`."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from clauses.catalogue import Level
from conformance.commands.vectors import MEANING, NO_IDS, OPTIONS, for_broker, ids_of, report_lines, sum_lines, vectors
from conformance.vectors.broker_check import BrokerCheck, Disagreement
from conformance.vectors.broker_vectors import BrokerVector
from conformance.vectors.own_identity import names_ids
from conformance.vectors.results import PASS, result_line
from conformance.vectors.vector_score import broker_in_memory
from conformance.vectors.vector_set import BROKER_KINDS, CHOICES, load_vectors
from fixtures.client.addresses import Address
from fixtures.errors import ConnectionFailed
from fixtures.launchers.built_in import launch_built_in
from fixtures.registry.reference import reference_target
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT, SASL_PLAINTEXT

SET = load_vectors()
FIRST = SET.vectors[CHOICES][0]
ENDS_WELL, VIOLATED, BAD_INPUT, NOT_JUDGED = 0, 1, 4, 10


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(vectors, arguments, catch_exceptions=False)


def test_list_has_a_line_for_each_vector_of_a_kind() -> None:
    lines = invoke("list", "--kind", CHOICES).output.splitlines()
    assert len(lines) == len(SET.vectors[CHOICES])
    assert FIRST["id"] in lines[0]


def test_list_has_only_vectors_about_a_clause() -> None:
    lines = invoke("list", "--clause", "KIP-511.client-errors-on-42").output.splitlines()
    assert lines
    assert len(lines) < len([*SET])


def test_show_prints_what_is_right_and_why() -> None:
    output = invoke("show", FIRST["id"]).output
    assert FIRST["sentence"] in output
    assert FIRST["clauses"][0] in output
    assert '"client"' in output


def test_an_unknown_id_is_refused_with_what_is_near() -> None:
    result = invoke("show", f"{FIRST['clauses'][0]}-xxxxxx")
    assert result.exit_code == BAD_INPUT
    assert f"near are {FIRST['clauses'][0]}-" in result.output


def test_complete_results_are_right(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text("".join(f"{result_line(each['id'], PASS)}\n" for each in SET.vectors[CHOICES]))
    result = invoke("check", str(file))
    assert (result.exit_code, result.output.splitlines()[-1]) == (
        ENDS_WELL,
        f"{len(SET.vectors[CHOICES])} passed, 0 failed, 0 skipped, 0 missing",
    )


def test_half_a_file_is_refused_with_its_line(tmp_path: Path) -> None:
    whole = "".join(f"{result_line(each['id'], PASS)}\n" for each in SET.vectors[CHOICES][:2])
    file = tmp_path / "results.jsonl"
    file.write_text(whole[:-10])
    result = invoke("check", str(file))
    assert result.exit_code == BAD_INPUT
    assert "line 2: it is no JSON object" in result.output


def test_missing_results_are_named(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text(f"{result_line(FIRST['id'], PASS)}\n")
    result = invoke("check", str(file))
    assert result.exit_code == VIOLATED
    assert f"missing: {SET.vectors[CHOICES][1]['id']}" in result.output


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(b"\xff\xfe")
    result = invoke("check", str(file))
    assert result.exit_code == BAD_INPUT
    assert "is not UTF-8" in result.output


def test_a_port_without_a_broker_ends_with_10() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = invoke("run", f"127.0.0.1:{unused.getsockname()[1]}")
    assert result.exit_code == NOT_JUDGED
    assert "no Kafka broker answers at 127.0.0.1" in result.output


def seen(vector: str, level: Level, sentence: str = "other") -> Disagreement:
    return Disagreement(
        vector=vector, clause=vector.rpartition("-")[0], level=level, sentence=sentence, sent=b"\0", received=b""
    )


def test_the_same_sentence_is_printed_once_with_its_number_and_one_vector() -> None:
    found = [seen("a.x-1", Level.MUST), seen("a.x-2", Level.MUST), seen("a.y-3", Level.MUST), seen("a.z-4", Level.PIN)]
    assert [*report_lines(found, pins_bind=False)][::3] == [
        "violates a.x (MUST) and 1 more clauses, 3 vectors, such as a.x-1: other",
        "differs a.z (PIN), vector a.z-4: other",
    ]


def test_the_clause_that_a_sentence_names_comes_first() -> None:
    sentence = "the vector allows closed (b.z)"
    found = [seen(id_, Level.MUST, sentence) for id_ in ("a.x-1", "b.z-2", "a.y-3")]
    line = next(report_lines(found, pins_bind=False))
    assert line == f"violates b.z (MUST) and 2 more clauses, 3 vectors, such as b.z-2: {sentence}"


def test_a_pin_is_violated_if_a_release_is_given() -> None:
    assert next(report_lines([seen("a.z-4", Level.PIN)], pins_bind=True)).startswith("violates a.z (PIN)")


def test_the_last_lines_say_what_the_words_mean_and_what_was_left_out() -> None:
    lines = sum_lines([seen("a.z-4", Level.PIN)], {"need x": 2, "need y": 1}, count=9, took_s=1, pins_bind=False)
    assert [*lines] == [
        MEANING,
        "left out: 2 that need x",
        "left out: 1 that need y",
        "6 vectors in 1.0 s: 0 violated, 1 differ, 3 left out",
    ]


def test_ids_that_are_given_are_not_asked_for() -> None:
    assert ids_of(Address("localhost", 1), "a" * 22, 3) == ("a" * 22, 3)


@pytest.mark.parametrize(
    ("listener", "reason"),
    [(SASL_PLAINTEXT, f"need {OPTIONS[SASL_PLAINTEXT]}"), (CONTROLLER, f"need {OPTIONS[CONTROLLER]}")],
)
def test_a_vector_is_left_out_with_its_reason(listener: str, reason: str) -> None:
    needing = next(each for each in SET.of_brokers() if each.listeners == (listener,))
    address = {PLAINTEXT: Address("localhost", 1)}
    assert for_broker(needing, address, (None, None), BrokerCheck(broker_in_memory(""))) == (None, reason)


def test_a_vector_with_ids_is_left_out_if_they_are_unknown() -> None:
    naming = next(each for each in SET.of_brokers() if names_ids(each) and each.listeners == (PLAINTEXT,))
    address, check = {PLAINTEXT: Address("localhost", 1)}, BrokerCheck(broker_in_memory(""))
    assert for_broker(naming, address, (None, 1), check) == (None, NO_IDS)
    assert for_broker(naming, address, ("a" * 22, 1), check)[0] is not None


@pytest.mark.slow
def test_what_was_found_before_the_broker_ended_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "results.jsonl"
    right, judged = BrokerCheck.check, list[str]()

    def check(self: BrokerCheck, vector: BrokerVector) -> Disagreement | None:
        if len(judged) == 2:
            raise ConnectionFailed("no connection")
        judged.append(vector.id)
        return right(self, vector)

    monkeypatch.setattr(BrokerCheck, "check", check)
    with launch_built_in(reference_target("reference")) as running:
        result = invoke("run", str(running.addresses[PLAINTEXT]), "--out", str(file))
    assert result.exit_code == NOT_JUDGED
    results = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["id"] for each in results if each["result"] == "pass"] == judged
    assert f"no connection\n{judged[-1]} was judged last, and may have ended the broker" in result.output


@pytest.mark.slow
@pytest.mark.parametrize(("defect", "status"), [("", ENDS_WELL), ("+the-first-range-is-reversed", VIOLATED)])
def test_a_broker_is_judged_on_three_listeners(tmp_path: Path, defect: str, status: int) -> None:
    file = tmp_path / "results.jsonl"
    with launch_built_in(reference_target(f"reference{defect}")) as running:
        address = {name: str(running.addresses[name]) for name in (PLAINTEXT, SASL_PLAINTEXT, CONTROLLER)}
        others = ("--sasl", address[SASL_PLAINTEXT], "--controller", address[CONTROLLER], "--out", str(file))
        result = invoke("run", address[PLAINTEXT], *others)
    assert result.exit_code == status, result.output
    results = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(results) == sum(len(SET.vectors[kind]) for kind in BROKER_KINDS)
    assert {each["result"] for each in results} == ({"pass"} if status == ENDS_WELL else {"pass", "fail"})
    if status == VIOLATED:
        assert "violates KIP-35.ranges-ordered (MUST)" in result.output
