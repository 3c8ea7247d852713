"""`judge` turns targets into pytest's options, and commands that need Spark say how to install it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.__main__ import main
from conformance.commands import spark_jobs
from conformance.commands.judge import WrongTargets, pytest_arguments
from conformance.runs.run_identity import SUITE

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
        *(str(SUITE), "-o", "cache_dir=/somewhere/.pytest_cache"),
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
    with pytest.raises(WrongTargets) as refused:
        pytest_arguments(arguments, here=HERE)
    assert refused.value.message == message
    assert CliRunner().invoke(main, ["judge", *arguments]).exit_code == 4


def test_help_names_pytest() -> None:
    """The help says what the command runs, and how to see all options."""
    printed = CliRunner().invoke(main, ["judge", "--help"]).output
    assert "`pytest conformance/`" in printed
    assert "--help` lists them all" in " ".join(printed.split())


@pytest.mark.parametrize(
    "arguments",
    [["grid", "runs", "--out", "x"], ["rejudge", "runs", "--out", "x"]],
    ids=["grid", "rejudge"],
)
def test_missing_spark_is_one_sentence(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the extra `grid`, the command ends as for wrong usage and says what to install."""
    monkeypatch.setattr(spark_jobs, "REQUIRED", ("click", "not-installed"))
    ended = CliRunner().invoke(main, arguments)
    assert ended.exit_code == 2
    assert ended.output == (
        "Error: this command needs not-installed, which judging does not; to install what is missing: "
        f"{sys.executable} -m pip install 'kafka-conformance[grid]'\n"
    )
