"""The shell steps of `nightly.yml` run here unchanged.

Two jobs judge, one rolls up, and issues are opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.conformance.suite_runs import REPOSITORY
from tests.workflows.fake_gh import FakeGh

NIGHTLY = REPOSITORY / ".github" / "workflows" / "nightly.yml"
TARGETS = "reference reference+tags-descend"
VIOLATED = "KIP-482.tags-ascending-in-answers"


def step_of(job: str, words: str) -> str:
    """Return the script of the job's step that contains some words."""
    content: Mapping[str, Any] = YAML(typ="safe").load(NIGHTLY)
    scripts = [step.get("run", "") for step in content["jobs"][job]["steps"]]
    (found,) = [str(script) for script in scripts if words in script]
    return found


class Runner:
    """A hosted runner as the steps see it: a working folder, variables and programs."""

    def __init__(self, folder: Path, gh: FakeGh) -> None:
        """Start in an empty folder, which is created, with a fake of GitHub's client."""
        self.folder = folder
        folder.mkdir()
        self.outputs = folder / "outputs"
        self.summary = folder / "summary"
        programs = Path(sys.executable).parent
        self._environment = {
            **os.environ,
            "PATH": f"{gh.folder}:{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "GITHUB_OUTPUT": str(self.outputs),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_REPOSITORY": "some/one",
            "GITHUB_REF_NAME": "main",
            "CI": "true",
        }

    def run(self, script: str, *, status: int = 0, **variables: str) -> str:
        """Run a step and return what it printed; it must end with `status`."""
        finished = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self._environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == status, finished.stdout + finished.stderr
        return finished.stdout


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner whose GitHub has no history and no issue yet."""
    gh = FakeGh(
        tmp_path / "bin",
        {
            "api repos/some/one/actions/artifacts?name=history&per_page=100": {"artifacts": []},
            "issue list": [],
            "label create": "",
            "issue create": "https://example.org/issues/7",
        },
    )
    return Runner(tmp_path / "work", gh)


def judge(runner: Runner, shard: str) -> None:
    """Run one job of the matrix. Its artefact becomes a folder of its own, as when all are downloaded."""
    script = step_of("judge", "kafka-conformance matrix")
    runner.run(script, TARGETS=TARGETS, SHARD=shard, TIER="smoke", LAUNCHER="auto", OPTION="")
    runner.run(f"mkdir -p all && mv runs all/runs-{shard[0]}")


def test_a_night_is_planned(runner: Runner) -> None:
    """The plan's step sets the outputs that the other jobs read."""
    runner.run(step_of("plan", "night_plan"), SHARDS="3", ALSO="")
    outputs = dict(re.findall(r"^(\w+)<<\S+\n(.*)\n", runner.outputs.read_text(), re.MULTILINE))
    rows = json.loads(outputs["matrix"])["include"]
    assert [row["name"].partition("-")[0] for row in rows] == [
        "containers",
        "containers",
        "containers",
        "packages",
        "clients",
        "operations",
    ]
    assert {"apache-kafka-4.4.0", "confluent-kafka-2.16.1"} <= set(outputs["targets"].split())


@pytest.mark.slow
@pytest.mark.nightly  # Two runs, and Spark starts twice
@pytest.mark.timeout(1200)  # On a busy machine that took four minutes
def test_a_night_goes_from_its_shards_to_issues(runner: Runner) -> None:
    """Two shards, roll-up, a second night on top, hashes, issues: each step uses the output of the one before."""
    judge(runner, "1/2")
    judge(runner, "2/2")
    runner.run("mv all runs")
    plan = json.dumps({"include": [{"name": str(n + 1), "judged": id_} for n, id_ in enumerate(TARGETS.split())]})
    runner.run(step_of("whole", "night_result"), TARGETS=TARGETS)
    assert "2 of 2 planned targets were judged" in runner.summary.read_text()
    runner.run(step_of("whole", "night_result"), TARGETS=f"{TARGETS} missing-target", status=1)

    assert "a new one begins" in runner.run(step_of("roll-up", "earlier_history"))
    runner.run(step_of("roll-up", "night_roll_up"), PLAN=plan)
    first = {path.name for path in (runner.folder / "runs").glob("*/*") if path.is_dir()}
    assert len(first) == 2
    assert_history_knows(runner, first)

    # The next night gets only the archive, as downloaded from the artefact, and no new runs: its grid is the same.
    before = (runner.folder / "site" / "grid.csv").read_text()
    runner.run("rm -r kept/history site")
    runner.run(step_of("roll-up", "night_roll_up"), PLAN=plan)
    assert (runner.folder / "site" / "grid.csv").read_text() == before
    assert_hashes_hold(runner.folder / "site")

    script = step_of("issues", "new_issues")
    opened = runner.run(script, PAGE="https://example.org/grid/")
    summary = opened + runner.summary.read_text()
    assert f"opened [{VIOLATED} on reference+tags-descend]" in summary


def assert_history_knows(runner: Runner, runs: set[str]) -> None:
    """The archive contains a history, and the site shows the night's runs."""
    with tarfile.open(runner.folder / "kept" / "history.tar") as archive:
        assert any(name.startswith("history/") for name in archive.getnames())
    shown = (runner.folder / "site" / "grid.json").read_text()
    assert all(run in shown for run in runs)


def assert_hashes_hold(site: Path) -> None:
    """The list names every published file with its hash."""
    lines = (site / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    assert {"index.html", "grid.json"} <= listed.keys()
    for name, digest in listed.items():
        assert hashlib.sha256((site / name).read_bytes()).hexdigest() == digest
