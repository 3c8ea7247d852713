"""The suite works without a proposal whose folder is deleted.

Nothing of the proposal remains.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proposals import FOLDER, Proposal, proposals
from tests.conformance.suite_runs import REPOSITORY

NOT_COPIED = shutil.ignore_patterns(
    *(".git", ".hypothesis", ".*_cache", ".nox", ".venv", "__pycache__", "dist", "report", "*.pyc")
)
ABOUT_PROPOSALS = (
    *("tests/conformance/test_client_properties.py", "tests/documents/test_documents.py"),
    "tests/reference_model/clients/test_scripted_connection.py",
)
"""Tests that name what there is only with proposals: needs, commands and versions."""
WHAT_IS_THERE = """
import json, pathlib, sys
from clauses.catalogue import catalogue
from conformance.commands.command_list import COMMANDS
from conformance.commands.explain import PLANTED
from conformance.commands.mutation import SUBJECTS
from conformance.roles.client import NEEDS as CLIENT_NEEDS
from conformance.roles.broker import NEEDS
from conformance.mutation.properties import all_properties, client_properties
from fixtures.launchers.built_in import reference_targets
from fixtures.under_test.in_memory_client import play_in_memory
from reference_model.clients.scripts.script import HEALTHY_SCRIPT
from tests.clauses.properties import properties_in
from tests.reports.site.sites import write_small_site

site = write_small_site(pathlib.Path(sys.argv[1]))
print(json.dumps({
    "modules": sorted(name for name in sys.modules if name.startswith("proposals.")),
    "clauses": [clause.id for clause in catalogue()],
    "properties": [*all_properties(), *client_properties()],
    "judged": [clause for each in properties_in() for clause in each.clauses],
    "needs": [*NEEDS, *CLIENT_NEEDS],
    "models": [*SUBJECTS, *PLANTED],
    "commands": [*COMMANDS],
    "client": [play_in_memory(HEALTHY_SCRIPT).result.outcome],
    "targets": [target.id for target in reference_targets()],
    "pages": [path.name for path in site.glob("*.html")],
    "rules": (site / "rules.html").read_text(),
}))
"""


def copied_without(proposal: Proposal, folder: Path) -> None:
    """Copy the repository without a proposal, and write the documents that follow from code again."""
    gone = FOLDER / proposal.package.rpartition(".")[2]

    def ignored(path: str, names: list[str]) -> set[str]:
        runs = {"runs"} if Path(path) == REPOSITORY else set()
        return NOT_COPIED(path, names) | runs | {each for each in names if Path(path, each) == gone}

    shutil.copytree(REPOSITORY, folder, ignore=ignored, dirs_exist_ok=True)
    run_in(folder, "-m", "workflows.documents")


def run_in(folder: Path, *arguments: str) -> str:
    """Run Python in a copy of the repository; return what it printed."""
    command = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow  # It imports most of the suite again, and writes a site
@pytest.mark.parametrize("proposal", proposals(), ids=lambda proposal: proposal.source)
def test_suite_works_without_a_proposal(proposal: Proposal, tmp_path: Path) -> None:
    """Catalogue, properties, mutation, commands, targets and site have nothing of it, and everything else."""
    copied_without(proposal, tmp_path)
    found = json.loads(run_in(tmp_path, "-c", WHAT_IS_THERE, str(tmp_path / "site")).splitlines()[-1])
    assert not any(name.startswith(proposal.package) for name in found["modules"])
    assert [each for each in (*found["clauses"], *found["judged"]) if proposal.source in each] == []
    assert len(found["clauses"]) > 100
    assert len(found["properties"]) > 100
    assert set(found["judged"]) <= set(found["clauses"])
    assert not set(proposal.commands) & set(found["commands"])
    assert "judge" in found["commands"]
    assert found["client"] == ["ok"]
    assert proposal.model not in found["models"]
    assert "reference" in found["models"]
    assert not {f"reference+{name}" for name in proposal.brokers} & set(found["targets"])
    needs = {name for needs in proposal.load(proposal.needs).values() for name in needs} if proposal.needs else set()
    assert not needs & set(found["needs"])
    assert not proposal.page or proposal.load(proposal.page).address not in found["pages"]
    assert "index.html" in found["pages"]
    assert proposal.source not in found["rules"]
    run_in(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ABOUT_PROPOSALS)
