"""Texts of findings say how to see a defect again, to somebody who has two files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.assertions.client_moves import TOO_MUCH_MEMORY
from tests.workflows.finding_grids import CLIENTS, found_in
from workflows.compatibility.__main__ import write_documents
from workflows.compatibility.data import Compatibility, Finding
from workflows.compatibility.finding_facts import finding_facts
from workflows.compatibility.finding_texts import finding_page, linked, tracker_text
from workflows.compatibility.tracker_text import main

PROJECT = "https://example.org/suite"


def finding_in(grid: Path, words: str, **changes: Any) -> tuple[Compatibility, Finding, Mapping[str, Any]]:
    """Return the data of a grid, the finding whose title has some words, and its data with changes."""
    collected, finding, evidence, failure = found_in(grid, words)
    return collected.data, finding, {**finding_facts(finding, evidence, failure), **changes}


def published(data: Compatibility) -> Compatibility:
    return replace(data, project=PROJECT)


def test_text_of_a_finding_is_complete(grid: Path) -> None:
    message = "it is aborted\nx.c:1: assertion\nstderr: x.c:1: assertion\n1 request in 0.1 s"
    data, finding, facts = finding_in(grid, "loops", message=message)
    on_sasl = replace(finding, listener="sasl_plaintext", target="aiokafka-0.14.0")
    for text in (finding_page(data, on_sasl, facts), tracker_text(data, on_sasl, facts)):
        assert "It was met on a listener with SASL (PLAIN), without TLS, and takes any name and password." in text
        assert "The last lines that the client wrote:\n\n```text\nx.c:1: assertion\n```" in text
        assert text.count("x.c:1: assertion") == 1
        assert "`pip install aiokafka==0.14.0`" in text
        assert "python3 play_broker.py . --port 9092" in text


LOOP = "0 18 0 - error_42 21"
AN_ERROR_AND_METADATA = "0 18 0 - error_35 1"


@pytest.mark.parametrize(
    ("recorded", "message", "ends_with_1"),
    [
        ([LOOP], "it asks again and again", True),
        ([AN_ERROR_AND_METADATA, "0 3 1 - answer 1"], "Metadata v1 was sent as the error lists it", False),
        ([AN_ERROR_AND_METADATA], "it gets no metadata\n1 request; not recovered", True),
        ([], "SIGABRT ended the client", True),
    ],
)
def test_text_promises_what_the_script_can_show(
    recorded: list[str], message: str, ends_with_1: bool, grid: Path
) -> None:
    data, finding, facts = finding_in(grid, "loops", message=message)
    text = finding_page(data, finding, {**facts, "play": {**facts["play"], "recorded": recorded}})
    assert ("It ends with 1 if the client does the same again" in text) == ends_with_1
    assert ("It cannot judge this failure" in text) == (not ends_with_1)


def test_only_the_text_for_a_tracker_has_the_bytes(grid: Path) -> None:
    data, finding, facts = finding_in(grid, "silent")
    assert "request_api_key = 18" in tracker_text(data, finding, facts)
    page = finding_page(data, finding, facts)
    assert "request_api_key" not in page
    assert f"`python -m workflows.compatibility.tracker_text docs/findings/{finding.id}`" in page


def test_files_are_linked_or_attached(grid: Path) -> None:
    data, finding, facts = finding_in(grid, "silent")
    assert "[send_again.py](../../send_again.py) and [failure.json](failure.json)" in finding_page(data, finding, facts)
    attached = tracker_text(data, finding, facts)
    assert "with two files in one folder: `send_again.py` and `failure.json`, which are attached." in attached
    assert "](" not in attached.partition("## To see it again")[2]


@pytest.mark.parametrize(("words", "script"), [("silent", "send_again.py"), ("loops", "play_broker.py")])
def test_files_of_a_published_project_are_fetched(words: str, script: str, grid: Path) -> None:
    data, finding, facts = finding_in(grid, words)
    for text in (finding_page(published(data), finding, facts), tracker_text(published(data), finding, facts)):
        assert f"({PROJECT}/blob/HEAD/docs/findings/{script})" in text
        assert f"curl -fLO {PROJECT}/raw/HEAD/docs/findings/{script}\n" in text
        assert f"curl -fLO {PROJECT}/raw/HEAD/docs/findings/{finding.id}/failure.json\n" in text
        assert f"[kafka-conformance]({PROJECT})" in text


def test_command_names_the_listeners_that_it_needs(grid: Path) -> None:
    steps = [{"listener": "plaintext"}, {"listener": "ssl"}, {"listener": "controller"}]
    data, finding, facts = finding_in(grid, "silent", steps=steps)
    command = "\npython3 send_again.py . localhost:9092 controller=HOST:PORT ssl=HOST:PORT\n"
    assert command in finding_page(data, finding, facts)


def test_text_says_that_responses_do_not_show_it(grid: Path) -> None:
    data, finding, facts = finding_in(grid, "silent", seen_elsewhere=True)
    text = finding_page(data, finding, facts)
    assert "It ends with 2: the responses do not show this failure" in text
    assert "It ends with 1" not in text


def test_text_without_a_stored_failure_says_what_is_known(grid: Path) -> None:
    data, finding, _ = finding_in(grid, "silent")
    assert finding_page(data, finding, {}).splitlines()[-1] == "In mybroker-2.0."


def test_sources_of_rules_are_links() -> None:
    """Each to the page of its document."""
    text = linked("KIP-97, Proposed Changes; Protocol guide, Network (silent)")
    assert text.startswith("[KIP-97](https://cwiki.apache.org/")
    assert "; [Protocol guide](https://kafka.apache.org/protocol), Network \\(silent\\)" in text


@pytest.mark.parametrize(
    ("words", "declared", "repeats", "sentence"),
    [
        ("silent", "", None, "Not repeated in the run: its values cannot be drawn again, or "),
        ("crashes", "", None, "Not repeated in the run: a crash counts if the same bytes end a second broker"),
        ("silent", "On purpose.", None, "Not repeated in the run: what is declared as known is not repeated."),
        ("silent", "", {"sentence": "failed 3 of 3 again"}, "Repeated by the suite: failed 3 of 3 again."),
    ],
    ids=["time", "crash", "declared", "repeated"],
)
def test_text_says_whether_it_was_repeated(
    words: str, declared: str, repeats: object, sentence: str, grid: Path
) -> None:
    data, finding, facts = finding_in(grid, words, repeats=repeats)
    assert f"\n\n{sentence}" in finding_page(data, replace(finding, declared=declared), facts)


def test_script_is_repeated_until_it_sees_what_is_rare(grid: Path) -> None:
    data, finding, facts = finding_in(grid, "silent", repeats={"sentence": "flaky: failed 1 of 3 again"})
    again = "`until python3 send_again.py . localhost:9092; [ $? = 1 ]; do :; done`"
    assert again in finding_page(data, finding, facts)


def test_address_in_a_declaration_is_a_link(grid: Path) -> None:
    """Only the project itself writes declarations; the text around it stays escaped."""
    data, finding, facts = finding_in(grid, "silent")
    address = "https://github.com/a/b/blob/1.0/C_d.java#L1-L2"
    declared = replace(finding, declared=f"On *purpose*. ({address})")
    text = finding_page(data, declared, facts)
    assert f"Declared as known: On \\*purpose\\*. \\([{address}]({address})\\)" in text.splitlines()


@pytest.mark.parametrize(("client", "limit"), [("aiokafka-0.14.0", 300), ("kafka-clients-3.9.2-admin", 400)])
def test_memory_finding_says_the_limit(client: str, limit: int, grid: Path) -> None:
    """A reader outside the project cannot know how much a client may use."""
    data, finding, facts = finding_in(grid, "loops", message=f"{TOO_MUCH_MEMORY}: 512 MB")
    text = finding_page(data, replace(finding, target=client), facts)
    (expected,) = (line for line in text.splitlines() if line.startswith("**Expected**"))
    assert expected.endswith(f"MUST) This client may use {limit} MB.")


def test_command_prints_the_text_for_a_tracker(grid: Path, tmp_path: Path) -> None:
    data = write_documents(grid, tmp_path)
    folder = tmp_path / "findings/libone" / f"{CLIENTS}-1"
    finding = next(finding for finding in data.findings if finding.id == f"libone/{CLIENTS}-1")
    printed = CliRunner().invoke(main, [str(folder)], catch_exceptions=False)
    assert printed.output.startswith(f"# libone: {finding.title}")
    assert "\nThe bytes:\n" in printed.output


@pytest.mark.parametrize("folder", ["elsewhere/one/two", "findings/libone"])
def test_command_refuses_a_folder_that_is_no_finding(folder: str, grid: Path, tmp_path: Path) -> None:
    write_documents(grid, tmp_path)
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    refused = CliRunner().invoke(main, [str(tmp_path / folder)])
    assert refused.exit_code not in (0, 1)
    assert "is no finding" in refused.output
