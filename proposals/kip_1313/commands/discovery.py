"""`discovery`: what the request header of KIP-1313, a proposal, would break on real releases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from conformance.commands.errors import CouldNotTell, reported_as
from conformance.commands.output_console import status_line
from conformance.commands.selection import EVERY_RELEASE, runnable_targets
from fixtures.choosing.listeners import LAUNCHERS
from fixtures.errors import HarnessError
from fixtures.launchers import launch
from fixtures.registry.targets import Target
from fixtures.under_test.broker import Broker
from proposals.kip_1313.discovery import (
    RECORDED,
    UUIDS,
    Discovery,
    has_flexible_headers,
    measure,
    write_figures,
)
from reference_model.profiles.listeners import PLAINTEXT


@click.command()
@click.argument("patterns", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--uuids",
    type=click.IntRange(min=1),
    default=UUIDS,
    show_default=True,
    help="random ids per release",
)
@click.option("--seed", type=int, default=1313, show_default=True, help="seed of the random ids")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="releases at a time"
)
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="process", show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=RECORDED,
    help="the CSV file whose rows are replaced; by default that of the report",
)
def discovery(
    patterns: tuple[str, ...], uuids: int, seed: int, jobs: int, launcher: str, out: Path
) -> None:
    """Measure how releases answer unknown requests (KIP-1313).

    The requests have header v2 and header v3.

    TARGET is an id or glob; every Apache Kafka release if none is given. Releases whose newest request header is v1 are left
    out. Every row of FILE has the figures of one release; the report shows them on the page "Proposal".
    """
    targets = [
        target
        for target in runnable_targets(patterns or EVERY_RELEASE)
        if has_flexible_headers(target)
    ]
    if not targets:
        raise click.UsageError("none of these targets has requests with header v2")
    with (
        reported_as(CouldNotTell, HarnessError),
        status_line(f"measuring {len(targets)} releases"),
        ThreadPoolExecutor(jobs) as pool,
    ):
        found = list(pool.map(lambda each: _measured(each, launcher, uuids, seed), targets))
    write_figures(found, out)
    for each in found:
        click.echo(
            f"{each.release} {each.quorum}: header v2 {each.answered_with_header_2} of {each.with_header_2} answered, "
            f"header v3 {each.answered_with_header_3} of {each.with_header_3}; "
            f"the model predicts {each.predicted}"
        )
    click.echo(f"written to {out}")


def _measured(target: Target, launcher: str, uuids: int, seed: int) -> Discovery:
    with launch(target, launcher) as running:
        return measure(Broker(running, PLAINTEXT), uuids=uuids, seed=seed)
