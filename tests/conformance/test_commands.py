"""The console script knows its commands without importing them.

The commands that list and explain are tested too.
"""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner

import kafka_conformance
from clauses.catalogue import catalogue
from clauses.exit_statuses import INTERRUPTED
from conformance.__main__ import main
from conformance.commands.command_list import COMMANDS, GROUPS, MAINTENANCE
from fixtures.cleanup.ending_signals import ENDING_SIGNALS, INTERRUPTS
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.targets import load_targets
from proposals import proposed_brokers
from tests.conformance.suite_runs import REPOSITORY

UNKNOWN_NAME = 4


def output_of(*arguments: str, status: int = 0) -> str:
    """Run the console script in this process and return its output."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status, result.output
    assert "\x1b" not in result.output
    return result.output


def test_targets_are_listed_one_a_line_in_groups() -> None:
    """`targets` has every file of the registry, Apache Kafka's first and the oldest first, and the reference brokers
    at the end."""
    listed = [line.split()[0] for line in output_of("targets").splitlines()[1:]]
    references = ["reference", "reference-cluster", *(f"reference+{name}" for name in proposed_brokers())]
    kafka = [target.id for target in load_targets() if target.implementation == "apache-kafka"]
    assert listed[: len(kafka)] == kafka
    assert [each for each in listed if each.startswith("reference")] == references
    assert sorted(listed) == sorted([*(target.id for target in load_targets()), *references])


def test_targets_that_nobody_has_tried_say_so() -> None:
    """A target that was never run is listed with the reason, and one before ApiVersions is marked."""
    notes = {line.split()[0]: line for line in output_of("targets").splitlines()}
    for target in load_targets():
        assert ("not tried: " in notes[target.id]) == bool(target.not_tried)
        assert ("older than ApiVersions" in notes[target.id]) != target.handshake


@pytest.mark.parametrize(
    "command",
    [
        "changes no-such",
        "explain no-such",
        "learn no-such",
        "life no-such",
        "matrix no-such",
        "matrix --clients no-such",
        "mutation no-such",
        "pin-artefacts no-such",
        "record-tables no-such",
        "start no-such",
        "upgrade no-such 4.4.0",
        "watch --for no-such --request-log no-log",
    ],
)
def test_every_command_ends_with_4_for_an_unknown_name(command: str) -> None:
    assert "no-such" in output_of(*command.split(), status=UNKNOWN_NAME)


def test_planted_defects_are_listed_when_asked_for() -> None:
    """`targets --defects` ends with every reference broker, each with its defect."""
    lines = output_of("targets", "--defects").splitlines()
    listed = [line.split()[0] for line in lines]
    references = [target.id for target in reference_targets()]
    assert listed[-len(references) :] == references


def test_clauses_are_listed_one_a_line() -> None:
    """`clauses` lists every clause of the catalogue with its level and statement, unwrapped when piped."""
    lines = output_of("clauses").splitlines()[1:]
    for line, clause in zip(lines, catalogue(), strict=True):
        assert line.split()[:2] == [clause.id, clause.level.value]
        assert line.rstrip().endswith(clause.statement)


def test_clause_is_explained() -> None:
    """`explain` names a clause's source, its properties and the defects that break it."""
    output = output_of("explain", "KIP-482.tags-ascending-in-answers")
    for part in (
        "KIP-482.tags-ascending-in-answers  MUST\n",
        f"statement: {catalogue()['KIP-482.tags-ascending-in-answers'].statement}\n",
        "  test_tagged_fields.py::test_tags_in_answers_ascend: The tags of every tag section in an answer",
        "  reference+tags-descend: The tags of an answer stand in descending order.\n",
    ):
        assert part in output


def test_clause_that_no_run_judges_says_why() -> None:
    """`explain` gives the reason from the catalogue, and the planted defects of a broker all the same."""
    clause = catalogue()["MODEL.release-differences-explained"]
    output = output_of("explain", clause.id)
    assert f"not judged in a run: {clause.not_tested}" in output
    assert "  reference+" in output


