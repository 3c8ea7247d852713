"""`judge` turns targets into pytest's options.

Commands that need Spark say how to install it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from clauses.exit_statuses import USAGE_ERROR
from conformance.__main__ import main
from conformance.commands.judge import QUIET, WrongArguments, pytest_arguments
from conformance.commands.suite_options import nearest_options, suite_options
from conformance.runs.run_identity import SUITE
from tests.broken_run_folders import NOT_UTF8
from tests.conformance.suite_runs import REPOSITORY
from tests.missing_packages import without_packages

HERE = Path("/somewhere")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], []),
        (["localhost:9092"], ["--bootstrap-server", "localhost:9092"]),
        (["[::1]:9092"], ["--bootstrap-server", "[::1]:9092"]),
        (
            ["SSL://a:1,b:1", "SASL_SSL://a:2", "--tier", "smoke", "--bootstrap-controller", "a:3"],
            [
                *("--bootstrap-server", "SSL://a:1,b:1", "--bootstrap-server", "SASL_SSL://a:2"),
                *("--tier", "smoke", "--bootstrap-controller", "a:3"),
            ],
        ),
        (["a-1", "b-*"], ["--broker", "a-1", "--broker", "b-*"]),
        (
            ["localhost:9092", "--tier", "smoke", "-k", "tags"],
            ["--bootstrap-server", "localhost:9092", "--tier", "smoke", "-k", "tags"],
        ),
        (
            ["-x", "--bootstrap-server", "localhost:9092"],
            ["-x", "--bootstrap-server", "localhost:9092"],
        ),
    ],
    ids=["nothing", "address", "ipv6", "listeners", "ids", "options", "no-target"],
)
def test_targets_become_options(arguments: list[str], expected: list[str]) -> None:
    """An address and an id each become the option for it; pytest's own options stay as they are."""
    assert pytest_arguments(arguments, here=HERE) == [
        *(str(SUITE), *QUIET, "-o", "cache_dir=/somewhere/.pytest_cache"),
        *expected,
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["a:1", "b:2"],
            "one run judges one broker; given: a:1, b:2. Write further listeners of the same broker as "
            "PROTOCOL://HOST:PORT, such as SSL://localhost:9093",
        ),
        (["--tier", "smoke", "a:1"], "targets come before the options: judge a:1 --tier ..."),
        (["-q", "a:1"], "targets come before the options: judge a:1 -q ..."),
    ],
    ids=["two-addresses", "after-a-value", "after-a-flag"],
)
def test_misplaced_targets_are_refused(arguments: list[str], message: str) -> None:
    """The message says what to write instead."""
    with pytest.raises(WrongArguments) as refused:
        pytest_arguments(arguments, here=HERE)
    assert refused.value.message == message
    assert CliRunner().invoke(main, ["judge", *arguments]).exit_code == 4


def test_help_has_the_options_of_the_suite(pytestconfig: pytest.Config) -> None:
    """The help shows an example per line, and each option that pytest knows from the suite, with what it does."""
    printed = CliRunner().invoke(main, ["judge", "--help"]).output
    assert "\n  kafka-conformance judge localhost:9092 --tier smoke\n" in printed
    assert "`pytest conformance/`" in printed
    names = [option.name for option in suite_options()]
    assert len(names) == len({*names}) > 25
    for option in suite_options():
        assert f"\n  {option.usage}" in printed
        assert option.help
        pytestconfig.getoption(option.name)


def test_long_choices_are_part_of_the_sentence() -> None:
    """A short list of values stands next to the option's name, a long one after what it does."""
    options = {option.name: option for option in suite_options()}
    assert options["--launcher"].usage == "--launcher auto|container|process"
    assert options["--listener"].usage == "--listener LISTENER"
    assert options["--listener"].help.endswith(", controller_ssl_client_auth, controller_sasl_ssl")
    assert options["--malformed"].usage == "--malformed"


def test_mistyped_option_gets_the_nearest() -> None:
    """Only what pytest calls unrecognized is compared with other options."""
    assert "--tier" in nearest_options("unrecognized arguments: --teir smoke", [])
    assert "--broker" in nearest_options("unrecognized arguments: --brokr=x", [])
    assert not list(nearest_options("argument --tier: invalid choice: 'much'", []))
    seed = "--hypothesis-seed"
    assert next(nearest_options("unrecognized arguments: --seed 3", [seed])) == seed
    assert next(nearest_options("unrecognized arguments: --hypothesis-sed=3", [seed])) == seed
    assert seed not in nearest_options("unrecognized arguments: seed", [seed])


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        pytest.param(
            ["--teir", "smoke"],
            4,
            "Error: unrecognized arguments: --teir smoke; nearest: --tier, --listener; "
            "`kafka-conformance judge --help` lists all\n",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["reference", "--runs", NOT_UTF8],
            4,
            "Error: argument --runs: bad\\xff is not UTF-8, so neither Spark nor Arrow can open it; give it another name; "
            "`kafka-conformance judge --help` lists all\n",
            marks=pytest.mark.slow,
        ),
        (
            ["localhost:1"],
            10,
            "Error: no Kafka broker answers at localhost:1: Connection refused\n"
            "check the host and port, and that the broker is running\n",
        ),
    ],
    ids=["option", "runs", "address"],
)
def test_error_is_one_sentence(arguments: list[str], status: int, message: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "conformance", "judge", *arguments, "--runs", str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (status, message)


@pytest.mark.parametrize(
    "arguments",
    [["grid", "runs", "--out", "x"], ["rejudge", "runs", "--out", "x"]],
    ids=["grid", "rejudge"],
)
def test_missing_spark_is_one_sentence(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra `grid`, the command says what to install."""
    without_packages(monkeypatch, "pyspark")
    ended = CliRunner().invoke(main, arguments)
    assert ended.exit_code == USAGE_ERROR
    assert ended.output == (
        f"Error: {arguments[0]} needs kafka-conformance[grid]: "
        f"{sys.executable} -m pip install 'kafka-conformance[grid]'\n"
    )


def test_missing_allure_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    without_packages(monkeypatch, "allure-pytest")
    ended = CliRunner().invoke(main, ["judge", "reference", "--alluredir=results"])
    assert ended.exit_code == USAGE_ERROR
    assert ended.output.startswith("Error: judge --alluredir needs kafka-conformance[reports]: ")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("judg", "Did you mean judge or rejudge?"), ("zzz", "No such command 'zzz'.\n")],
)
def test_unknown_command_gets_the_nearest(name: str, hint: str) -> None:
    """As unknown targets and options do."""
    ended = CliRunner().invoke(main, [name])
    assert ended.exit_code == 2
    assert hint in ended.output
