"""`replay`: judges one stored failure again."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.commands.errors import UnknownName
from conformance.commands.progress import status_line
from conformance.commands.selection import selected_targets
from conformance.failures.drawn_values import UnreadableValues
from conformance.failures.stored_failures import (
    NoLongerApplies,
    NoStoredFailure,
    StoredFailure,
    read_failure,
    still_fails,
)
from fixtures.client.running_broker import Address
from fixtures.errors import HarnessError
from fixtures.launchers import choose_launcher, launch
from fixtures.launchers.address import address_target
from fixtures.plugin import LAUNCHERS, is_loopback, parse_address
from fixtures.registry.targets import Target
from fixtures.under_test.broker import Broker
from reports.escaping import printable
from reports.run.exit_status import ExitStatus


@click.command()
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, exists=True))
@click.option("--bootstrap-server", metavar="HOST:PORT", help="judge the broker at this address")
@click.option(
    "--broker",
    metavar="ID",
    help="judge this target of the registry; default: the target of the failure",
)
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="auto", show_default=True)
@click.option(
    "--even-remote",
    is_flag=True,
    help="allow an address that is not on the loopback interface",
)
def replay(
    path: Path, bootstrap_server: str | None, broker: str | None, launcher: str, even_remote: bool
) -> None:
    """Judge one stored failure again, and say whether it still fails.

    FILE is a folder failures/SIGNATURE of a run, or a file in it. The exit status is 1 if it still fails, 0 if it
    does not, and 10 if it cannot be judged.
    """
    try:
        failure = read_failure(path)
        target = _target(failure, bootstrap_server, broker, even_remote=even_remote)
        with status_line("judging the failure again"):
            sentence, status = _judge(failure, target, launcher)
    except NoStoredFailure as error:
        raise UnknownName(str(error)) from error
    except (HarnessError, UnreadableValues) as error:
        click.echo(f"inconclusive: {printable(str(error))}")
        raise SystemExit(ExitStatus.HARNESS_ERROR) from error
    click.echo(printable(sentence))
    raise SystemExit(status)


def _target(
    failure: StoredFailure, address: str | None, broker: str | None, *, even_remote: bool
) -> Target:
    if address is not None and broker is not None:
        raise click.UsageError("give either --broker or --bootstrap-server, not both")
    if address is None:
        return _target_named(broker or _named_target(failure))
    place = _read_address(address)
    if place is None:
        raise click.UsageError(f"--bootstrap-server {address!r} is not HOST:PORT")
    if not is_loopback(place.host) and not even_remote:
        raise click.UsageError(
            f"{address} is not on the loopback interface; add --even-remote to send the failing bytes to it anyway"
        )
    return address_target(place)


def _named_target(failure: StoredFailure) -> str:
    if _read_address(failure.target) is not None:
        raise click.UsageError(
            "the failure was found at an address, so --bootstrap-server is required"
        )
    return failure.target


def _target_named(pattern: str) -> Target:
    targets = selected_targets([pattern])
    if len(targets) > 1:
        raise click.UsageError(f"{pattern!r} names {len(targets)} targets; give one")
    return targets[0]


def _read_address(text: str) -> Address | None:
    try:
        return parse_address(text)
    except ValueError:
        return None


def _judge(failure: StoredFailure, target: Target, launcher: str) -> tuple[str, int]:
    name, _ = choose_launcher(target, launcher)
    with launch(target, name) as running:
        if failure.listener not in running.addresses:
            raise HarnessError(f"{target.id} has no listener {failure.listener}")
        broker = Broker(running, failure.listener)
        broker.calibrate()
        try:
            error = still_fails(failure, broker)
        except NoLongerApplies as holds:
            return f"does not fail: {failure.clause} on {target.id}: {holds}", 0
    if error is None:
        return f"no longer fails: {failure.clause} on {target.id}", 0
    # Without pytest, a bare assertion has no message.
    first_line = str(error).partition("\n")[0] or failure.first_line
    return f"still fails: {failure.clause} on {target.id}: {first_line}", 1
