"""Words of brokers, clients and run folders are no commands of a CI job."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from conformance import __main__ as console_script
from conformance.commands import grid as grid_command
from reports.command_line.job_log import STOPPED, commands_stopped
from reports.command_line.suite_command import SuiteCommand
from tests.conformance.suite_runs import REPOSITORY

_FOREIGN = "::set-env name=PATH::/evil\n##[add-path]/evil\n::add-mask::e\n"
_STOPPED = re.compile(
    r"^::stop-commands::(?P<token>[0-9a-f]{32})\n(?P<words>.*)^::(?P=token)::\n",
    re.DOTALL | re.MULTILINE,
)


def carried_out(log: str) -> list[str]:
    """Return the commands that a runner would carry out, besides those that stop the others."""
    rest = _STOPPED.sub("", log)
    return [line for line in rest.splitlines() if re.match(r"\s*(::|##\[)", line)]


@pytest.fixture(autouse=True)
def in_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as in a job."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv(STOPPED, raising=False)


def test_what_is_written_meanwhile_is_no_command(capfd: pytest.CaptureFixture[str]) -> None:
    """The same words outside of the block are; the token is another one each time."""
    tokens: set[str] = set()
    for _ in range(2):
        with commands_stopped(), commands_stopped():
            print(_FOREIGN)  # noqa: T201
            subprocess.run([sys.executable, "-c", f"print({_FOREIGN!r})"], check=True)
        log = capfd.readouterr().out
        assert carried_out(log) == []
        tokens.update(found["token"] for found in _STOPPED.finditer(log))
    assert len(tokens) == 2
    assert len(carried_out(_FOREIGN)) == 3


def test_outside_of_a_job_nothing_is_written(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal shows no tokens."""
    monkeypatch.delenv("GITHUB_ACTIONS")
    with commands_stopped():
        pass
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("error", [False, True], ids=["output", "error"])
@pytest.mark.parametrize("name", ["console script", "workflow"])
def test_commands_show_foreign_words_as_such(name: str, error: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command(cls=SuiteCommand)
    def command() -> None:
        if error:
            raise click.ClickException(_FOREIGN)
        click.echo(_FOREIGN)

    monkeypatch.setattr(grid_command, "grid", command)
    ended = CliRunner().invoke(command, []) if name == "workflow" else CliRunner().invoke(console_script.main, ["grid"])
    assert ended.exit_code == int(error)
    assert _FOREIGN.splitlines()[1] in ended.output
    assert carried_out(ended.output) == []


def test_every_program_is_a_command_of_the_suite() -> None:
    for folder in ("benchmarks", "spark_aggregation", "workflows"):
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            assert text.count("@click.command(") == text.count("@click.command(cls=SuiteCommand"), path


def test_pytest_shows_foreign_words_as_such(tmp_path: Path) -> None:
    """A failing test's message, whatever pytest captures; the last line of the log is the token."""
    (tmp_path / "test_it.py").write_text(f"def test_it():\n    raise ValueError({_FOREIGN!r})\n")
    command = shlex.split(
        f"{sys.executable} -m pytest -p reports.plugin -p no:cacheprovider --rootdir . -c /dev/null -q ."
    )
    log = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=False).stdout
    assert "::add-mask::e" in log
    assert carried_out(log) == []
    assert _STOPPED.search(log), log
