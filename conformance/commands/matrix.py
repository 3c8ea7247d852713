"""`matrix`: judges many targets, each in its own run.

It can be resumed and split into shards.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from clauses.clause_sets import NEXT, clause_sets
from clauses.exit_statuses import INTERRUPTED
from clauses.tiers import Tier
from conformance.commands.errors import CouldNotTell, reported_as
from conformance.commands.output_console import output_console
from conformance.commands.selection import (
    EVERY_CLUSTER,
    EVERY_RELEASE,
    clients_with_operations,
    runnable_targets,
    selected_clients,
)
from conformance.failures.stored_failures import read_failure
from conformance.runs.target_runs import TargetRun, TargetRuns, arguments_naming, finished_runs
from fixtures.choosing.target_options import AUTO, LAUNCHERS
from fixtures.errors import HarnessError
from fixtures.registry.clients import RINGS
from fixtures.registry.likeness import LIKE_HELP
from fixtures.under_test.trial import rows_of
from reports.records import FACTS_FILE, HEADER_FILE, OPERATION, UNEXPECTED_VERDICTS, Verdict
from reports.run.exit_status import ExitStatus
from reports.run.judged_examples import CellKey
from reports.run.run_folder import read_run_header, run_verdicts
from reports.run.terminal_lines import shortened
from reports.run_folders.record_paths import fault_of_runs
from reports.wording.escaping import printable
from reports.wording.verdict_labels import SYMBOLS, WORDS, verdict_word

MAX_LINES = 20
"""Maximum number of lines per run: if a target violates everything, its folder is easier to read."""
MAX_SEEN = 156
"""Maximum columns of a message: two rows of most terminals, with their indentation."""

Verdicts = Mapping[CellKey, Verdict]


FROM_WORST = (1, ExitStatus.HARNESS_ERROR, ExitStatus.INCOMPLETE, ExitStatus.STALE_EXPECTATION, 0)
"""The regular exit statuses of a run, most serious first; any other is a crash, and worse than all of them."""


def verdicts_of(run: TargetRun) -> Verdicts:
    """Return the verdict of each cell of a run; empty if there is no complete run folder."""
    if run.folder is None:
        return {}
    return run_verdicts(run.folder, read_run_header(run.folder))


def finding_lines(run: TargetRun, verdicts: Verdicts, launcher: str = AUTO) -> Iterator[str]:
    """Yield lines about each unexpected cell, most serious first, with its failures and the commands to replay them."""
    if run.folder is None:
        return
    seen = _seen(run.folder, launcher)
    reasons = _reasons(run.folder)
    lines = [
        line
        for verdict in UNEXPECTED_VERDICTS
        for key, verdict_of_cell in verdicts.items()
        if verdict_of_cell is verdict
        for line in [
            f"{SYMBOLS[verdict]} {key.clause} ({key.listener}): {WORDS[verdict]}",
            *(reasons.get(key, ()) if verdict is Verdict.INCONCLUSIVE else seen.get(key, ())),
        ]
    ]
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"and {len(lines) - MAX_LINES} more lines: see {run.folder}"


def _reasons(run: Path) -> Mapping[CellKey, list[str]]:
    """Return why cells are not judged, or are judged without something."""
    return {
        CellKey(cell["clause"], cell["target"], cell["listener"]): [line]
        for cell in read_run_header(run)["planned_cells"]
        for line in [shortened(f"  because: {cell['reason']}", MAX_SEEN, complete_in=HEADER_FILE)]
    }


def _seen(run: Path, launcher: str) -> Mapping[CellKey, list[str]]:
    seen: dict[CellKey, list[str]] = {}
    options = [] if launcher == AUTO else ["--launcher", launcher]
    # A complete run folder is verified: every file is as it was written.
    for folder in sorted(run.glob("failures/*")):
        failure = read_failure(folder)
        if failure.leaves_open:
            continue
        key = CellKey(failure.clause, failure.target, failure.listener)
        again = shlex.join(["kafka-conformance", "replay", str(folder), *options])
        line = shortened(f"  seen: {failure.first_line}", MAX_SEEN, complete_in=FACTS_FILE)
        seen.setdefault(key, []).extend([line, f"  again: {again}"])
    return seen


Counts = Counter[Verdict]
Results = Mapping[str, tuple[TargetRun, Verdicts]]


def parse_shard(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, int]:
    """Parse "i/n" with 1 <= i <= n."""
    match = re.fullmatch(r"([0-9]+)/([0-9]+)", value)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise click.BadParameter(f"{value!r} is not i/n with 1 <= i <= n")
    return int(match[1]), int(match[2])


def folder_for_runs(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Return the folder, if readers can use runs in it."""
    if fault := fault_of_runs(value):
        raise click.BadParameter(fault)
    return value


