"""The registry finds proposals by their folders, and imports parts on demand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import proposals
from conformance.roles.role import Need, with_proposed_needs
from proposals import Proposal, claimed, merged, proposed_brokers, proposed_commands, provided
from tests.conformance.suite_runs import REPOSITORY

BARE = Proposal(package="proposals")
TOY = "tests.proposals.toy.kip_9999"
WITH_PARTS = Proposal(
    package=TOY,
    commands={"try": ("commands.trying", "Try it.")},
    brokers={"kip-9999": "broker:PingBroker", "kip-9999-slow": "broker:make"},
    claims="messages:claims_proposal",
    apis="messages:APIS",
)
WITH_THE_TOY = """
import pathlib, sys
import proposals
proposals.__path__.append("tests/proposals/toy")
from tests.proposals.toy.parts import main
main(pathlib.Path(sys.argv[1]))
"""


@pytest.fixture
def two_proposals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be one proposal without any part, and one with some."""
    monkeypatch.setattr(proposals, "proposals", lambda: (BARE, WITH_PARTS))


def test_name_source_model_and_files_follow_from_the_folder() -> None:
    assert (WITH_PARTS.name, WITH_PARTS.source, WITH_PARTS.model) == ("kip-9999", "KIP-9999", "model-kip-9999")
    assert WITH_PARTS.clauses is not None
    assert WITH_PARTS.clauses.name == "kip_9999.toml"
    assert WITH_PARTS.properties("brokers").parts[-3:] == ("kip_9999", "properties", "brokers")
    assert (BARE.model, BARE.clauses) == ("", None)


@pytest.mark.usefixtures("two_proposals")
def test_parts_of_all_proposals_are_asked_for() -> None:
    """A proposal without a part is left out."""
    (apis,) = provided("apis")
    assert list(apis) == [9999]
    assert merged("apis") == apis
    assert list(provided("page")) == []
    assert proposed_brokers() == {"kip-9999": WITH_PARTS, "kip-9999-slow": WITH_PARTS}
    assert proposed_commands() == {"try": (f"{TOY}.commands.trying", "Try it.")}
    assert list(claimed({9999: 0})) == [WITH_PARTS]
    assert list(claimed({18: 5})) == []


def test_two_proposals_cannot_have_entries_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "proposals", lambda: (WITH_PARTS, WITH_PARTS))
    with pytest.raises(ValueError, match="apis of the same name"):
        merged("apis")
    with pytest.raises(ValueError, match="commands of the same name: try"):
        proposed_commands()
    with pytest.raises(ValueError, match="brokers of the same name: kip-9999, kip-9999-slow"):
        proposed_brokers()


def test_two_proposals_cannot_have_needs_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with_needs = Proposal(package=TOY, needs="needs:NEEDS")
    monkeypatch.setattr(proposals, "proposals", lambda: (with_needs, with_needs))
    with pytest.raises(ValueError, match="needs of the same name: a_driver"):
        with_proposed_needs("clients", {})


def test_a_proposal_cannot_take_the_name_of_a_need_of_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "proposals", lambda: (Proposal(package=TOY, needs="needs:NEEDS"),))
    of_suite = {"a_driver": Need(bool, "the suite has no driver")}
    with pytest.raises(
        ValueError, match="two needs of the same name: a_driver; a proposal has to use names that are free"
    ):
        with_proposed_needs("clients", of_suite)
    assert list(with_proposed_needs("brokers", of_suite)) == ["a_driver", "ping"]


@pytest.mark.slow  # It imports most of the suite again, and writes a site
def test_another_proposal_needs_no_other_parts(tmp_path: Path) -> None:
    """A toy is judged, listed and shown next to the proposals that there are, by its `PROPOSAL` alone."""
    command = [sys.executable, "-c", WITH_THE_TOY, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY, env=environment)
    assert run.returncode == 0, run.stderr
    parts = json.loads(run.stdout)
    role_folders = {Path(folder).name for folder in parts.pop("role_folders")}
    assert role_folders == {"brokers", "clients"}
    assert parts == {
        "clauses": ["KIP-9999.ping-listed", "KIP-9999.ping-only-if-listed"],
        "url": "https://cwiki.apache.org/confluence/display/KAFKA/KIP-9999%3A+Ping",
        "plain": ["KIP-9999.ping-listed"],
        "superseded": "KIP-9999, a proposal, lists Ping twice",
        "explained": ["test_ping.py::test_ping_is_listed_from_v0: A broker that lists Ping lists its v0."],
        "command": [f"{TOY}.command", "Say pong.", []],
        "needs": "there is no driver",
        "target": ["reference+kip-9999"],
        "serves": "PingBroker",
        "drawn": "{'pings': Pings(count=2)}",
        "broker": {"": False, "ping-begins-with-v1": True},
        "client": {"": False, "never-pings": True},
        "page": "pong",
        "link": True,
        "table": True,
    }
