"""The data of a finding has what `replay`, the scripts and the texts need."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reports.run.failures import SEEN_ELSEWHERE
from tests.workflows.finding_grids import PLAY, STEPS, found_in
from workflows.compatibility.finding_facts import data_of_script, finding_facts, without_folders
from workflows.compatibility.json_texts import json_text


@pytest.mark.parametrize(
    ("name", "data", "script"), [("play", PLAY, f"DATA = {PLAY!r}"), ("steps", STEPS, f"STEPS = {STEPS!r}")]
)
def test_data_of_a_script_is_in_it_or_in_the_facts(name: str, data: object, script: str, grid: Path) -> None:
    *_, failure = found_in(grid, "loops")
    inside = replace(failure, facts="{}", reproducer=f"import sys\n{script}\n")
    assert data_of_script(inside, name) == data
    outside = replace(failure, facts=json.dumps({name: data}), reproducer="print()")
    assert data_of_script(outside, name) == data
    with pytest.raises(ValueError, match=f"has no {name}"):
        data_of_script(replace(inside, reproducer=""), name)


def test_finding_of_a_broker_has_steps_and_the_rule(grid: Path) -> None:
    _, finding, evidence, failure = found_in(grid, "silent")
    facts = finding_facts(finding, evidence, failure)
    assert facts["steps"] == STEPS
    assert (facts["clause"], facts["location"]) == (failure.clause, evidence.clause.location)
    assert facts["request"] == "ApiVersions v3"
    assert [message["what"] for message in facts["exchange"]] == ["sent", "answer", "closed by us"]
    assert not {"play", "role", "seen_elsewhere"} & facts.keys()


def test_finding_of_a_client_has_a_play(grid: Path) -> None:
    _, finding, evidence, failure = found_in(grid, "loops")
    facts = finding_facts(finding, evidence, failure)
    assert facts["play"] == {**PLAY, "timeout_s": 3}
    assert facts["role"] == "client"
    assert not {"steps", "sent", "request"} & facts.keys()


def test_finding_says_if_its_bytes_do_not_show_it(grid: Path) -> None:
    _, finding, evidence, failure = found_in(grid, "silent")
    elsewhere = replace(evidence, clause=replace(evidence.clause, clause=min(SEEN_ELSEWHERE)))
    assert finding_facts(finding, elsewhere, failure)["seen_elsewhere"] is True


def test_paths_of_a_machine_are_left_out() -> None:
    """The name of the file stays."""
    message = "panic at /home/someone/go/pkg/mod/some@v1.0/client.go:128, see /tmp/x/out.txt"
    assert without_folders(message) == "panic at …/client.go:128, see …/out.txt"


def test_only_messages_lose_paths(grid: Path) -> None:
    _, finding, evidence, failure = found_in(grid, "crashes")
    changed = replace(
        failure,
        message="it ended\nat /home/someone/x/y.go:1",
        hex_dump="connection 0: sent\n     0  2f  path = '/tmp/a/b'",
        facts=json.dumps({"steps": "/tmp/a/b", "sent": [{"data": "/tmp/a/b"}]}),
    )
    facts = finding_facts(finding, evidence, changed)
    assert facts["message"] == "it ended\nat …/y.go:1"
    assert facts["steps"] == facts["sent"][0]["data"] == "/tmp/a/b"
    assert facts["exchange"][0]["rows"] == [[0, "2f", "path", "'/tmp/a/b'"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, "é"], "b": {}}, '{"a": [1, "\\u00e9"], "b": {}}'),
        ({"a": ["x" * 60, "y" * 60]}, f'{{\n "a": [\n  "{"x" * 60}",\n  "{"y" * 60}"\n ]\n}}'),
        ([["x" * 60, "y" * 40], "z" * 40], f'[\n ["{"x" * 60}", "{"y" * 40}"],\n "{"z" * 40}"\n]'),
    ],
)
def test_json_has_a_line_for_each_part_that_needs_one(value: object, text: str) -> None:
    assert json_text(value) == text
    assert json.loads(text) == value