def shard_of(targets: Sequence[str], number: int, shards: int) -> list[str]:
    """Return one part of the targets: every `shards`-th, so that each part has old and new releases."""
    return list(targets[number - 1 :: shards])


def worst_status(statuses: Sequence[int]) -> int:
    """Return the most serious of the exit statuses; a crash or signal counts as a harness error."""
    if any(status not in FROM_WORST for status in statuses):
        return ExitStatus.HARNESS_ERROR
    return next((status for status in FROM_WORST if status in statuses), 0)


def words_of(counts: Counts) -> str:
    """Return verdict counts as text, each count with its verdict's symbol."""
    return "  ".join(f"{counts[verdict]} {SYMBOLS[verdict]}" for verdict in WORDS if counts[verdict])


def result_table(results: Results, *, role: str = "") -> Table:
    """Return a table of targets with their verdict counts; `role` is what they were judged as."""
    counted = {target: Counter(verdicts.values()) for target, (_, verdicts) in results.items()}
    seen = [verdict for verdict in WORDS if any(counts[verdict] for counts in counted.values())]
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("target", no_wrap=True)
    for verdict in seen:
        table.add_column(f"{SYMBOLS[verdict]} {verdict_word(verdict, role)}", justify="right")
    table.add_column("status", justify="right")
    table.add_column("seconds", justify="right")
    for target, (run, _) in results.items():
        numbers = (str(counted[target][verdict] or "") for verdict in seen)
        seconds = "before" if run.seconds is None else f"{run.seconds:.0f}"
        status = str(run.status) if run.status in FROM_WORST else f"{run.status} CRASHED"
        table.add_row(target, *numbers, status, seconds)
    return table


