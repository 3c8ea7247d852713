"""The workflows and the action follow their schemas and pin what they use.

They request no more permissions than they need.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
from click.testing import CliRunner, Result
from ruamel.yaml import YAML

from clauses.clause_sets import newest_set
from reference_model.profiles.listeners import USUAL_LISTENERS
from tests.conformance.suite_runs import REPOSITORY
from tests.programs import require_program
from workflows.night_roll_up import KEEP_DAYS

GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTIONS = [REPOSITORY / "action.yml", *sorted((GITHUB / "actions").glob("*/action.yml"))]
FORMS = GITHUB / "ISSUE_TEMPLATE"
CHOOSER = FORMS / "config.yml"
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "vendor.github-actions": ACTIONS,
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.github-issue-forms": [path for path in sorted(FORMS.glob("*.yml")) if path != CHOOSER],
    "vendor.github-issue-config": [CHOOSER],
}
ACTIONLINT = Path(__file__).parent / "actionlint"
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
FROM_OUTSIDE = re.compile(r"\$\{\{.*(inputs|github|needs|matrix|steps)\..*\}\}")
WRITES = {
    ("nightly.yml", "sign"): {"attestations", "id-token"},
    ("nightly.yml", "publish"): {"id-token", "pages"},
    ("nightly.yml", "issues"): {"issues"},
    ("nightly.yml", "document"): {"contents", "pull-requests"},
    ("release.yml", "attest"): {"attestations", "id-token"},
    ("release.yml", "image"): {"attestations", "id-token", "packages"},
    ("release.yml", "publish"): {"id-token"},
    ("release.yml", "announce"): {"contents"},
}
"""The write permissions of each job; no other job has any."""


def name_of(path: Path) -> str:
    """Return a file's path in the repository, as the id of a test."""
    return path.relative_to(REPOSITORY).as_posix()


def read(path: Path) -> Mapping[str, Any]:
    """Read a YAML file."""
    content: Mapping[str, Any] = YAML(typ="safe").load(path)
    return content


def check_schema(schema: str, *paths: Path) -> Result:
    """Check files against one of the schemas that come with check-jsonschema."""
    return CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", schema, *map(str, paths)])


def lint(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Run actionlint without shellcheck, which not every machine has."""
    command = ["go", "-C", str(ACTIONLINT), "tool", "actionlint", "-shellcheck=", "-no-color"]
    return subprocess.run([*command, *map(str, paths)], capture_output=True, text=True, check=False)


def unpinned(text: str) -> list[str]:
    """Return the lines that use a third-party action without a commit and a comment with its version."""
    uses = [line.strip().removeprefix("- ") for line in text.splitlines() if "uses: " in line]
    return [line for line in uses if not line.startswith("uses: ./") and not PINNED.match(line)]


def steps_of(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield every step of a workflow or an action."""
    for job in content["jobs"].values() if "jobs" in content else [content["runs"]]:
        yield from job["steps"]


def steps_with_expressions(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the steps with a value from outside in their script."""
    return [step for step in steps_of(content) if FROM_OUTSIDE.search(step.get("run", ""))]


def checkouts_with_token(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the steps that leave their token in the checkout."""
    return [
        step
        for step in steps_of(content)
        if step.get("uses", "").startswith("actions/checkout@") and step["with"]["persist-credentials"] is not False
    ]


@pytest.mark.parametrize(("schema", "paths"), SCHEMAS.items(), ids=SCHEMAS)
def test_files_follow_their_schema(schema: str, paths: list[Path]) -> None:
    """Each file has the form that GitHub expects."""
    checked = check_schema(schema, *paths)
    assert checked.exit_code == 0, checked.output


def test_actionlint_finds_nothing() -> None:
    """Expressions, job dependencies and outputs of the workflows fit together."""
    require_program("go")
    checked = lint(*WORKFLOWS)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=name_of)
def test_what_is_used_is_pinned(path: Path) -> None:
    """Every third-party action is pinned by its commit, with the version in a comment."""
    assert unpinned(path.read_text()) == []


def test_one_action_has_one_pin() -> None:
    """All files use the same version of an action."""
    pins: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, *ACTIONS):
        for action, pin in re.findall(r"uses: ([^\s@.]\S*)@(\S+ # \S+)", path.read_text()):
            pins.setdefault(action, set()).add(pin)
    assert pins
    assert {action: found for action, found in pins.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=name_of)
