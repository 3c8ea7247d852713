"""The workflow in `docs/your-nightly.md` follows GitHub's rules and can be run.

It uses only what exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import faults_of, simple_commands
from tests.programs import require_program
from tests.workflows.fake_gh import FakeGh
from tests.workflows.test_the_night import Runner
from tests.workflows.test_workflow_files import (
    WORKFLOWS,
    check_schema,
    checkouts_with_token,
    lint,
    steps_of,
    steps_with_expressions,
    unpinned,
)
from workflows.documents.project_address import project_repository

DOCUMENTS = [REPOSITORY / "docs" / name for name in ("your-nightly.md", "judge-your-broker.md")]
NIGHTLY = DOCUMENTS[0]
ACTION = f"{project_repository()}@"
_YAML_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_USES = re.compile(r"uses: ([^\s@.]\S*)@(\S+ # \S+)")
WRITES = {
    "publish": {"id-token": "write", "pages": "write"},
    "issues": {"contents": "read", "issues": "write"},
}
"""The jobs that may write; all others only read."""


def blocks(document: Path) -> list[str]:
    """Return the YAML blocks of a document."""
    return _YAML_BLOCK.findall(document.read_text(encoding="utf-8"))


def loaded(text: str) -> Any:
    """Read a block of YAML."""
    return YAML(typ="safe").load(text)


@pytest.fixture
def template() -> str:
    """The text of the workflow, the first block."""
    return blocks(NIGHTLY)[0]


@pytest.fixture
def file(template: str, tmp_path: Path) -> Path:
    """The workflow as a file."""
    path = tmp_path / "conformance.yml"
    path.write_text(template)
    return path


def inputs_given() -> Iterator[Mapping[str, str]]:
    """Yield the inputs of each step with the action, in all documents."""
    for document in DOCUMENTS:
        for block in blocks(document):
            content = loaded(block)
            for step in steps_of(content) if isinstance(content, Mapping) else content:
                if step.get("uses", "").startswith(ACTION):
                    yield step["with"]


def test_template_follows_the_schema(file: Path) -> None:
    checked = check_schema("vendor.github-workflows", file)
    assert checked.exit_code == 0, checked.output


def test_actionlint_finds_nothing_in_it(file: Path) -> None:
    """Expressions, job dependencies and outputs fit together."""
    require_program("go")
    checked = lint(file)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_template_pins_what_the_suites_own_workflows_pin(template: str) -> None:
    """All actions but the suite itself have a commit, and the one that this repository uses."""
    assert {line.partition("@")[0] for line in unpinned(template)} == {f"uses: {ACTION[:-1]}"}
    own = {found for path in WORKFLOWS for found in _USES.findall(path.read_text())}
    used = {found for found in _USES.findall(template) if found[0] != ACTION[:-1]}
    assert used
    assert used <= own


def test_template_asks_for_no_more_than_it_needs(template: str) -> None:
    """What judges may only read, and no value from outside stands in a script."""
    content = loaded(template)
    assert content["permissions"] == {}
    for name, job in content["jobs"].items():
        reads = {"contents": "read", **({"actions": "read"} if name == "grid" else {})}
        assert job["permissions"] == WRITES.get(name, reads), name
        assert "timeout-minutes" in job, name
    assert steps_with_expressions(content) == checkouts_with_token(content) == []


def test_commands_of_the_template_exist(template: str) -> None:
    """Each with its options."""
    scripts = [step["run"] for step in steps_of(loaded(template)) if "run" in step]
    assert sum("python -m workflows." in script for script in scripts) == 3
    faults = [fault for script in scripts for words in simple_commands(script) for fault in faults_of(words)]
    assert faults == []


def test_documents_give_inputs_that_the_action_has() -> None:
    """Each step with the action, in each document."""
    known = loaded((REPOSITORY / "action.yml").read_text())["inputs"]
    given = list(inputs_given())
    assert {"command-config", "kafka-home", "image", "client-command"} <= {n for i in given for n in i}
    assert [name for inputs in given for name in inputs if name not in known] == []


@pytest.mark.slow
@pytest.mark.nightly  # A run, and Spark starts
@pytest.mark.timeout(1200)
def test_template_is_played_from_the_run_to_the_issue(template: str, tmp_path: Path) -> None:
    """The action judges, the run is added to the history, and the violation gets its issue."""
    listed = "api repos/some/one/actions/artifacts?name=history&per_page=100"
    answers = {"issue list": [], "label create": "", "issue create": "https://example.org/issues/7"}
    runner = Runner(tmp_path / "work", FakeGh(tmp_path / "bin", {listed: {"artifacts": []}, **answers}))
    broker = {"INPUT_BROKER": "reference+tags-descend", "INPUT_LISTENER": "plaintext"}
    runner.run(
        "python -m workflows.judge",
        status=1,
        GITHUB_WORKSPACE=str(runner.folder),
        INPUT_TIER="smoke",
        INPUT_RUNS="judged",
        **broker,
    )
    # As the artefact is downloaded: the content of the run folder below the artefact's name.
    runner.run("mkdir runs && mv judged/*/ runs/run-broker")
    jobs = loaded(template)["jobs"]
    for step in (*jobs["grid"]["steps"], *jobs["issues"]["steps"]):
        if "run" in step:
            output = runner.run(step["run"], PAGE="https://example.org/grid/")
    assert (runner.folder / "kept" / "history.tar").is_file()
    assert (runner.folder / "site" / "index.html").is_file()
    assert "on reference+tags-descend]" in output + runner.summary.read_text()