def test_unknown_clause_gets_the_nearest() -> None:
    """`explain` of an unknown clause suggests the nearest ones."""
    output = output_of("explain", "KIP-35.key-unique", status=UNKNOWN_NAME)
    assert "the nearest are KIP-35.keys-unique" in output


def test_unknown_defect_gets_the_nearest() -> None:
    """`mutation` of an unknown defect suggests the nearest ones."""
    output = output_of("mutation", "tags-decend", status=UNKNOWN_NAME)
    assert "nearest: reference+tags-descend" in output


MAX_SENTENCE = 60
"""Characters of a command's first sentence that fit into one line of the help, next to its name."""
NOT_TO_JUDGE = {
    *("aalpy", "docker", "dpkt", "jgo", "kazoo", "numpy", "pandas", "pyarrow", "pyspark"),
    *("requests", "testcontainers"),
}
"""Heavy libraries that no broker at an address needs, or none before its records are written."""
HEAVY = {
    *NOT_TO_JUDGE,
    *("cryptography", "hypothesis", "jinja2", "jsonschema", "pytest", "trustme"),
}
"""Libraries that take up to a fifth of a second each."""


def test_modules_are_named_like_their_commands() -> None:
    modules = {name: listed.module.rpartition(".")[2] for name, listed in COMMANDS.items()}
    assert modules == {name: name.replace("-", "_") for name in COMMANDS}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_command_is_found_under_its_name(name: str) -> None:
    """Each listed command exists and has that name, and its line in the help is the first sentence of its own help."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert COMMANDS[name].summary == command.get_short_help_str(limit=1000)
    assert 0 < len(COMMANDS[name].summary) <= MAX_SENTENCE


def test_help_lists_every_command_in_a_group() -> None:
    """The help has the groups, and a command's first sentence on one line, which is not cut."""
    printed = CliRunner().invoke(main, ["--help-all"], terminal_width=80).output
    assert [f"{group}:" for group in GROUPS] == [
        line for line in printed.splitlines() if line.endswith(":") and line != "Options:"
    ]
    assert printed.count("\n  judge ") == 1
    assert "..." not in printed.partition("Options:")[2]
    assert max(map(len, printed.splitlines())) <= 80


def test_first_help_leaves_out_what_maintains_the_suite() -> None:
    printed = CliRunner().invoke(main, ["--help"]).output
    assert MAINTENANCE not in printed
    assert "\n  mutation " not in printed
    assert "--help-all" in printed


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        ("--help", HEAVY),
        ("clauses", HEAVY),
        ("explain KIP-35.keys-unique", HEAVY),
        ("grid --help", HEAVY),
        ("judge reference --tier smoke --collect-only -q", NOT_TO_JUDGE),
    ],
    ids=["help", "clauses", "explain", "grid", "judge"],
)
def test_command_costs_its_own_imports_alone(arguments: str, unneeded: set[str]) -> None:
    """The help, the lists of clauses, the roll-up before it starts, and a run before it judges import no heavy
    library that they do not need."""
    script = (
        "import atexit, sys, kafka_conformance;"
        f"atexit.register(lambda: print(sorted({unneeded} & sys.modules.keys())));"
        "kafka_conformance.main()"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script, *arguments.split()],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
    )
    assert printed.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("error", [RuntimeError(), SystemExit(1)], ids=["python", "click"])
def test_interrupt_while_the_commands_are_imported_ends_with_2(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every ending signal is handled before that, and none of them changes the exit status afterwards."""
    handlers: dict[int, object] = dict.fromkeys(ENDING_SIGNALS, signal.SIG_DFL)

    def interrupt(name: str) -> object:
        if name == "conformance.__main__":
            assert signal.SIG_DFL not in handlers.values()
            monkeypatch.setattr(INTERRUPTS, "came", True)
            raise error from KeyboardInterrupt()
        return importlib.import_module(name)

    monkeypatch.setattr(kafka_conformance, "import_module", interrupt)
    monkeypatch.setattr(signal, "getsignal", handlers.get)
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(sys, "path", Mock())
    with pytest.raises(SystemExit) as ended:
        kafka_conformance.main()
    assert ended.value.code == INTERRUPTED
    assert set(handlers.values()) == {signal.SIG_IGN}