def test_each_job_states_what_it_may(path: Path) -> None:
    """A workflow grants nothing, each job only what it needs, and only the jobs in the list may write."""
    content = read(path)
    assert content["permissions"] == {}
    for name, job in content["jobs"].items():
        assert isinstance(job["permissions"], dict), name
        writes = {scope for scope, access in job["permissions"].items() if access == "write"}
        assert writes == WRITES.get((path.name, name), set()), name
        assert "timeout-minutes" in job, name


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=name_of)
def test_no_expression_stands_in_a_script(path: Path) -> None:
    """External values reach a shell as variables, never as part of its script."""
    assert steps_with_expressions(read(path)) == []


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=name_of)
def test_no_checkout_leaves_its_token(path: Path) -> None:
    """The suite starts third-party programs; none of them finds a token in the checkout."""
    assert checkouts_with_token(read(path)) == []


def test_every_variable_of_the_action_is_an_input() -> None:
    """The action passes on each input that the suite reads, under its own name."""
    content = read(REPOSITORY / "action.yml")
    judge = next(step for step in content["runs"]["steps"] if step.get("id") == "judge")
    handed_on = {
        name.removeprefix("INPUT_").lower().replace("_", "-"): value
        for name, value in judge["env"].items()
        if name.startswith("INPUT_")
    }
    assert handed_on == {name: f"${{{{ inputs.{name} }}}}" for name in handed_on}
    assert set(content["inputs"]) == {*handed_on, "artifact", "python-version"}


@pytest.mark.parametrize(
    ("written", "run", "outcome", "shown"),
    [
        ("::error title=A%3A b::c\n", "runs/1", "failure", "::error title=A%3A b::c\n"),
        ("", "runs/1", "success", ""),
        (None, "", "success", ""),
        (None, "", "failure", "::error title=Kafka conformance::Nothing was judged."),
        (None, "runs/1", "failure", "::error title=Kafka conformance::The run did not end."),
    ],
    ids=["failures", "conforms", "cancelled-later", "nothing-judged", "cut-off"],
)
def test_a_job_that_fails_has_an_annotation(
    tmp_path: Path, written: str | None, run: str, outcome: str, shown: str
) -> None:
    """Also if nothing was judged, so that there is no run of which errors could be told."""
    content = read(REPOSITORY / "action.yml")
    (script,) = (step["run"] for step in content["runs"]["steps"] if step.get("name") == "Annotate")
    file = tmp_path / "annotations"
    file.write_text(written or "")
    environment = {"OUTCOME": outcome, "RUN": run, "ANNOTATIONS": "" if written is None else str(file)}
    printed = subprocess.run(["bash", "-e", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.startswith(shown)
    assert bool(printed.stdout) == bool(shown)


def test_the_action_judges_by_the_newest_set_unless_it_is_told_otherwise() -> None:
    assert read(REPOSITORY / "action.yml")["inputs"]["clauses"]["default"] == newest_set().name


def test_wrong_lines_are_caught() -> None:
    """An action without a commit, and a title that anyone can choose in a script."""
    assert unpinned("      - uses: actions/checkout@v5\n") == ["uses: actions/checkout@v5"]
    assert FROM_OUTSIDE.search("echo ${{ github.event.pull_request.title }}")


def test_log_of_changes_is_of_every_listener() -> None:
    """A listener that is usual later is compared too."""
    (command,) = (
        step["run"]
        for step in read(GITHUB / "workflows" / "nightly.yml")["jobs"]["changes"]["steps"]
        if "kafka-conformance changes" in step.get("run", "")
    )
    assert re.findall(r"--listener (\S+)", command) == list(USUAL_LISTENERS)


def test_runs_are_kept_as_long_as_the_tables_show_them() -> None:
    """The nightly workflow keeps the runs of a night for as many days as its roll-up does."""
    days = re.findall(r"retention-days: (\d+)", (GITHUB / "workflows" / "nightly.yml").read_text())
    assert {int(number) for number in days} == {KEEP_DAYS}


def test_dependabot_looks_at_every_folder_with_pins() -> None:
    """Each folder with pins of an ecosystem is in an entry of it; versions of clients, which are judged, stay."""
    content: Mapping[str, Any] = YAML(typ="safe").load(GITHUB / "dependabot.yml")
    files = {"gomod": "go.mod", "npm": "package.json", "cargo": "Cargo.toml", "pip": "*.txt"}
    for ecosystem, name in files.items():
        entries = [each for each in content["updates"] if each["package-ecosystem"] == ecosystem]
        globs = [
            pattern.removeprefix("/")
            for each in entries
            for pattern in each.get("directories", [each.get("directory")])
        ]
        covered = {folder for pattern in globs for folder in REPOSITORY.glob(pattern)}
        for base in ("fixtures", "requirements", "tests"):
            found = (REPOSITORY / base).rglob(name)
            folders = {
                path.parent for path in found if name != "*.txt" or "requirements" in str(path.relative_to(REPOSITORY))
            }
            assert folders <= covered, ecosystem
        of_clients = [each for each in entries if "/fixtures/clients/*" in str(each)]
        assert [each["open-pull-requests-limit"] for each in of_clients] == [0]
