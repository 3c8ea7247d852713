"""Commands in the documents run, and links have targets.

A command that cannot run here must exist, with the options that the document names.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reports.grid import addresses
from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import (
    CONSOLE_SCRIPT,
    DOCUMENTS,
    SUITE,
    anchors_of,
    blocks_of,
    faults_of,
    inline_code_of,
    links_of,
    name_of,
    simple_commands,
)

TIME_LIMIT_S = 300
README = DOCUMENTS[0]
PAGES_OF_READERS = tuple(sorted((REPOSITORY / "docs").glob("for-*.md")))
MAX_LINES, COLUMNS = 100, 120
"""Two screens."""
CACHES = shutil.ignore_patterns(*(".git", ".hypothesis", ".*_cache", ".nox", ".venv", ".coverage", "__pycache__"))
TOP_FOLDERS_NOT_COPIED = {"dist", "report", "runs", "tests"}
SLOWEST = (
    "install.md",
    "judge-your-broker.md",
    "judge-your-client.md",
    "kip-1313.md",
    "learned-machines.md",
    "read-a-failure.md",
    "run-on-a-cluster.md",
)
"""They take four fifths of the time; the night runs them."""
WITH_COMMANDS = [
    pytest.param(
        path,
        marks=[pytest.mark.slow, *([pytest.mark.nightly] if path.name in SLOWEST else [])],
        id=name_of(path),
    )
    for path in DOCUMENTS
    if path.name not in ("ARCHITECTURE.md", "CHANGELOG.md")
]
"""Judging, and starting Spark, some twenty times is slow."""
all_documents = pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)


def not_copied(folder: str, names: list[str]) -> set[str]:
    """Return the entries of a folder that no command needs; `conformance/runs` is code, `runs` is not."""
    top = TOP_FOLDERS_NOT_COPIED.intersection(names) if Path(folder) == REPOSITORY else set()
    return CACHES(folder, names) | top


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the repository without its own tests; files left by one document are there for the next."""
    folder = tmp_path_factory.mktemp("documents") / "repository"
    shutil.copytree(REPOSITORY, folder, ignore=not_copied)
    return folder


@pytest.mark.parametrize("document", WITH_COMMANDS)
def test_commands_run_as_they_stand_there(document: Path, copy: Path) -> None:
    """The blocks of a document run one after the other, in the order in which a reader runs them."""
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        # Before the installed suite, so that a command that changes the suite changes the copy.
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for block in blocks_of(document.read_text(encoding="utf-8"), name_of(document)):
        if block.not_run:
            continue
        finished = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.script],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        output = f"{block.where}\n{finished.stdout[-4000:]}\n{finished.stderr[-4000:]}"
        assert finished.returncode == block.status, output


@all_documents
def test_commands_exist(document: Path) -> None:
    """A command of this project in a shell block exists with its options, whether it is run or not."""
    text = document.read_text(encoding="utf-8")
    for block in blocks_of(text, name_of(document)):
        for words in simple_commands(block.script):
            assert faults_of(words) == [], block.where


@all_documents
def test_commands_in_sentences_exist(document: Path) -> None:
    """A command of this project in a sentence or a table exists with its options."""
    ours = (f"{CONSOLE_SCRIPT} ", f"pytest {SUITE}", "python -m ")
    for code in inline_code_of(document.read_text(encoding="utf-8")):
        if code.startswith(ours):
            for words in simple_commands(code):
                assert faults_of(words) == [], code


@all_documents
def test_links_lead_somewhere(document: Path) -> None:
    """A link to another document or to a heading has a target."""
    for link in links_of(document.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        linked = document.parent / path if path else document
        assert linked.exists(), link
        if anchor:
            assert anchor in anchors_of(linked.read_text(encoding="utf-8")), link


def linked_from(page: Path) -> set[Path]:
    """Return the files and folders that a document links to."""
    links = links_of(page.read_text(encoding="utf-8"))
    return {(page.parent / link.partition("#")[0]).resolve() for link in links}


def test_readme_leads_to_the_page_of_each_reader() -> None:
    assert linked_from(README) >= {*PAGES_OF_READERS}


def test_every_document_is_linked_from_the_readme_or_from_the_page_of_a_reader() -> None:
    """A page of a reader links to it, or to the folder that has it."""
    linked = {path for page in (README, *PAGES_OF_READERS) for path in linked_from(page)} | {README}
    assert [name_of(path) for path in DOCUMENTS if not linked & {path, *path.parents}] == []


@pytest.mark.parametrize("page", PAGES_OF_READERS, ids=name_of)
def test_page_of_a_reader_has_at_most_two_screens(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert sum(max(1, math.ceil(len(line) / COLUMNS)) for line in lines) <= MAX_LINES


@all_documents
def test_document_says_first_what_it_is_for(document: Path) -> None:
    """After the title there is a sentence: no table, no heading, no code, and not where the page comes from."""
    _, *lines = document.read_text(encoding="utf-8").splitlines()
    first = next(filter(None, lines))
    assert not first.startswith(("#", "|", "```", "- ", "Generated ", "Made "))


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("kafka-conformance gird runs", "main has no command gird"),
        (
            "CI=1 .venv/bin/pytest conformance/ --brokr a",
            "pytest conformance/ has no option --brokr",
        ),
        ("cd x && kafka-conformance roll-up runs --oat x", "roll-up has no option --oat"),
    ],
)
def test_a_wrong_command_is_caught(code: str, fault: str) -> None:
    """A misspelt command or option is found."""
    assert [found for words in simple_commands(code) for found in faults_of(words)] == [fault]


def test_blocks_say_how_they_are_treated() -> None:
    """A comment above a block says whether it is run and how it ends."""
    text = "<!-- not run here: no engine -->\n\n```sh\na\n```\n\n<!-- ends with: 1 -->\n```sh\nb\n```\n```sh\nc\n```\n"
    found = [(block.script, block.status, block.not_run) for block in blocks_of(text, "x.md")]
    assert found == [("a\n", 0, "no engine"), ("b\n", 1, ""), ("c\n", 0, "")]


def test_every_export_is_documented() -> None:
    """`docs/exports.md` says who uses each file of a grid."""
    text = (REPOSITORY / "docs" / "exports.md").read_text(encoding="utf-8")
    exports = [
        *(addresses.FEED, addresses.JUNIT, addresses.VIOLATIONS),
        *(addresses.SUMMARY, addresses.TABLE_SCHEMA, addresses.BADGE_OF_ALL),
    ]
    assert [each for each in exports if each.removeprefix("exports/") not in text] == []
