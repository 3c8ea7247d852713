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

from conformance.vectors.results import checked_results
from conformance.vectors.vector_set import FOLDER, RESPONSES, load_vectors
from fixtures.client_processes.installation import installed
from fixtures.registry.clients import RINGS, select_clients

EXAMPLES = FOLDER / "examples"
MAX_LINES = 200
LIMIT_S = 900
SOURCES = ("*.go", "*.java", "*.js", "*.py", "*.rs")


def run(command: Sequence[str], folder: Path, variables: Mapping[str, str], results: Path) -> str:
    """Run an example; return what it printed."""
    environment = {**os.environ, **variables, "VECTORS": str(FOLDER), "RESULTS": str(results)}
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
    for path in sources:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES, path


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
