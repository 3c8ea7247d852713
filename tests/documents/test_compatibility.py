"""docs/COMPATIBILITY.md and the texts in docs/findings follow from their data.

docs/compatibility.json agrees with the data of the findings, the catalogue and the recorded tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from clauses.operations import OPERATIONS, clause_or_row
from conformance.failures.stored_failures import read_failure
from conformance.roles.role_registry import roles_named
from reference_model.profiles.known_apis import known_apis
from reports.document.markdown_form import markdown
from reports.grid.bugs import symptom_of, without_log
from reports.run.failures import SEEN_ELSEWHERE
from tests.conformance.suite_runs import REPOSITORY
from workflows.compatibility.client_tables import CLIENTS_DOCUMENT, clients_document
from workflows.compatibility.collecting import step_between
from workflows.compatibility.data import DATA_FILE, DATA_SCHEMA_VERSION, Finding, read_data
from workflows.compatibility.document import DOCUMENT, FINDINGS, MAX_BYTES, document
from workflows.compatibility.exchanges import exchange_text
from workflows.compatibility.finding_files import OVERVIEW, README, read_facts
from workflows.compatibility.finding_texts import FOLDER as FINDINGS_IN_CHECKOUT
from workflows.compatibility.finding_texts import finding_page, tracker_text
from workflows.compatibility.names import read_names
from workflows.compatibility.product_pages import product_page
from workflows.compatibility.scripts import PLAYER, SENDER, finding_scripts
from workflows.oldest_versions.document import DOCUMENT as OLDEST_VERSIONS
from workflows.oldest_versions.document import document_of
from workflows.oldest_versions.results import read_found

DOCS = REPOSITORY / "docs"
FOLDER = DOCS / FINDINGS
DATA = read_data(DOCS / DATA_FILE)
MAX_BYTES_OF_DATA = 300_000
MAX_BYTES_OF_FINDINGS = 2_300_000
_OF_A_MACHINE = re.compile(r"/(?:home|root|tmp|Users|work)/\w|[\w-]+\.(?:internal|local|lan)\b")
_BYTES = re.compile(r'^ +\[\d+, "[0-9a-f]*", .*$', re.M)
"""The row of an exchange: what a broker answers stays as it is."""
STORED = [finding for finding in DATA.findings if finding.target]


def test_document_follows_from_its_data() -> None:
    """`python -m workflows.compatibility --out docs` writes it again."""
    assert (DOCS / DOCUMENT).read_text(encoding="utf-8") == document(DATA, read_found(DOCS))


def test_document_of_clients_follows_from_its_data() -> None:
    """`python -m workflows.compatibility --out docs` writes it again."""
    assert (DOCS / CLIENTS_DOCUMENT).read_text(encoding="utf-8") == clients_document(DATA)


def test_data_follows_its_schema() -> None:
    """The schema is one, and it describes each field of the data."""
    schema = json.loads((DOCS / "compatibility.schema.json").read_text(encoding="utf-8"))
    validator_for(schema).check_schema(schema)
    content = json.loads((DOCS / DATA_FILE).read_text(encoding="utf-8"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(content)] == []
    assert schema["properties"]["compatibility_schema_version"] == {"const": DATA_SCHEMA_VERSION}


def test_document_of_oldest_versions_follows_from_its_data() -> None:
    """`python -m workflows.oldest_versions --out docs` writes both."""
    assert (DOCS / OLDEST_VERSIONS).read_text(encoding="utf-8") == markdown(document_of(read_found(DOCS)))


def test_texts_of_findings_follow_from_their_data() -> None:
    """`python -m workflows.compatibility --out docs` writes them again."""
    for product in {finding.product for finding in DATA.findings}:
        assert (FOLDER / product / README).read_text(encoding="utf-8") == product_page(DATA, product), product
    for finding in DATA.findings:
        page = (FOLDER / finding.id / README).read_text(encoding="utf-8")
        assert page == f"{finding_page(DATA, finding, facts_of(finding))}\n", finding.id


@pytest.mark.parametrize(("name", "text"), {README: OVERVIEW, **finding_scripts()}.items())
def test_files_next_to_the_findings_are_current(name: str, text: str) -> None:
    """`python -m workflows.compatibility --out docs` writes them again."""
    assert (FOLDER / name).read_text(encoding="utf-8") == text


def facts_of(finding: Finding) -> Mapping[str, Any]:
    return read_facts(FOLDER / finding.id)


def test_document_and_findings_stay_small() -> None:
    assert len(document(DATA).encode()) <= MAX_BYTES
    assert (DOCS / DATA_FILE).stat().st_size <= MAX_BYTES_OF_DATA
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MAX_BYTES_OF_FINDINGS


def test_every_folder_belongs_to_a_finding() -> None:
    folders = {path.parent.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*/*")}
    assert folders == {finding.id for finding in DATA.findings}


def test_every_finding_has_a_name_of_its_own() -> None:
    names = [name.id for name in read_names(FOLDER)]
    assert len(names) == len(set(names))
    assert set(names) >= {finding.id for finding in DATA.findings}
    for finding in DATA.findings:
        product, _, name = finding.id.partition("/")
        # It keeps the name of the rule that it was found by first, also if it breaks only others now.
        assert name.rpartition("-")[2].isdigit(), finding.id
        assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", product), finding.id


def test_levels_are_those_of_the_catalogue() -> None:
    """The row of an operation is no clause of the catalogue, and has a level of its own."""
    assert {clause: clause_or_row(clause).level for clause in DATA.levels} == DATA.levels


def test_findings_are_about_judged_products_and_their_rules() -> None:
    """Each version that has a defect was judged, and each rule has a level."""
    judged = {product.id for product in DATA.products}
    assert {version for finding in DATA.findings for version in finding.broken} <= judged
    assert {clause for finding in DATA.findings for clause in finding.clauses} == set(DATA.levels)


def test_stored_failures_prove_their_findings() -> None:
    """The bytes are those of a version that has the defect, break one of its rules and show what the sentence says."""
    for finding in STORED:
        stored = read_failure(FOLDER / finding.id)
        assert stored.clause in finding.clauses, finding.id
        assert stored.target == finding.target, finding.id
        assert stored.target in (finding.tried_with or finding.broken), finding.id
        if finding.tried_with:
            continue
        roles_named(stored.role)[0].property_named(stored.property_name)
        if not finding.declared:
            assert agree(finding.title.lower(), without_log(stored.first_line).lower()), finding.id


def agree(title: str, message: str) -> bool:
    """Return whether a title comes from a message: it may name the request first, put a long list last, or be cut."""
    of_title = set(re.findall(r"[a-z]+", title))
    for part in (symptom_of(message), message.rpartition(": ")[2]):
        words = set(re.findall(r"[a-z]+", part))
        most = len(words) / 2 if title.endswith("…") else 0
        if len(words - of_title) <= most:
            return True
    return False


def test_findings_have_what_their_script_reads() -> None:
    """Bytes for the script that sends them, or a play for the one that plays the broker."""
    for finding in STORED:
        facts = facts_of(finding)
        if finding.script.endswith(PLAYER):
            assert facts["play"]["timeout_s"] > 0, finding.id
        elif finding.script:
            assert finding.script.endswith(SENDER), finding.id
            assert facts["steps"], finding.id
            assert facts.get("seen_elsewhere", False) is (facts["clause"] in SEEN_ELSEWHERE), finding.id
        assert not finding.script or (FOLDER / finding.id / finding.script).exists(), finding.id


def test_findings_name_no_machine() -> None:
    """Paths and names of the machine that judged are no part of a finding."""
    found = [
        f"{path.relative_to(FOLDER)}: {match[0]}"
        for path in FOLDER.rglob("*")
        if path.is_file()
        for match in _OF_A_MACHINE.finditer(_BYTES.sub("", path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_first_request_of_a_title_is_shown() -> None:
    """A title leads with a request only if the bytes have it."""
    for finding in STORED:
        named = re.search(r"\b([A-Z][A-Za-z]+)(?: \d+)? v-?\d", finding.title)
        if named is None or named[1] == "API" or finding.declared:
            # "API 99" is a number that no API has.
            continue
        keys = {key for key, api in known_apis().items() if api.name == named[1]}
        text = exchange_text(facts_of(finding)["exchange"])
        sent = {int(key) for key in re.findall(r"request_api_key = (-?\d+)", text)}
        assert keys & sent, finding.id


def test_texts_of_findings_are_complete() -> None:
    """A maintainer sees where the rule stands, and how to see the defect again."""
    for finding in STORED:
        text = tracker_text(DATA, finding, facts_of(finding))
        assert re.search(r"^Source: .*\]\(https://", text, re.M), finding.id
        assert (
            f"kafka-conformance replay {FINDINGS_IN_CHECKOUT}/{finding.id}" in text
            or "kafka-conformance replay ." in text
        ), finding.id
        if finding.script:
            assert f"python3 {finding.script.rpartition('/')[2]} . " in text, finding.id
        assert "PROGRAM" not in text, finding.id


def test_steps_follow_from_the_recorded_tables() -> None:
    """The rules come from the grid, everything else from the tables."""
    for step in DATA.steps:
        by_tables = step_between(step.before, step.after, None)
        assert replace(by_tables, worse=step.worse, better=step.better) == step


def test_operations_have_a_symbol_for_each_release() -> None:
    """A row has as many columns as its head."""
    for client in DATA.clients:
        assert client.operations.keys() <= OPERATIONS.keys()
        assert {len(symbols) for symbols in client.operations.values()} == {len(DATA.releases)}
