"""Tests of the command `vectors`."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.commands.vectors import vectors
from conformance.vectors.results import PASS, result_line
from conformance.vectors.vector_set import BROKER_KINDS, CHOICES, load_vectors
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
