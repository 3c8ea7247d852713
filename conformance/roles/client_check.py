"""The play of a healthy broker by which clients are checked before a run.

With the option `--client-check` it takes the place of the run, and what was seen is printed. A run with `--client-cmd`
begins with it, and ends if the command does not even start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import click
import pytest

from conformance.assertions.play_summary import quoted_errors, software_in_words, summary
from fixtures.choosing.clients import ChosenClient
from fixtures.client_processes.driver_process import COULD_NOT_START
from fixtures.errors import HarnessError
from fixtures.scripted_broker.playing import Play, PlayPool
from fixtures.under_test.client import client_under_test
from reference_model.clients.rules.first_reaction import stops_short
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.software_rules import names_nothing
from reference_model.clients.scripts.script import HEALTHY_SCRIPT
from reports.run.exit_status import ExitStatus
from reports.wording.escaping import printable


def check_clients(chosen: Sequence[ChosenClient]) -> int:
    """Play the healthy broker to each client, print what was seen, and return the gravest exit status."""
    with closing(PlayPool(1)) as pool:
        statuses = [_check(each, pool) for each in chosen]
    return min(statuses, key=[ExitStatus.HARNESS_ERROR, ExitStatus.INCOMPLETE, 0].index)


def unable_to_start(config: pytest.Config, chosen: Sequence[ChosenClient]) -> int | None:
    """Return the exit status if the only client is a command that does not start; otherwise None."""
    is_command = config.getoption("--client-cmd") is not None and len(chosen) == 1
    if not is_command or config.option.collectonly or config.option.help:
        return None
    try:
        with closing(PlayPool(1)) as pool, client_under_test(chosen[0].client, pool) as client:
            play = client.plays.of(HEALTHY_SCRIPT)
    except HarnessError:
        # The run says so in its cells.
        return None
    if play.recording.all_connections or play.result.exit_status not in COULD_NOT_START:
        return None
    click.echo(printable(f"{chosen[0].id} does not start, so nothing was judged: {play.result.summary}"))
    return ExitStatus.HARNESS_ERROR


def _check(chosen: ChosenClient, pool: PlayPool) -> int:
    try:
        with client_under_test(chosen.client, pool) as client:
            play = client.healthy
    except HarnessError as error:
        click.echo(printable(str(error)))
        return ExitStatus.HARNESS_ERROR
    for line in seen_lines(chosen.id, play):
        click.echo(printable(line))
    return ExitStatus.INCOMPLETE if stops_short(play.recording) else 0


def seen_lines(name: str, play: Play) -> Iterator[str]:
    """Yield what was seen of a client in the play of a healthy broker."""
    yield f"{name} works with a healthy broker: {summary(play)}"
    short = stops_short(play.recording)
    if short:
        yield f"But {short}."
    remark = names_nothing(play.recording)
    if remark:
        yield f"Note: {remark}."
    for move in History(play.recording).moves:
        ids = "; gives the ids of KIP-1242" if any(move.gives_ids) else ""
        yield f"  {move}{ids}"
    yield f"It {software_in_words(play.recording)}."
    yield from quoted_errors(play.result).splitlines()
