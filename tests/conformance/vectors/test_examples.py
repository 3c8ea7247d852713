"""Tests of the examples that read the vectors in other languages.

Their libraries come from their registries.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from conformance.vectors.results import CheckedResults, checked_results
from conformance.vectors.vector_set import FOLDER, PLAYS, RESPONSES, load_vectors
from fixtures.client_processes.installation import installed
from fixtures.registry.clients import RINGS, Client, select_clients
from fixtures.registry.model_clients import model_client
from workflows.findings_by_vector.player import PLAYER, build_player, play

EXAMPLES = FOLDER / "examples"
MAX_LINES = 200
MAX_PLAYER_LINES = 300
JUDGE = "judge.go"
"""What the player notes about a client; without it, the others still play every play."""
LIMIT_S = 900
SOURCES = ("*.go", "*.java", "*.js", "*.py", "*.rs")


def run(command: Sequence[str], folder: Path, variables: Mapping[str, str], results: Path | None = None) -> str:
    """Run an example; return what it printed."""
    environment = {**os.environ, **variables, "VECTORS": str(FOLDER), "RESULTS": str(results or "")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    return done.stdout + done.stderr


def files_of(client_id: str) -> Path:
    """Return the folder in which a client's library is installed."""
    (client,) = select_clients([client_id], RINGS)
    parts = map(Path, installed(client).prefix)
    return next(parent for part in parts for parent in part.parents if parent.name.startswith(client_id))


def assert_complete(results: Path, printed: str) -> None:
    """Fail unless an example has a result for every response, and none failed."""
    assert results.exists(), printed
    checked = checked_results(results.read_text(encoding="utf-8"), load_vectors(), [RESPONSES])
    assert (checked.problems, checked.missing, checked.failed) == ((), (), ()), printed
    assert checked.passed


def test_no_example_is_long() -> None:
    sources = [path for pattern in SOURCES for path in EXAMPLES.rglob(pattern)]
    assert sources
    for path in (each for each in sources if each.parent != PLAYER):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES, path


def test_the_player_of_plays_is_not_long() -> None:
    sources = [path for path in PLAYER.glob("*.go") if path.name != JUDGE]
    assert 0 < sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources) <= MAX_PLAYER_LINES


@pytest.mark.slow
def test_kafka_python_reads_every_response_that_it_knows(tmp_path: Path) -> None:
    (packages,) = (files_of("kafka-python-3.0.12") / "environment").glob("lib/python*/site-packages")
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "test_vectors.py"]
    printed = run(command, EXAMPLES / "python", {"PYTHONPATH": str(packages)}, results)
    assert_complete(results, printed)


@pytest.mark.slow
def test_kafkajs_reads_every_response_that_it_knows(tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node is not None
    results = tmp_path / "results.jsonl"
    variables = {"NODE_PATH": str(files_of("kafkajs-2.2.4") / "node_modules")}
    printed = run([node, "--test", "vectors.test.js"], EXAMPLES / "javascript", variables, results)
    assert_complete(results, printed)


@pytest.mark.slow
def test_kafka_clients_read_every_response_and_make_every_choice(tmp_path: Path) -> None:
    maven = shutil.which("mvn")
    assert maven is not None
    # Maven builds in the project's folder.
    project, results = tmp_path / "java", tmp_path / "results.jsonl"
    shutil.copytree(EXAMPLES / "java", project, ignore=shutil.ignore_patterns("target"))
    printed = run([maven, "--quiet", "--batch-mode", "test"], project, {}, results)
    assert_complete(results, printed)


@pytest.mark.slow
def test_franz_go_reads_every_response(tmp_path: Path) -> None:
    go = shutil.which("go")
    assert go is not None
    results = tmp_path / "results.jsonl"
    printed = run([go, "test", "./..."], EXAMPLES / "go", {"GOFLAGS": "-mod=readonly"}, results)
    assert_complete(results, printed)


# kafka-protocol reserves memory for as many features, or APIs, as a response announces, and ends the process.
ENDS_KAFKA_PROTOCOL = {f"KIP-35.client-survives-nonsense-{each}" for each in ("65fd0b", "867229", "dcba2d", "fe52f5")}


@pytest.mark.slow
def test_kafka_protocol_reads_every_response_but_those_that_announce_too_much(tmp_path: Path) -> None:
    cargo = shutil.which("cargo")
    assert cargo is not None
    results = tmp_path / "results.jsonl"
    command = [cargo, "test", "--locked", "--quiet", "--", "--nocapture"]
    printed = run(command, EXAMPLES / "rust", {"CARGO_TARGET_DIR": str(tmp_path / "target")}, results)
    assert results.exists(), printed
    checked = checked_results(results.read_text(encoding="utf-8"), load_vectors(), [RESPONSES])
    assert (checked.problems, checked.missing) == ((), ()), printed
    assert set(checked.failed) == ENDS_KAFKA_PROTOCOL, printed
    assert checked.passed


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built player of plays."""
    return build_player(tmp_path_factory.mktemp("player"))


def played(player: Path, client: Client, *ids: str) -> tuple[CheckedResults, str]:
    """Play to a client, only some plays if ids are given; return the results and what was printed."""
    printed = play(player, client, ids)
    return checked_results(printed, load_vectors(), [PLAYS]), printed


@pytest.mark.slow
def test_the_player_passes_the_model_client_in_every_play_without_options(player: Path) -> None:
    checked, printed = played(player, model_client())
    with_options = {each["id"] for each in load_vectors().vectors[PLAYS] if each["options"]}
    assert (checked.problems, checked.missing, checked.failed) == ((), (), ()), printed
    assert set(checked.skipped) == with_options


@pytest.mark.slow
def test_the_player_fails_a_client_that_sends_one_version_too_many(player: Path) -> None:
    own = "KIP-35.client-uses-overlap-7db653"
    checked, printed = played(player, model_client("one-version-too-many"), own)
    assert checked.failed == (own,), printed
    assert "API 3 v6 was sent although the table lists [[3 4 5]]" in printed


@pytest.mark.slow
def test_the_player_judges_a_real_client(player: Path) -> None:
    right, wrong = "KIP-511.client-errors-on-42-16a645", "KIP-511.client-uses-named-range-d95509"
    (client,) = select_clients(["kafka-python-3.0.12"], RINGS)
    checked, printed = played(player, client, right, wrong)
    assert (checked.passed, checked.failed) == (1, (wrong,)), printed
    assert "ApiVersions v4 was sent after a refusal, when one of [0 1 2 3] comes next" in printed