class _Display:
    """Shows a progress bar, or one line per finished run if there is no terminal."""

    def __init__(self, console: Console, total: int) -> None:
        self.counts: Counts = Counter()
        self._console = console
        self._bar = Progress(
            TextColumn("{task.completed} of {task.total} targets"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> _Display:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, current: Sequence[str]) -> None:
        """Show the current runs and the verdicts so far."""
        words = words_of(self.counts)
        self._bar.update(self._task, description=f"{words}   {', '.join(current)}")

    def finished(self, run: TargetRun, verdicts: Verdicts) -> None:
        """Count and print a finished run."""
        counts = Counter(verdicts.values())
        self.counts += counts
        self._bar.advance(self._task)
        self._console.print(f"{run.target}: status {run.status}  {words_of(counts)}")


@click.command()
@click.argument("patterns", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="number of runs at the same time",
)
@click.option(
    "--shard",
    default="1/1",
    callback=parse_shard,
    metavar="I/N",
    help="run the I-th of N parts of the targets",
)
@click.option(
    "--clients",
    is_flag=True,
    help="judge clients instead of brokers: TARGET is the id or glob of a client; every client if none is given",
)
@click.option(
    "--operations",
    is_flag=True,
    help="try the operations of clients with brokers: TARGET is the id or glob of a broker, and each run tries all clients",
)
@click.option(
    "--client",
    "tried_clients",
    multiple=True,
    metavar="ID",
    help="with --operations: only the operations of this client; repeatable",
)
@click.option(
    "--ring",
    "rings",
    multiple=True,
    type=click.Choice(RINGS),
    default=RINGS,
    help="with --clients: the rings from which globs choose; repeatable; default: all",
)
@click.option("--tier", type=click.Choice([*map(str, Tier)]), default=Tier.STANDARD.value, show_default=True)
@click.option("--launcher", type=click.Choice(LAUNCHERS), default=AUTO, show_default=True)
@click.option("--like", metavar="ID", default="", help=LIKE_HELP)
@click.option(
    "--clauses",
    "set_name",
    type=click.Choice([*clause_sets(), NEXT]),
    default=NEXT,
    show_default=True,
    help="judge by what a release of this suite asked; what is newer fails nothing",
)
@click.option("--seed", "--hypothesis-seed", type=click.IntRange(0), help="Hypothesis' seed for every run")
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    callback=folder_for_runs,
    show_default=True,
    help="folder for the run folders; targets that already have a complete run there are not run again if tier, seed, "
    "launcher and kind of image are the same",
)
def matrix(
    patterns: tuple[str, ...],
    jobs: int,
    shard: tuple[int, int],
    clients: bool,
    operations: bool,
    tried_clients: tuple[str, ...],
    rings: tuple[str, ...],
    tier: str,
    launcher: str,
    like: str,
    set_name: str,
    seed: int | None,
    runs: Path,
) -> None:
    """Judge many targets or clients, each in a run of its own.

    With --operations it tries the operations of clients with many targets instead.

    TARGET is an id or glob ("apache-kafka-3.*"), or the folder of a build; every Apache Kafka release if none is given,
    and with --operations every cluster as well. A target that has never been tried is left out unless its id is given.
    The command prints one table and the findings of failing runs, and ends with the most serious exit status of the
    runs.
    """
    if clients and operations:
        raise click.UsageError("a matrix has either --clients or --operations")
    if like and clients:
        raise click.UsageError("--like is about brokers: a client is judged as itself")
    if tried_clients and not operations:
        raise click.UsageError("--client chooses whose --operations are tried; give clients as TARGET")
    if not patterns and not clients:
        patterns = (*EVERY_RELEASE, *EVERY_CLUSTER) if operations else EVERY_RELEASE
    chosen = selected_clients(patterns, rings) if clients else runnable_targets(patterns, like=like)
    tried = clients_with_operations(tried_clients) if operations else ()
    if operations:
        # Without ApiVersions a client cannot know what a broker supports.
        chosen = tuple(target for target in chosen if target.handshake)
    if not chosen:
        raise click.UsageError("none of these targets has been tried yet; to run one, give its id")
    targets = shard_of([target.id for target in chosen], *shard)
    if not targets:
        raise click.UsageError("this shard has no target; use fewer shards")
    options = ["--tier", tier] if clients else ["--tier", tier, "--launcher", launcher]
    options += [] if set_name == NEXT else ["--clauses", set_name]
    options += [] if seed is None else ["--hypothesis-seed", str(seed)]
    options += [part for client in tried for part in ("--client", client.id)]
    suite = TargetRuns(
        runs.absolute(),
        options=options,
        jobs=jobs,
        naming={target.id: ("--client", target.id) if clients else arguments_naming(target) for target in chosen},
    )
    with reported_as(CouldNotTell, HarnessError):
        rows = [row for client in tried for row in rows_of(client)]
        before = finished_runs(
            runs, chosen, tier=tier, seed=seed, launcher=launcher, operations=rows, clause_set=set_name
        )
    role = OPERATION if operations else ""
    raise SystemExit(_run(targets, suite, runs, before, role=role, launcher=launcher))


def _run(
    targets: Sequence[str],
    suite: TargetRuns,
    runs: Path,
    before: Mapping[str, TargetRun],
    *,
    role: str,
    launcher: str,
) -> int:
    results = {target: (before[target], verdicts_of(before[target])) for target in targets if target in before}
    console = Console(stderr=True, markup=False, highlight=False)
    interrupted = False
    with _Display(console, len(targets)) as display:
        for run, verdicts in results.values():
            display.finished(run, verdicts)

        def finished(run: TargetRun) -> None:
            results[run.target] = (run, verdicts_of(run))
            display.finished(run, results[run.target][1])

        missing = [target for target in targets if target not in results]
        try:
            suite.run(missing, finished, lambda: display.show(suite.current))
        except KeyboardInterrupt:
            interrupted = True
    in_order = {target: results[target] for target in targets if target in results}
    _print_results(in_order, role, launcher)
    if interrupted:
        click.echo(f"interrupted; the same command with --runs {runs} continues")
        return INTERRUPTED
    return worst_status([run.status for run, _ in results.values()])


def _print_results(results: Results, role: str, launcher: str) -> None:
    console = output_console()
    if results:
        console.print(result_table(results, role=role))
    for target, (run, verdicts) in results.items():
        lines = run.last_lines or (tuple(finding_lines(run, verdicts, launcher)) if run.status else ())
        if lines:
            click.echo(f"\n{target} ended with status {run.status}:")
            for line in lines:
                click.echo(f"  {printable(line)}")
