"""`changes`: the change log of releases."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from conformance.commands.errors import CouldNotTell, InvalidFile
from conformance.commands.selection import runnable_targets
from conformance.corpus.entries import Entry, InvalidCorpus, load_corpus
from conformance.generated_inputs import generated_inputs
from conformance.release_changes import Observer, Release, changes_between
from fixtures.broker import Broker
from fixtures.errors import HarnessError
from fixtures.launchers import choose_launcher, launch
from fixtures.plugin import LAUNCHERS
from fixtures.targets import Target, target_order
from reference_model.listeners import LISTENERS
from reports.change_log import Change, change_table, write_change_log
from reports.terminal import printable

SEED = 20261121
"""Fixed, so that two logs are about the same bytes."""
WIDTH_WHEN_PIPED = 240

Log = dict[str, list[tuple[str, Release]]]
"""By listener, the targets with what they did, oldest first."""


def comparable(targets: Sequence[Target]) -> list[Target]:
    """Return the targets that can be compared, oldest first: those that know ApiVersions, one per release."""
    by_release: dict[tuple[str, str], Target] = {}
    for target in sorted(targets, key=target_order):
        if target.handshake:
            by_release.setdefault((target.implementation, target.release), target)
    return list(by_release.values())


@click.command()
@click.argument("patterns", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--listener",
    "listeners",
    multiple=True,
    type=click.Choice(LISTENERS),
    default=("plaintext",),
    show_default=True,
    help="repeatable",
)
@click.option(
    "--generated",
    type=click.IntRange(0),
    default=300,
    show_default=True,
    help="drawn beside the corpus",
)
@click.option("--seed", type=int, default=SEED, show_default=True, help="of what is drawn")
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="auto", show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="write changes.json and changes.md there",
)
def changes(
    patterns: tuple[str, ...],
    listeners: tuple[str, ...],
    generated: int,
    seed: int,
    launcher: str,
    out: Path | None,
) -> None:
    """Send the same bytes to releases, and list since which release they are treated otherwise.

    TARGET is an id or glob; every Apache Kafka release if none is given. Ends with 1 where a change is not what the
    profiles of both releases predict, and with 10 where there is none but a release could not be asked.
    """
    targets = comparable(runnable_targets(patterns))
    for listener in listeners:
        if sum(listener in target.listeners for target in targets) < 2:
            raise click.UsageError(
                f"fewer than two of the {len(targets)} releases have the listener {listener}"
            )
    try:
        corpus = load_corpus()
    except InvalidCorpus as error:
        raise InvalidFile(str(error)) from error
    inputs = (*corpus, *(generated_inputs(generated, seed) if generated else ()))
    found, problems = log_of(targets, inputs, listeners, launcher)
    asked = [target.id for target in targets if target.id not in problems]
    news = _report(asked, found, out)
    for target, problem in problems.items():
        click.echo(f"{target} could not be asked: {printable(problem)}", err=True)
    if news:
        raise SystemExit(1)
    if problems:
        raise CouldNotTell(f"{len(problems)} of {len(targets)} releases are not in the log")


def log_of(
    targets: Sequence[Target], inputs: Sequence[Entry], listeners: Sequence[str], launcher: str
) -> tuple[list[Change], Mapping[str, str]]:
    """Send the inputs to every target, one after the other.

    Returns:
        What changed, and by target why it could not be asked: it does not start, or goes away.
    """
    log: Log = {listener: [] for listener in listeners}
    problems: dict[str, str] = {}
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("releases", total=len(targets))
        for target in targets:
            progress.update(task, description=target.id)
            try:
                observed = _observe(target, inputs, launcher, listeners)
            except HarnessError as error:
                problems[target.id] = str(error)
            else:
                for listener, release in observed.items():
                    log[listener].append((target.id, release))
            progress.advance(task)
    by_name = {entry.name: entry for entry in inputs}
    found = [
        change
        for listener, releases in log.items()
        for change in changes_between(releases, by_name, listener)
    ]
    return found, problems


def _observe(
    target: Target, inputs: Sequence[Entry], launcher: str, listeners: Sequence[str]
) -> dict[str, Release]:
    """Return what a target does with the inputs, by listener that it has."""
    name, _ = choose_launcher(target, launcher)
    observed = {}
    with launch(target, name) as running:
        for listener in listeners:
            if listener in running.addresses:
                broker = Broker(running, listener)
                broker.calibrate()
                observed[listener] = Observer(broker).observe(inputs)
    return observed


def _report(targets: Sequence[str], found: Sequence[Change], out: Path | None) -> int:
    """Print and write the log, and return how many changes are not predicted."""
    width = None if sys.stdout.isatty() else WIDTH_WHEN_PIPED
    console = Console(width=width, markup=False, highlight=False)
    if found:
        console.print(change_table(found))
    news = sum(not change.predicted for change in found)
    click.echo(
        f"{len(targets)} releases, {len(found)} groups of changes, {news} of them not predicted"
    )
    if out is not None:
        write_change_log(out, targets, found)
        click.echo(f"written: {out / 'changes.json'}, {out / 'changes.md'}")
    return news
