"""Tests of the program that `action.yml` runs.

It turns inputs into options of the suite, and a run into outputs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from fixtures.registry.targets import BROKERS_FOLDER, load_target
from reports.command_line.distribution import COMMIT_VARIABLE
from tests.conformance.suite_runs import REPOSITORY
from workflows.judge import (
    IMAGE_TARGET,
    WrongInput,
    command_config,
    image_entry,
    judge,
    suite_environment,
    suite_options,
)

WORKSPACE = "/somewhere/project"


def options(**inputs: str) -> list[str]:
    """Return the suite's options for these inputs, without the folder of runs."""
    given = {f"INPUT_{name.upper()}": value for name, value in inputs.items()}
    chosen = suite_options({"GITHUB_WORKSPACE": WORKSPACE, **given})
    assert chosen[-2:] == ["--runs", f"{WORKSPACE}/kafka-conformance-runs"]
    return chosen[:-2]


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"bootstrap_server": "localhost:9092"}, ["--bootstrap-server", "localhost:9092"]),
        (
            {"bootstrap_server": "SSL://a:1 SASL_SSL://a:2", "bootstrap_controller": "c:3"},
            [
                *("--bootstrap-server", "SSL://a:1", "--bootstrap-server", "SASL_SSL://a:2"),
                *("--bootstrap-controller", "c:3"),
            ],
        ),
        (
            {"kafka_home": "core/build/kafka", "like": "apache-kafka-4.4.0", "read_only": "true"},
            [
                *("--kafka-home", f"{WORKSPACE}/core/build/kafka"),
                *("--like", "apache-kafka-4.4.0", "--read-only"),
            ],
        ),
        ({"broker": "a-1 b-*"}, ["--broker", "a-1", "--broker", "b-*"]),
        ({"image": "some/broker:1"}, ["--broker", IMAGE_TARGET, "--launcher", "container"]),
        (
            {"broker": "a", "tier": "smoke", "listener": "ssl", "strict_should": "true"},
            ["--broker", "a", "--tier", "smoke", "--listener", "ssl", "--strict-should"],
        ),
        (
            {"broker": "a", "expectations": "ci/known.toml", "strict_should": "false"},
            ["--broker", "a", "--expectations", f"{WORKSPACE}/ci/known.toml"],
        ),
        ({"broker": "a", "clauses": "0.1"}, ["--broker", "a", "--clauses", "0.1"]),
        ({"broker": "a", "baseline": "ci/known.txt"}, ["--broker", "a", "--baseline", f"{WORKSPACE}/ci/known.txt"]),
        (
            {"client_command": "./c {bootstrap}", "client_unconfined": "true"},
            ["--client-cmd", "./c {bootstrap}", "--client-unconfined"],
        ),
        (
            {"client_command": "./c {operation} {bootstrap}", "broker": "a b"},
            ["--broker", "a", "--broker", "b", "--client-cmd", "./c {operation} {bootstrap}"],
        ),
        (
            {"client_command": "./c {operation} {bootstrap}", "broker": "a", "client_falls_back": "consume commit"},
            [
                *("--broker", "a", "--client-cmd", "./c {operation} {bootstrap}"),
                *("--client-falls-back", "consume", "--client-falls-back", "commit"),
            ],
        ),
    ],
    ids=[
        "address",
        "secured-addresses",
        "build",
        "ids",
        "image",
        "options",
        "expectations",
        "clauses",
        "baseline",
        "client",
        "operations",
        "operations-with-fallback",
    ],
)
def test_inputs_become_options(inputs: dict[str, str], expected: list[str]) -> None:
    """Each input is one option of the suite, and paths are relative to the project's workspace."""
    assert options(**inputs) == expected


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"broker": "a", "image": "b"},
        {"broker": "a", "client_command": "./c {bootstrap}"},
        {"broker": "a", "strict_should": "yes"},
    ],
    ids=["nothing", "two-targets", "no-operation", "no-boolean"],
)
def test_inputs_that_do_not_fit_are_refused(inputs: dict[str, str]) -> None:
    """The action does not guess what to judge."""
    with pytest.raises(WrongInput):
        options(**inputs)


def test_an_image_becomes_a_registry_entry(tmp_path: Path) -> None:
    """The registry reads the inputs about an image unchanged, including quotes and line breaks."""
    inputs = {
        "INPUT_IMAGE": "some/broker:1",
        "INPUT_IMAGE_PORT": "19092",
        "INPUT_IMAGE_COMMAND": 'serve\n--name="a b"\n{address}',
        "INPUT_IMAGE_ENVIRONMENT": "LISTEN=0.0.0.0:19092\n\nOPTIONS=a=b",
    }
    path = tmp_path / "given.toml"
    path.write_text(image_entry(inputs))
    assert load_target(path).launchers["container"] == {
        "image": "some/broker:1",
        "port": 19092,
        "command": ("serve", '--name="a b"', "{address}"),
        "environment": {"LISTEN": "0.0.0.0:19092", "OPTIONS": "a=b"},
    }


