"""`changes`: writes the change log of releases."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from conformance.assertions.other_apis import advertised_table
from conformance.commands.errors import CouldNotTell, InvalidFile, reported_as
from conformance.commands.output_console import output_console
from conformance.commands.selection import EVERY_RELEASE, runnable_targets
from conformance.corpus.entries import CorpusEntry, InvalidCorpus, load_corpus
from conformance.releases.release_changes import (
    COUNT,
    SEED,
    Observer,
    Release,
    changes_between,
    generated_inputs,
    stages_of,
)
from fixtures.artefacts.schema_jars import catalogue_of
from fixtures.choosing.target_options import LAUNCHERS
from fixtures.errors import HarnessError
from fixtures.launchers import launch
from fixtures.registry.likeness import LIKE_HELP
from fixtures.registry.targets import Target, target_order
from fixtures.under_test.broker import Broker
from reference_model.profiles.known_apis import Range
from reference_model.profiles.listeners import LISTENERS, PLAINTEXT
from reference_model.profiles.version_tables import request_changes, table_of
from reports.document.terminal_form import show
from reports.grid.change_log import (
    Change,
    ChangedEntry,
    ChangedTable,
    LeftOut,
    change_report,
    write_change_log,
)
from reports.wording.escaping import printable

Table = Mapping[int, Range]
"""API key to the versions that a target lists."""


def changed_tables(tables: Mapping[str, Sequence[tuple[Target, Table]]]) -> Iterator[ChangedTable]:
    """Yield each table of a build, with the entries that differ from those of the target before it.

    The tables of releases differ nearly everywhere, and are published; only those of builds are compared here.

    Args:
        tables: by listener, the targets with their tables, oldest first.
    """
    for listener, of_listener in tables.items():
        for (before, old), (after, new) in pairwise(of_listener):
            if after.like is not None:
                entries = tuple(_changed_entries(after, old, new))
                yield ChangedTable(listener=listener, before=before.id, since=after.id, entries=entries)


def _changed_entries(target: Target, old: Table, new: Table) -> Iterator[ChangedEntry]:
    for change in request_changes(table_of(old, {}), table_of(new, {})):
        yield ChangedEntry(
            api_key=change.api_key,
            api=catalogue_of(target).name_of(change.api_key),
            was=old.get(change.api_key),
            became=new.get(change.api_key),
            change=change.words,
        )


Log = dict[str, list[tuple[str, Release]]]
"""By listener and connection state: the targets with their results, oldest first."""


@dataclass(slots=True, kw_only=True)
class ComparedReleases:
    """The result of comparing releases.

    Attributes:
        changes: the changes.
        left_out: the inputs that were not compared.
        tables: by listener, the targets with their version tables, oldest first.
        problems: why a target could not be queried, by target: it did not start, or it went away.
    """

    changes: list[Change] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    tables: dict[str, list[tuple[Target, Table]]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def comparable(targets: Sequence[Target]) -> list[Target]:
    """Return the targets that can be compared: those that support ApiVersions, one per release, oldest first.

    Builds come after them, in the given order: two may have the same version.
    """
    by_release: dict[tuple[str, str], Target] = {}
    able = [target for target in targets if target.handshake]
    for target in sorted((each for each in able if each.like is None), key=target_order):
        by_release.setdefault((target.implementation, target.release), target)
    return [*by_release.values(), *(each for each in able if each.like is not None)]


@click.command()
@click.argument("patterns", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--listener",
    "listeners",
    multiple=True,
    type=click.Choice(LISTENERS),
    default=(PLAINTEXT,),
    show_default=True,
    help="listener to compare; repeatable",
)
@click.option(
    "--generated",
    type=click.IntRange(0),
    default=COUNT,
    show_default=True,
    help="number of inputs to draw in addition to the corpus",
)
@click.option("--seed", type=int, default=SEED, show_default=True, help="seed of the drawn inputs")
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="auto", show_default=True)
@click.option("--like", metavar="ID", default="", help=LIKE_HELP)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="folder for changes.json and changes.md",
)
def changes(
    patterns: tuple[str, ...],
    listeners: tuple[str, ...],
    generated: int,
    seed: int,
    launcher: str,
    like: str,
    out: Path | None,
) -> None:
    """Find the releases that began to treat bytes differently.

    The same bytes are sent to all releases that are given.

    TARGET is an id or glob, or the folder of a build; every Apache Kafka release if none is given. What a build lists
    other than the target before it is said as well. The exit status is 1 if the profiles of both
    releases do not predict a change, and 10 if there is no such change but a release could not be queried.
    """
    targets = comparable(runnable_targets(patterns or EVERY_RELEASE, like=like))
    for listener in listeners:
        if sum(listener in target.listeners for target in targets) < 2:
            raise click.UsageError(
                f"two different releases with the listener {listener} are needed; given: "
                f"{', '.join(target.id for target in targets) or 'none'}"
            )
    with reported_as(InvalidFile, InvalidCorpus):
        corpus = load_corpus()
    inputs = (*corpus, *(generated_inputs(generated, seed) if generated else ()))
    comparison = compared(targets, inputs, listeners, launcher)
    compared_ids = [target.id for target in targets if target.id not in comparison.problems]
    news = _report(compared_ids, comparison, out)
    for target, problem in comparison.problems.items():
        click.echo(f"{target} could not be compared: {printable(problem)}", err=True)
    if news:
        raise SystemExit(1)
    if comparison.problems:
        raise CouldNotTell(f"{len(comparison.problems)} of {len(targets)} releases could not be compared")


def compared(
    targets: Sequence[Target],
    inputs: Sequence[CorpusEntry],
    listeners: Sequence[str],
    launcher: str,
) -> ComparedReleases:
    """Send the inputs to every target, one target after the other, and compare the results."""
    log: Log = {}
    comparison = ComparedReleases()
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("releases", total=len(targets))
        for target in targets:
            progress.update(task, description=target.id)
            try:
                observed, tables = _observe(target, inputs, launcher, listeners)
            except HarnessError as error:
                comparison.problems[target.id] = str(error)
            else:
                for where, (release, left_out) in observed.items():
                    log.setdefault(where, []).append((target.id, release))
                    comparison.left_out += left_out
                for listener, table in tables.items():
                    comparison.tables.setdefault(listener, []).append((target, table))
            progress.advance(task)
    by_name = {entry.name: entry for entry in inputs}
    for where, releases in log.items():
        comparison.changes += changes_between(releases, by_name, where)
    return comparison


def _observe(
    target: Target, inputs: Sequence[CorpusEntry], launcher: str, listeners: Sequence[str]
) -> tuple[dict[str, tuple[Release, list[LeftOut]]], dict[str, Table]]:
    """Return a target's results and the inputs left out, and its version tables.

    Results and inputs have a listener and a connection state. Tables have a listener.
    """
    observed = {}
    tables: dict[str, Table] = {}
    with launch(target, launcher) as running:
        for listener in listeners:
            if listener not in running.addresses:
                continue
            broker = Broker(running, listener)
            broker.calibrate()
            tables[listener] = {
                each.api_key: Range(each.min_version, each.max_version) for each in advertised_table(broker)
            }
            for stage in stages_of(broker):
                observer = Observer(broker, stage)
                where = stage.on(listener)
                release = observer.observe(inputs)
                left_out = [
                    LeftOut(listener=where, release=target.id, reason=reason, inputs=tuple(names))
                    for reason, names in observer.left_out.items()
                ]
                observed[where] = (release, left_out)
    return observed, tables


def _report(targets: Sequence[str], comparison: ComparedReleases, out: Path | None) -> int:
    """Print and write the log; return how many changes are not predicted."""
    tables = tuple(changed_tables(comparison.tables))
    # The counts come last, where the user of a terminal looks first.
    counts, *details = change_report(targets, comparison.changes, comparison.left_out, tables).blocks
    show(output_console(), *details, counts)
    if out is not None:
        write_change_log(out, targets, comparison.changes, comparison.left_out, tables)
        click.echo(f"written: {out / 'changes.json'}, {out / 'changes.md'}")
    return sum(not change.predicted for change in comparison.changes)
