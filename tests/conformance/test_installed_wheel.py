"""The wheel judges a broker from an empty folder, in an environment that has only what judging needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reports.run.run_writer import code_sha256
from tests.conformance.suite_runs import REPOSITORY

pytestmark = pytest.mark.slow

TIME_LIMIT_S = 300
NOT_IN_THE_WHEEL = ("benchmarks", "tests", "workflows")


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    """Run a command outside the repository; return what it printed."""
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    finished = subprocess.run(
        command,
        cwd=cwd,
        env={**outside, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert finished.returncode == status, finished.stdout
    return finished.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel and `requirements/judge.txt`."""
    folder = tmp_path_factory.mktemp("installed")
    build = ("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder))
    run(sys.executable, "-m", "pip", *build, REPOSITORY, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    pins = REPOSITORY / "requirements" / "judge.txt"
    run(
        programs / "pip",
        *["install", "-q", "--no-deps", "--require-hashes", "-r"],
        pins,
        cwd=folder,
    )
    run(programs / "pip", "install", "-q", "--no-deps", wheel, cwd=folder)
    return programs


@contextmanager
def reference_broker(programs: Path, cwd: Path) -> Iterator[str]:
    """Start the installed reference broker; yield its address."""
    with subprocess.Popen(
        [programs / "python", "-P", "-m", "reference_model.server"],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as broker:
        assert broker.stdout is not None
        ports = json.loads(broker.stdout.readline())
        yield f"localhost:{ports['plaintext']}"
        broker.terminate()


def files_of(folder: Path) -> dict[Path, int]:
    """Return when each file below a folder was changed."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_wheel_judges_a_broker_from_an_empty_folder(programs: Path, tmp_path: Path) -> None:
    """Every planned cell is judged, all files are written to the current folder, and the code is the repository's."""
    installed = files_of(programs.parent)
    with reference_broker(programs, tmp_path) as address:
        printed = run(
            programs / "kafka-conformance", "judge", address, "--tier", "smoke", cwd=tmp_path
        )
    assert files_of(programs.parent) == installed
    (folder,) = (tmp_path / "runs").iterdir()
    header = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert f"records: runs/{folder.name}" in printed
    assert header["whole"]
    assert header["suite"]["code_sha256"] == code_sha256()


def test_wheel_judges_what_it_starts_itself(programs: Path, tmp_path: Path) -> None:
    """A target of the registry is started and judged, directly or by `matrix`, in the environment's own suite."""
    defect = ("reference+tags-descend", "--tier", "smoke")
    judge = (programs / "kafka-conformance", "judge", *defect, "--listener", "plaintext")
    run(*judge, cwd=tmp_path, status=1)
    run(programs / "kafka-conformance", "matrix", *defect, "--runs", "all", cwd=tmp_path, status=1)
    assert len(list(tmp_path.glob("*/*/run.json"))) == 2


def test_grid_says_what_to_install(programs: Path, tmp_path: Path) -> None:
    """Without Spark there is one sentence and the status of wrong usage."""
    printed = run(
        *(programs / "kafka-conformance", "grid", "runs", "--out", "report"), cwd=tmp_path, status=2
    )
    assert printed.startswith("Error: this command needs numpy, pandas, pyspark, ")
    assert printed.count("\n") == 1


def test_wheel_has_no_development_code(programs: Path, tmp_path: Path) -> None:
    """Tests, benchmarks and workflows stay in the repository."""
    find = f"import importlib.util; print([name for name in {NOT_IN_THE_WHEEL} if importlib.util.find_spec(name)])"
    assert run(programs / "python", "-c", find, cwd=tmp_path).strip() == "[]"