def test_an_image_alone_is_enough() -> None:
    """The default port is 9092, and nothing else is set."""
    table = tomllib.loads(image_entry({"INPUT_IMAGE": "some/broker"}))["container"]
    assert table == {"image": "some/broker", "port": 9092}


@pytest.mark.parametrize("text", ["\N{GRINNING FACE}", "\x7f", '\x00\t"\\', "\uffff"])
def test_every_character_reaches_the_image(text: str) -> None:
    """TOML and JSON differ in how they write characters beyond the first 65,536, and DEL."""
    value = f"x{text}x"
    inputs = {
        "INPUT_IMAGE": value,
        "INPUT_IMAGE_COMMAND": value,
        "INPUT_IMAGE_ENVIRONMENT": f"{value}={value}",
    }
    table = tomllib.loads(image_entry(inputs))["container"]
    assert (table["image"], table["command"]) == (value, [value])
    assert table["environment"] == {value: value}


@pytest.mark.parametrize(
    "inputs",
    [
        {"INPUT_IMAGE_PORT": "kafka"},
        {"INPUT_IMAGE_ENVIRONMENT": "LISTEN"},
        {"INPUT_IMAGE_COMMAND": os.fsdecode(b"\xff")},
    ],
    ids=["port", "environment", "no-utf-8"],
)
def test_a_wrong_input_about_an_image_is_refused(inputs: dict[str, str]) -> None:
    """The message names the input."""
    with pytest.raises(WrongInput, match=r"the input image-|is not UTF-8"):
        image_entry({"INPUT_IMAGE": "some/broker", **inputs})


@pytest.mark.parametrize(("ref", "commit"), [("a" * 40, "a" * 40), ("v1", None), ("", None)])
def test_commit_in_the_records_is_the_suites_own(ref: str, commit: str | None) -> None:
    """The suite's commit is known only if the action is pinned by a commit."""
    assert suite_environment({"GITHUB_ACTION_REF": ref}).get(COMMIT_VARIABLE) == commit


@pytest.mark.slow
@pytest.mark.parametrize(("target", "status"), [("reference+tags-descend", 1), ("nothing-1", 4)])
def test_action_judges_and_says_what_came_of_it(tmp_path: Path, target: str, status: int) -> None:
    """The step ends with the suite's exit status and leaves outputs and a summary, even if it judged nothing."""
    outputs, summary = tmp_path / "outputs", tmp_path / "summary"
    environment = {
        **os.environ,
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(tmp_path),
        "INPUT_BROKER": target,
        "INPUT_LISTENER": "plaintext",
        "INPUT_TIER": "smoke",
        "PYTEST_ADDOPTS": "-k tags_in_answers",
    }
    command = [sys.executable, "-m", "workflows.judge"]
    finished = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert finished.returncode == status, finished.stdout + finished.stderr
    values = dict(re.findall(r"^(\w+)<<\S+\n(.*)\n", outputs.read_text(), re.MULTILINE))
    assert values["status"] == str(status)
    if status == 4:
        assert "judged nothing; its exit status is 4" in summary.read_text()
    else:
        assert f"Exit status: {status}" in summary.read_text()
        assert (Path(values["run"]) / "run.json").is_file()
        assert Path(values["summary"]).read_text() in summary.read_text()
        assert (
            Path(values["annotations"]).read_text().startswith("::error title=MUST KIP-482.tags-ascending-in-answers")
        )
        assert '<testsuites name="Kafka conformance" tests="' in Path(values["junit"]).read_text()
    assert not (BROKERS_FOLDER / f"{IMAGE_TARGET}.toml").exists()


def test_suite_runs_in_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my-client").touch(mode=0o755)
    seen: list[tuple[Path, str]] = []

    def see(command: Sequence[str], *, cwd: Path, **_: object) -> subprocess.Popen[bytes]:
        assert command[:3] == [sys.executable, "-P", "-m"]
        seen.append((cwd, command[command.index("--client-cmd") + 1]))
        return subprocess.Popen(["true"], stdout=subprocess.PIPE)

    monkeypatch.setattr("workflows.judge.subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": see}))
    inputs = {"GITHUB_WORKSPACE": str(tmp_path), "INPUT_CLIENT_COMMAND": "./my-client {bootstrap}"}
    assert judge(inputs) == (0, None)
    ((folder, text),) = seen
    assert (folder / text.split()[0]).is_file()


def test_properties_reach_the_suite_in_a_file_and_nowhere_else(tmp_path: Path) -> None:
    environment = {"INPUT_COMMAND_CONFIG": "security.protocol=SSL\n", "OTHER": "1"}
    option, file = command_config(environment, tmp_path)
    assert option == "--command-config"
    assert Path(file).read_text() == "security.protocol=SSL\n"
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert suite_environment(environment) == {"OTHER": "1"}
    assert command_config({}, tmp_path) == []
