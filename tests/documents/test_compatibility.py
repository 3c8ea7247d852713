"""docs/COMPATIBILITY.md follows from docs/compatibility.json.

The JSON file agrees with the findings, the catalogue and the recorded tables.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace

from clauses.catalogue import catalogue
from clauses.operations import OPERATIONS
from conformance.failures.stored_failures import read_failure
from conformance.roles.role_registry import roles_named
from reference_model.profiles.known_apis import known_apis
from reports.grid.bugs import symptom_of
from tests.conformance.suite_runs import REPOSITORY
from workflows.compatibility.collecting import PLAYER, step_between
from workflows.compatibility.data import DATA_FILE, read_data
from workflows.compatibility.document import DOCUMENT, FINDINGS, MAX_BYTES, document
from workflows.compatibility.finding_texts import FOLDER as FINDINGS_IN_CHECKOUT

DOCS = REPOSITORY / "docs"
FOLDER = DOCS / FINDINGS
DATA = read_data(DOCS / DATA_FILE)
MAX_BYTES_OF_DATA = 300_000
MAX_BYTES_OF_FINDINGS = 2_200_000
_OF_A_MACHINE = re.compile(r"/(?:home|root|tmp|Users|work)/\w|[\w-]+\.(?:internal|local|lan)\b")
_BYTES = re.compile(r"^>? +\d+  [0-9a-f]{2} .*$", re.M)
"""The row of a dump: what a broker answers stays as it is."""
STORED = [finding for finding in DATA.findings if finding.target]


def test_document_follows_from_its_data() -> None:
    """`python -m workflows.compatibility GRID --out docs` writes both."""
    assert (DOCS / DOCUMENT).read_text(encoding="utf-8") == document(DATA)


def test_document_and_findings_stay_small() -> None:
    assert len(document(DATA).encode()) <= MAX_BYTES
    assert (DOCS / DATA_FILE).stat().st_size <= MAX_BYTES_OF_DATA
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MAX_BYTES_OF_FINDINGS


def test_every_folder_belongs_to_a_finding() -> None:
    folders = {path.parent.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*/README.md")}
    assert folders == {finding.id for finding in DATA.findings}


def test_levels_are_those_of_the_catalogue() -> None:
    """The row of an operation is no clause of the catalogue: it is always a MUST."""
    known = {clause.id: clause.level for clause in catalogue()}
    for clause, level in DATA.levels.items():
        if clause.rpartition(".")[2] in OPERATIONS:
            assert level == "MUST", clause
        else:
            assert level == known[clause], clause


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
            assert agree(finding.title.lower(), stored.first_line.lower()), finding.id


def agree(title: str, message: str) -> bool:
    """Return whether a title comes from a message: it may name the request first, put a long list last, or be cut."""
    of_title = set(re.findall(r"[a-z]+", title))
    for part in (symptom_of(message), message.rpartition(": ")[2]):
        words = set(re.findall(r"[a-z]+", part))
        most = len(words) / 2 if title.endswith("…") else 0
        if len(words - of_title) <= most:
            return True
    return False


def test_scripts_are_there_and_compile() -> None:
    """A broker's finding has a script of its own; a client's needs the play of the common one."""
    for finding in STORED:
        folder = FOLDER / finding.id
        if finding.script.endswith(PLAYER):
            play = json.loads((folder / "failure.json").read_text())["play"]
            assert play["timeout_s"] > 0, finding.id
        elif finding.script:
            ast.parse((folder / finding.script).read_text(encoding="utf-8"))
    ast.parse((FOLDER / PLAYER).read_text(encoding="utf-8"))


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
        text = (FOLDER / finding.id / "README.md").read_text(encoding="utf-8")
        if named is None or named[1] == "API" or finding.declared:
            # "API 99" is a number that no API has.
            continue
        keys = {key for key, api in known_apis().items() if api.name == named[1]}
        sent = {int(each) for each in re.findall(r"request_api_key = (-?\d+)", text)}
        assert keys & sent, finding.id


def test_texts_of_findings_are_complete() -> None:
    """A maintainer sees where the rule stands, and how to see the defect again."""
    for finding in STORED:
        text = (FOLDER / finding.id / "README.md").read_text(encoding="utf-8")
        assert re.search(r"^Source: .*\]\(https://", text, re.M), finding.id
        assert (
            f"kafka-conformance replay {FINDINGS_IN_CHECKOUT}/{finding.id}" in text
            or "kafka-conformance replay ." in text
        ), finding.id
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
