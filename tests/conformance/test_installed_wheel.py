"""The wheel works in another project whose packages have our names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from reports.run.run_writer import code_sha256
from tests.conformance.suite_runs import REPOSITORY
from tests.missing_packages import packages_needed

pytestmark = pytest.mark.slow

TIME_LIMIT_S = 300
THEIRS = ("clauses", "conformance", "conftest", "fixtures", "reports", "wire")
"""Modules of the other project, in its environment and in its folder."""
SHOWS_ITS_PATH = """
import json, os, sys
with open("theirs/seen.json", "w") as seen:
    json.dump([sys.path, os.environ.get("PYTHONPATH"), "PYTHONSAFEPATH" in os.environ], seen)
"""


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
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder))
    run(sys.executable, "-m", "pip", *build, REPOSITORY, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def pinned_in(requirements: str) -> list[str]:
    """Return the packages that a requirements file pins for this machine."""
    lines = (REPOSITORY / "requirements" / requirements).read_text("utf-8").splitlines()
    pinned = [Requirement(line.rstrip(" \\")) for line in lines if line[:1].isalnum()]
    return [each.name for each in pinned if each.marker is None or each.marker.evaluate()]


def environment(folder: Path, wheel: Path, requirements: Iterable[str]) -> Path:
    """Return the programs of a new environment with the wheel and some packages.

    Installing the packages takes a minute, so the files of those that run this test are linked.
    """
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in requirements:
        link_distribution(name, packages)
    for name in THEIRS:
        (packages / f"{name}.py").write_text("ours = False\n", encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
    run(*pip, "install", "-q", "--no-deps", wheel, cwd=folder)
    return folder / "bin"


def link_distribution(name: str, packages: Path) -> None:
    """Link the files and folders of an installed distribution into another environment."""
    installed = distribution(name)
    # An old pip installs from a source archive without a list of what it installs: its metadata is found by name.
    tops = {file.parts[0] for file in installed.files or ()} | {f"{name}-{installed.version}.egg-info"}
    for top in tops - {"..", "__pycache__"}:
        source = Path(str(installed.locate_file(top)))
        if source.exists() and not (packages / top).exists():
            (packages / top).symlink_to(source)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The programs of an environment that can also make grids."""
    return environment(tmp_path_factory.mktemp("installed"), wheel, pinned_in("run.txt"))


