"""Compares the predictions of `watch` for a release with what happened there.

It does so for each operation of each client.

    python -m workflows.predictions RUNS [--watched ID ...] [--for ID ...]

RUNS has runs of operations with several releases. What a client sent to one release is taken as if `watch` had seen it,
and predicted for the others, on which the same operation was really tried. "works" and "is served" have to work, and
"breaks" has to fail; where nothing can be said, both are right. Exit status: 0 if no prediction is wrong, else 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import pyarrow.parquet as parquet
from rich.console import Console
from rich.table import Table

from clauses.operations import NEWEST_VERSIONS
from reference_model.profiles.version_tables import ranges_of
from reports.command_line.suite_command import SuiteCommand
from reports.records import HEADER_FILE, OPERATION, SOUND_VERDICTS, VERDICTS_WITH_FAILURES
from reports.run.run_folder import EXCHANGE_FILES, Header, read_run_header, run_verdicts
from reports.run_folders.refused_runs import RunRefused
from reports.wording.verdict_labels import counted
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests
from upgrade.prediction.outcomes import PredictedOutcome
from upgrade.prediction.prediction import predict, worst
from upgrade.prediction.releases import NoSuchRelease, Release, release_named
from upgrade.watching.request_head import RequestHead
from upgrade.watching.request_headers import RequestHeaders


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRelease:
    """What clients did with one release.

    Attributes:
        release: the release.
        works: whether an operation works, by its id; one that could not be tried is left out.
        sent: what each operation that works sent.
    """

    release: Release
    works: Mapping[str, bool]
    sent: Mapping[str, ObservedRequests]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One prediction.

    Attributes:
        operation: its id: client and operation.
        watched: the id of the release to which it was sent.
        release: the id of the release for which it is predicted.
        predicted: the prediction.
        sentence: what the prediction rests on; empty if nothing stands in the way.
        works: what really happened there.
    """

    operation: str
    watched: str
    release: str
    predicted: PredictedOutcome
    sentence: str
    works: bool

    @property
    def is_right(self) -> bool:
        """Whether it was predicted, or at least left open."""
        return (
            self.predicted is PredictedOutcome.CANNOT_SAY
            or (self.predicted in (PredictedOutcome.WORKS, PredictedOutcome.SERVED)) is self.works
        )


def tried_releases(runs: Path) -> Mapping[str, TriedRelease]:
    """Return what clients did with each release, by its id, from the newest complete run of its operations."""
    newest: dict[str, tuple[str, Path, Header]] = {}
    for path in sorted(runs.rglob(HEADER_FILE)):
        try:
            header = read_run_header(path.parent)
        except RunRefused as error:
            click.echo(f"not compared: {error}", err=True)
            continue
        if {each["role"] for each in header["clauses"]} == {OPERATION}:
            target = header["targets"][0]["id"]
            candidate = (header["started_at"], path.parent, header)
            newest[target] = max(newest.get(target, candidate), candidate, key=lambda each: each[0])
    return {
        target: tried
        for target, (_, folder, header) in sorted(newest.items())
        if (tried := _tried(target, folder, header)) is not None
    }


def compared(watched: TriedRelease, other: TriedRelease) -> Iterator[Compared]:
    """Yield what is predicted of each operation that works with the one release and was tried with the other."""
    offered = ranges_of(watched.release.profile.api_keys)
    for operation, observed in watched.sent.items():
        if operation not in other.works:
            continue
        predictions = [predict(observed, client, offered, other.release) for client in observed.clients]
        outcome = worst(predictions)
        yield Compared(
            operation=operation,
            watched=watched.release.id,
            release=other.release.id,
            predicted=outcome,
            sentence=next(
                (each.decisions[0].sentence for each in predictions if each.decisions and each.outcome is outcome),
                "",
            ),
            works=other.works[operation],
        )


def _tried(target: str, folder: Path, header: Header) -> TriedRelease | None:
    try:
        release = release_named(target)
    except NoSuchRelease:
        return None
    works = {
        key.clause: verdict in SOUND_VERDICTS
        for key, verdict in run_verdicts(folder, header).items()
        if verdict in (*SOUND_VERDICTS, *VERDICTS_WITH_FAILURES)
        # What a client does in all of its operations is none that could be predicted.
        and not key.clause.endswith(f".{NEWEST_VERSIONS}")
    }
    sent = {each: observed for each, observed in _sent_in(folder).items() if works.get(each)}
    return TriedRelease(release=release, works=works, sent=sent)


def _sent_in(folder: Path) -> Mapping[str, ObservedRequests]:
    """Return what each operation sent, as the proxy of `watch` reads it."""
    observed_by_clause: dict[str, ObservedRequests] = {}
    for file in sorted(folder.glob(EXCHANGE_FILES)):
        for row in parquet.read_table(file, columns=["clause", "sent"]).to_pylist():
            observed = observed_by_clause.setdefault(row["clause"], ObservedRequests())
            RequestHeaders(partial(_count, observed)).feed(row["sent"])
    return observed_by_clause


def _count(observed: ObservedRequests, head: RequestHead) -> None:
    client = ClientIdentity(head.client_name, address="")
    observed.add(client, head.api_key, head.api_version)


def _table(compared: Sequence[Compared]) -> Table:
    """Return how often each prediction came true."""
    table = Table("watched", "for", "predicted", "works", "fails", box=None)
    counts = Counter((each.watched, each.release, each.predicted, each.works) for each in compared)
    for watched, release, predicted in sorted({key[:3] for key in counts}):
        works, fails = (str(counts[watched, release, predicted, each]) for each in (True, False))
        table.add_row(watched, release, predicted, works, fails)
    return table


@click.command(cls=SuiteCommand, name="workflows.predictions")
@click.argument("runs", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--watched", multiple=True, metavar="ID", help="a release watched; default: all")
@click.option("--for", "asked", multiple=True, metavar="ID", help="a release asked about; default: all")
def main(runs: Path, watched: tuple[str, ...], asked: tuple[str, ...]) -> None:
    """Compare what is predicted from the operations of RUNS with what happened."""
    tried = tried_releases(runs)
    comparisons = [
        each
        for one in tried.values()
        for other in tried.values()
        if one is not other and (not watched or one.release.id in watched) and (not asked or other.release.id in asked)
        for each in compared(one, other)
    ]
    if not comparisons:
        raise click.UsageError(f"{runs} has no complete runs of operations with two such releases")
    Console(width=120).print(_table(comparisons))
    wrong = [each for each in comparisons if not each.is_right]
    for comparison in wrong:
        happened = "works" if comparison.works else "fails"
        reason = f" ({comparison.sentence})" if comparison.sentence else ""
        click.echo(
            f"{comparison.operation}, watched with {comparison.watched}: {comparison.predicted} is predicted for {comparison.release}, "
            f"but it {happened}{reason}"
        )
    click.echo(f"{counted(len(comparisons), 'prediction')}, {len(wrong)} of them wrong")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
