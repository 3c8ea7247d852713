"""What is missing is named before anything is started."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.utils import canonicalize_name

from clauses.exit_statuses import USAGE_ERROR
from conformance.__main__ import main
from conformance.commands.command_list import COMMANDS
from conformance.runs.needed_extras import check_clients_can_start, check_targets_can_start
from fixtures.launchers.built_in import reference_targets, scripted_target
from fixtures.registry.clients import RINGS, select_clients
from fixtures.registry.foreign_clients import ClientCommand, foreign_client
from fixtures.registry.model_clients import select_with_models
from fixtures.registry.targets import newest_release
from reference_model.clients.scripts.named_scripts import NAMED_SCRIPTS
from reports.command_line.extras import GRID, LEARNING, RELEASES, REPORTS, MissingExtra, check_extra, packages_of
from tests.conformance.suite_runs import REPOSITORY
from tests.missing_packages import packages_needed, without_packages


def test_sentence_says_what_needs_the_extra_and_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    without_packages(monkeypatch, "kazoo")
    with pytest.raises(MissingExtra) as caught:
        check_targets_can_start("judge", [newest_release()])
    assert caught.value.message == (
        f"judge {newest_release().id} needs kafka-conformance[releases]: "
        f"{sys.executable} -m pip install 'kafka-conformance[releases]'"
    )
    assert caught.value.exit_code == USAGE_ERROR


def test_client_that_has_to_be_installed_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    without_packages(monkeypatch, "pip")
    first, *_ = select_clients(["*"], RINGS)
    with pytest.raises(MissingExtra, match=rf"judge --client {first.id} needs kafka-conformance\[releases\]"):
        check_clients_can_start("judge", [first])


def test_what_the_suite_plays_itself_needs_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    without_packages(monkeypatch, *packages_of(RELEASES))
    check_targets_can_start("judge", [reference_targets()[0], scripted_target(next(iter(NAMED_SCRIPTS.values())))])
    own = foreign_client(ClientCommand(text=f"{sys.executable} client.py {{bootstrap}}"))
    check_clients_can_start("judge", [own, *select_with_models(["model"], RINGS)])


def test_installed_extra_is_no_error() -> None:
    for extra in (GRID, LEARNING, RELEASES, REPORTS):
        check_extra(extra, "this test")


def test_extra_has_the_packages_of_the_extras_in_it() -> None:
    assert {*packages_of(GRID)} > {*packages_of(REPORTS)}
    assert {*packages_of("all")} == {
        package for extra in (GRID, "images", LEARNING, RELEASES, REPORTS) for package in packages_of(extra)
    }


@pytest.mark.parametrize("name", [name for name, listed in COMMANDS.items() if listed.extras])
def test_command_names_the_extra_without_which_it_can_do_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (extra,) = COMMANDS[name].extras
    without_packages(monkeypatch, *packages_of(extra))
    ended = CliRunner().invoke(main, [name, "--help"])
    assert ended.exit_code == USAGE_ERROR
    assert ended.output.startswith(f"Error: {name} needs kafka-conformance[{extra}]: ")


def test_command_names_the_extra_that_its_target_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    without_packages(monkeypatch, "docker")
    ended = CliRunner().invoke(main, ["start", "apache-kafka-4.4.0"])
    assert ended.exit_code == USAGE_ERROR
    assert ended.output.startswith("Error: start apache-kafka-4.4.0 needs kafka-conformance[releases]: ")


def test_earlier_measurement_needs_what_checks_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (file := tmp_path / "needs.json").write_text("{}")
    without_packages(monkeypatch, "jsonschema")
    ended = CliRunner().invoke(main, ["needs", "kafka-python-3.0.12", "--scripted", "--earlier", str(file)])
    assert ended.exit_code == USAGE_ERROR
    assert ended.output.startswith("Error: needs --earlier needs kafka-conformance[reports]: ")


WITHOUT = """
import importlib, sys
from importlib import metadata
import kafka_conformance

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"{{name}} is not installed")

sys.meta_path.insert(0, Missing())
found = metadata.distribution

def distribution(name):
    if name in {packages}:
        raise metadata.PackageNotFoundError(name)
    return found(name)

metadata.distribution = distribution
"""
"""A program in which some modules are missing, to be followed by what it does."""


def only_in_extras() -> set[str]:
    """Return the modules that only extras bring."""
    base = packages_needed("kafka-conformance")
    extra = packages_needed(*packages_of("all")) - base
    return {
        module
        for module, packages in packages_distributions().items()
        if {*map(canonicalize_name, packages)} & extra and not {*map(canonicalize_name, packages)} & base
    }


def output_without_extras(program: str, *arguments: str, cwd: Path) -> str:
    """Run a program for which no extra is installed, and return what it prints."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            WITHOUT.format(missing=only_in_extras(), packages={*packages_of("all")}) + program,
            *arguments,
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_only_what_no_address_needs_is_in_extras() -> None:
    assert only_in_extras() >= {
        "aalpy",
        "docker",
        "jgo",
        "jsonschema",
        "kazoo",
        "numpy",
        "pyarrow",
        "pyspark",
        "requests",
    }


def test_commands_that_name_no_extra_are_there_without_any() -> None:
    modules = [listed.module for listed in COMMANDS.values() if not listed.extras]
    program = "print([importlib.import_module(name).__name__ for name in sys.argv[1:]])"
    assert output_without_extras(program, *modules, cwd=REPOSITORY) == f"{modules}\n"


def test_command_is_not_imported_before_its_extra_is_checked() -> None:
    program = """
try:
    kafka_conformance.main()
except SystemExit as end:
    print(end.code)
"""
    assert output_without_extras(program, "summary", "runs", cwd=REPOSITORY) == f"{USAGE_ERROR}\n"


@pytest.mark.parametrize(
    "what",
    [
        ["localhost:9092"],
        ["reference"],
        ["--client", "model"],
        ["--client-cmd", f"{sys.executable} client.py {{bootstrap}}"],
    ],
    ids=["address", "reference", "model", "command"],
)
def test_these_runs_begin_without_extras(what: list[str], tmp_path: Path) -> None:
    options = ("--tier", "smoke", "--collect-only", "-q", "-p", "no:allure_pytest")
    assert "test_" in output_without_extras("kafka_conformance.main()", "judge", *what, *options, cwd=tmp_path)


def test_broker_is_judged_without_extras(tmp_path: Path) -> None:
    # Pytest would load this plugin, which is installed here.
    only = ("--tier", "smoke", "--listener", "plaintext", "-k", "tags_in_answers_ascend", "-p", "no:allure_pytest")
    program = "kafka_conformance.main()"
    printed = output_without_extras(program, "judge", "reference", *only, cwd=tmp_path)
    assert "records: runs/" in printed
    (examples,) = tmp_path.glob("runs/*/examples/*.parquet")
    assert examples.stat().st_size > 0