@pytest.fixture(scope="module")
def few_programs(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The programs of an environment without Spark and pandas."""
    return environment(tmp_path_factory.mktemp("judging"), wheel, pinned_in("judge.txt"))


@pytest.fixture(scope="module")
def fewest_programs(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The programs of an environment without any extra, as `pip install kafka-conformance` makes it."""
    packages = packages_needed("kafka-conformance") - {"kafka-conformance"}
    return environment(tmp_path_factory.mktemp("bare"), wheel, packages)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of the other project; importing any of its modules fails."""
    for name in THEIRS:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('theirs')\n", encoding="utf-8")
    return tmp_path


@contextmanager
def reference_broker(programs: Path, cwd: Path) -> Iterator[str]:
    """Start the installed reference broker; yield its address."""
    with subprocess.Popen(
        [programs / "kafka-conformance", "reference-broker"],
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


def test_wheel_brings_one_name(wheel: Path, few_programs: Path, project: Path) -> None:
    """Everything is below one package, without tests and workflows, and other packages stay what they are."""
    names = ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"kafka_conformance"}
    assert {name.split("/")[2] for name in names if "/suite/" in name} == {
        *("clauses", "conformance", "conftest.py", "drivers", "fixtures", "pyproject.toml"),
        *("proposals", "reference_model", "reports", "spark_aggregation", "strategies", "upgrade", "vectors", "wire"),
    }
    imports = "".join(f"import {name}; assert not {name}.ours\n" for name in THEIRS)
    run(few_programs / "python", "-P", "-c", imports, cwd=project)


def test_wheel_without_extras_judges_a_broker_from_any_folder(fewest_programs: Path, project: Path) -> None:
    """Every planned cell is judged, all files are written to the current folder, and the code is the repository's."""
    installed = files_of(fewest_programs.parent)
    command = fewest_programs / "kafka-conformance"
    with reference_broker(fewest_programs, project) as address:
        printed = run(command, "judge", address, "--tier", "smoke", cwd=project)
    assert files_of(fewest_programs.parent) == installed
    (folder,) = (project / "runs").iterdir()
    header = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert f"records: runs/{folder.name}" in printed
    assert header["whole"]
    assert header["suite"]["code_sha256"] == code_sha256()


def test_wheel_without_extras_finds_a_planted_defect_again(fewest_programs: Path, project: Path) -> None:
    """The failure has its bytes as text, script and capture, and is judged again."""
    command = fewest_programs / "kafka-conformance"
    only = ("--tier", "smoke", "--listener", "plaintext", "-k", "tags_in_answers_ascend")
    run(command, "judge", "reference+tags-descend", *only, cwd=project, status=1)
    (failure,) = project.glob("runs/*/failures/*")
    assert {"reproducer.py", "exchange.pcap"} <= {path.name for path in failure.iterdir()}
    assert "still fails" in run(command, "replay", failure, cwd=project, status=1)


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        ("judge apache-kafka-4.4.0", "releases"),
        ("judge --client kafka-python-3.0.12", "releases"),
        ("start apache-kafka-4.4.0", "releases"),
        ("learn reference", "learning"),
        ("summary runs", "reports"),
        ("grid runs", "grid"),
    ],
)
def test_missing_extra_names_itself(arguments: str, extra: str, fewest_programs: Path, project: Path) -> None:
    printed = run(fewest_programs / "kafka-conformance", *arguments.split(), cwd=project, status=4)
    subject = arguments.removesuffix(" runs").removesuffix(" reference")
    assert printed.startswith(f"Error: {subject} needs kafka-conformance[{extra}]: ")
    assert printed.count("\n") == 1


@pytest.mark.nightly  # Two runs, and Spark starts
def test_wheel_does_what_the_checkout_does(programs: Path, project: Path) -> None:
    """A failure of a broker that the suite starts is judged again, comes to a grid, and its defect is caught in
    memory."""
    command = programs / "kafka-conformance"
    judge = ("judge", "reference+tags-descend", "--tier", "smoke", "-k", "tags_in_answers_ascend")
    run(command, *judge, "--listener", "plaintext", cwd=project, status=1)
    (failure,) = project.glob("runs/*/failures/*")
    assert "still fails" in run(command, "replay", failure, cwd=project, status=1)
    run(command, "grid", "runs", "--out", "report", cwd=project)
    assert (project / "report" / "index.html").exists()
    caught = run(command, "mutation", "--in-memory-only", "--quick", "tags-descend", cwd=project)
    assert re.search(r"tags-descend", caught)


def test_judged_clients_do_not_see_the_suite(programs: Path, project: Path) -> None:
    """The model client is judged, and a program of the user's gets neither our paths nor our settings of Python."""
    command = programs / "kafka-conformance"
    judge = ("judge", "--client", "model", "--tier", "smoke", "-k", "refused_name")
    run(command, *judge, cwd=project)
    theirs = project / "theirs"
    theirs.mkdir()
    (theirs / "client.py").write_text(SHOWS_ITS_PATH, encoding="utf-8")
    client = f"{programs / 'python'} theirs/client.py {{bootstrap}}"
    run(command, "judge", "--client-cmd", client, "--client-check", cwd=project, status=11)
    path, own, is_safe = json.loads((theirs / "seen.json").read_text(encoding="utf-8"))
    assert not any("kafka_conformance" in folder for folder in path)
    assert (own, is_safe) == (None, False)
