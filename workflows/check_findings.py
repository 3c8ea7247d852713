"""Runs the scripts of findings, and reports which defects still show.

The scripts run against the products named.

    python -m workflows.check_findings docs/findings [PATTERN ...] [--launcher process]

A script that cannot say it, or a finding without one, is judged by `kafka-conformance replay`. Exit status: 0 if each
defect is seen that could be tried; 1 if one is not seen any more, or none could be tried. A product that cannot be
started here is listed.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click

from clauses.catalogue import Role
from conformance.commands.selection import selected_target
from fixtures.choosing.target_options import LAUNCHERS
from fixtures.client_processes.installation import installed
from fixtures.errors import HarnessError
from fixtures.launchers import launch
from fixtures.registry.clients import RINGS, select_clients
from reports.command_line.suite_command import SuiteCommand
from reports.records import FACTS_FILE
from reports.wording.escaping import markdown_text, one_line
from workflows.compatibility.finding_files import read_facts
from workflows.compatibility.scripts import PLAYER, SENDER
from workflows.github import write_summary

SHOWN = 1
"""The exit status of a script, and of `replay`, if the defect is seen."""
TIME_LIMIT_S = 300


class FindingOutcome(StrEnum):
    """What came of a finding."""

    SEEN = "seen"
    NOT_SEEN = "not seen any more"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding and what came of it; `how` says by what, or why it was not tried."""

    id: str
    outcome: FindingOutcome
    how: str

    def __str__(self) -> str:
        return f"{self.id}: {self.outcome}: {self.how}"


Run = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]


def run_program(command: Sequence[str], limit_s: float = TIME_LIMIT_S) -> subprocess.CompletedProcess[str]:
    """Run a program and return its output; after the limit it ends with everything that it started, such as a client.

    Raises:
        subprocess.TimeoutExpired: it did not end within the limit.
    """
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def finding_folders(findings: Path, patterns: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield id and folder of each finding that has bytes and that a pattern names; of all if there is no pattern."""
    for path in sorted(findings.glob(f"*/*/{FACTS_FILE}")):
        id_ = path.parent.relative_to(findings).as_posix()
        if not patterns or any(fnmatch(id_, pattern) for pattern in patterns):
            yield id_, path.parent


def check(id_: str, folder: Path, launcher: str, run: Run = run_program) -> Checked:
    """Try one finding: a script first, then `replay` unless the script shows the defect."""
    facts = read_facts(folder)
    try:
        if _status_of_script(facts, folder, launcher, run) == SHOWN:
            return Checked(id_, FindingOutcome.SEEN, "its script")
        again = run(
            [
                *(sys.executable, "-m", "conformance", "replay", str(folder)),
                *(() if facts.get("role") == Role.CLIENT else ("--launcher", launcher)),
            ]
        )
    except (HarnessError, click.ClickException, OSError) as error:
        return Checked(id_, FindingOutcome.NOT_TRIED, one_line(str(error)))
    except subprocess.TimeoutExpired:
        return Checked(id_, FindingOutcome.NOT_TRIED, f"no end within {TIME_LIMIT_S} s")
    message = one_line((again.stdout + again.stderr).strip().rpartition("\n")[2])
    if _status_of(again) == SHOWN:
        return Checked(id_, FindingOutcome.SEEN, "replay")
    outcome = FindingOutcome.NOT_SEEN if again.returncode == 0 else FindingOutcome.NOT_TRIED
    return Checked(id_, outcome, message)


def _status_of_script(facts: Mapping[str, Any], folder: Path, launcher: str, run: Run) -> int | None:
    """Return the exit status of the script that shows a finding; None if neither does."""
    scripts = folder.parents[1]
    if "play" in facts:
        (client,) = select_clients([facts["target"]], RINGS)
        prefix = shlex.join([*installed(client).prefix])
        command = f"{prefix} --bootstrap {{bootstrap}} --timeout {{timeout}}"
        script = [str(scripts / PLAYER), str(folder), "--port", "0", "--run", command]
        return _status_of(run([sys.executable, "-I", *script]))
    if "steps" not in facts:
        return None
    target = selected_target(facts["target"])
    with launch(target, launcher) as running:
        if facts["listener"] not in running.addresses:
            raise HarnessError(f"{target.id} has no listener {facts['listener']}")
        own = str(running.addresses[facts["listener"]])
        others = [f"{listener}={address}" for listener, address in running.addresses.items()]
        script = [str(scripts / SENDER), str(folder), own, *others]
        return _status_of(run([sys.executable, "-I", *script]))


def _status_of(ended: subprocess.CompletedProcess[str]) -> int | None:
    """Return an exit status; None for that of a Python program which ended by an error: that is 1 as well."""
    return None if "Traceback (most recent call last)" in ended.stderr else ended.returncode


@click.command(cls=SuiteCommand, name="workflows.check_findings")
@click.argument("findings", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="auto", show_default=True)
def main(findings: Path, patterns: Sequence[str], launcher: str) -> None:
    """Try the findings whose ids match a pattern, or all."""
    checked: list[Checked] = []
    for id_, folder in finding_folders(findings, patterns):
        checked.append(check(id_, folder, launcher))
        click.echo(str(checked[-1]))
    lines, is_good = summary(checked)
    write_summary("\n".join(lines))
    click.echo(lines[0])
    raise SystemExit(0 if is_good else 1)


def summary(checked: Sequence[Checked]) -> tuple[list[str], bool]:
    """Return what came of all findings as lines of Markdown, and whether each that was tried is seen."""
    by_outcome = {outcome: [each for each in checked if each.outcome is outcome] for outcome in FindingOutcome}
    counts = ", ".join(f"{len(own)} {outcome}" for outcome, own in by_outcome.items())
    unseen = [*by_outcome[FindingOutcome.NOT_SEEN], *by_outcome[FindingOutcome.NOT_TRIED]]
    lines = [f"Findings: {counts}.", "", *(f"- {markdown_text(str(each))}" for each in unseen)]
    return lines, bool(by_outcome[FindingOutcome.SEEN]) and not by_outcome[FindingOutcome.NOT_SEEN]


if __name__ == "__main__":
    main()
