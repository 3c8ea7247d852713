"""`learn`: learns a connection's state machine and compares it with the model's.

The machine is learned from outside. The model is the reference model.

It judges by the same call as the property of learned machines, `learn_listener`. It is no run of a role: there are no
records, cells or repeats, and a listener may take minutes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import combinations, islice
from pathlib import Path

import click

from conformance.commands.errors import CouldNotTell, InvalidFile, reported_as
from conformance.commands.output_console import status_line
from conformance.commands.selection import command_config_option, runnable_targets
from conformance.engine.examples_ahead import examples_at_once
from conformance.engine.jobs_plugin import fitting_jobs
from conformance.learning.alphabets import SIZES, SMALL
from conformance.learning.learner import learn_listener
from conformance.learning.querying import Listening
from conformance.learning.subjects import listening_to, machine_of_model, model_for
from fixtures import run_size
from fixtures.choosing.listeners import is_elsewhere
from fixtures.choosing.target_options import LAUNCHERS
from fixtures.client.command_config import read_properties
from fixtures.client.patience import Patience
from fixtures.client.traffic import TRAFFIC
from fixtures.errors import HarnessError, InvalidCommandConfig, NotJudgeable
from fixtures.kafka_setup.broker_properties import with_secured_controllers
from fixtures.launchers.given_broker import found_targets, given_listener
from fixtures.registry.targets import Target
from fixtures.under_test.broker import Broker
from fixtures.under_test.restartable_broker import LaunchedTarget
from reference_model.profiles.listeners import LISTENERS
from reports.machines.learned import Learned, as_json
from reports.machines.machine import as_dot, as_mermaid, as_table, distinguishing_words, in_one_line
from reports.site.machine_pages import write_learned
from reports.wording.escaping import printable

PATIENCE_S = 60.0
"""How long a listener may keep us waiting in vain."""
MAX_COMPARED = 6
"""With more targets than this, only the page compares them."""
MAX_WORDS = 5
"""Of the words that distinguish two targets, this many are printed."""


@click.command()
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--listener",
    "listeners",
    multiple=True,
    type=click.Choice(LISTENERS),
    help="learn only this listener; repeatable; default: all listeners of each target",
)
@click.option(
    "--alphabet",
    "size",
    type=click.Choice(SIZES),
    default=SMALL,
    show_default=True,
    help="how many letters: the small alphabet takes seconds, the large one up to a minute",
)
@click.option(
    "--extra-states",
    type=click.IntRange(0, 3),
    default=1,
    show_default=True,
    help="find every difference of a target with up to so many more states; each costs twenty times as many words",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="write a page of all machines, and machine.dot, machine.mmd and machine.json with all bytes into DIR/TARGET-LISTENER",
    metavar="DIR",
)
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="auto", show_default=True)
@click.option(
    "--malformed",
    is_flag=True,
    help="learn a broker at an address that is not on loopback: it is sent requests that no correct client sends",
)
@click.option(
    "--connections-per-second",
    type=click.IntRange(min=0),
    help="open at most so many connections to a broker in a second; 0: no limit; "
    f"default: {run_size.CONNECTIONS_PER_SECOND_ELSEWHERE} for an address that is not on loopback, otherwise 0",
)
@command_config_option
def learn(
    targets: tuple[str, ...],
    listeners: tuple[str, ...],
    size: str,
    extra_states: int,
    out: Path | None,
    launcher: str,
    malformed: bool,
    connections_per_second: int | None,
    command_config: Path | None,
) -> None:
    """Learn how connections behave, and compare with the model.

    A TARGET is an id or a glob that `kafka-conformance targets` lists, the folder of a build of Kafka, or the
    [PROTOCOL://]HOST:PORT of a broker that runs already. Of up to six targets, the shortest words that distinguish any
    two of them are printed.

    The exit status is 1 if a target differs from its model, and 10 if one could not be learned.
    """
    chosen = [each for text in targets for each in _targets(text, command_config, may_be_elsewhere=malformed)]
    results: list[Learned] = []
    failed = False
    for target in chosen:
        TRAFFIC.limit(run_size.connections_per_second(connections_per_second, is_elsewhere=is_elsewhere(target)))
        try:
            for learned, listening, seconds in _learn(target, launcher, listeners, size, extra_states):
                _print(learned, seconds, with_table=out is None)
                if out is not None:
                    _write(learned, listening, out)
                results.append(learned)
        except HarnessError as error:
            failed = True
            click.echo(f"{target.id} could not be learned: {printable(str(error))}", err=True)
    if len(chosen) <= MAX_COMPARED:
        for line in _between(results):
            click.echo(line)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_learned(out, results[::-1])
    if failed:
        raise SystemExit(CouldNotTell.exit_code)
    raise SystemExit(any(each.difference is not None for each in results))


def _targets(text: str, config: Path | None, *, may_be_elsewhere: bool) -> Sequence[Target]:
    if ":" not in text:
        return runnable_targets([text])
    with (
        reported_as(click.UsageError, ValueError),
        reported_as(InvalidFile, InvalidCommandConfig),
        reported_as(CouldNotTell, NotJudgeable),
    ):
        properties = read_properties(config) if config else {}
        targets = found_targets([given_listener(text, properties)], upstream=None, every_broker=False)
    if any(map(is_elsewhere, targets)) and not may_be_elsewhere:
        raise click.UsageError(
            f"{text} is not on loopback: learning sends requests that no correct client sends; --malformed allows it"
        )
    return targets


def _learn(
    target: Target, launcher: str, wanted: Sequence[str], size: str, extra_states: int
) -> Iterator[tuple[Learned, Listening, float]]:
    """Start a target, and learn its listeners one by one; yield for each how many seconds that took, too.

    Raises:
        HarnessError: it does not start, or a listener cannot be learned.
    """
    if not target.handshake:
        raise HarnessError("it does not know ApiVersions")
    target = with_secured_controllers(target, wanted)
    with status_line(f"starting {target.id}"):
        launched = LaunchedTarget(target, launcher)
    with closing(launched):
        for listener in launched.running.addresses:
            if listener in wanted or not wanted:
                begun_at = time.monotonic()
                with status_line(f"learning {target.id} {listener}"):
                    learned = _learn_listener(launched, listener, size, extra_states)
                yield *learned, time.monotonic() - begun_at


def _learn_listener(launched: LaunchedTarget, listener: str, size: str, extra_states: int) -> tuple[Learned, Listening]:
    patience = Patience(PATIENCE_S)
    broker = Broker(launched.running, listener, launched=launched, patience=patience)
    broker.calibrate()
    if fitting_jobs(broker) > 1:
        broker.share()
    listening = listening_to(broker, size, at_once=examples_at_once(broker))
    model = machine_of_model(model_for(broker), listening.alphabet)
    return learn_listener(listening, model, extra_states), listening


def _print(learned: Learned, seconds: float, *, with_table: bool) -> None:
    where = f"{learned.target} {learned.listener}"
    states = "?" if learned.machine is None else len(learned.machine.moves)
    verdict = "like the model" if learned.difference is None else "unlike the model"
    click.echo(
        printable(
            f"{where}: {states} states, {verdict}; {len(learned.letters)} letters, {learned.queries} connections, "
            f"{learned.steps} steps in {seconds:.1f} s; up to {learned.extra_states} more states are excluded"
        )
    )
    if learned.difference is not None:
        click.echo(printable(f"  {learned.difference}"))
    for letter in learned.left_out:
        click.echo(printable(f"  letter left out: {letter}"))
    if learned.stopped:
        click.echo(f"  not learned to the end: {learned.stopped}")
    for each in learned.unstable:
        seen = ", ".join(f"{output} {count} times" for output, count in each.seen.items())
        click.echo(printable(f"  unstable: {in_one_line(each.word)}: {seen}"))
    if with_table and learned.machine is not None:
        for line in as_table(learned.machine):
            click.echo(printable(f"  {line}"))


def _between(results: Sequence[Learned]) -> Iterator[str]:
    """Yield what distinguishes any two targets on the same listener."""
    for one, other in combinations(results, 2):
        if one.listener != other.listener or one.machine is None or other.machine is None:
            continue
        words = list(islice(distinguishing_words(one.machine, other.machine), MAX_WORDS))
        where = f"{one.target} and {other.target} on {one.listener}"
        if not words:
            yield printable(f"{where}: equal machines")
            continue
        yield printable(f"{where}:")
        for word in words:
            first, second = one.machine.run(word)[-1], other.machine.run(word)[-1]
            yield printable(f"  {in_one_line(word)}: {first}, and {second}")


def _write(learned: Learned, listening: Listening, out: Path) -> None:
    folder = out / f"{learned.target.replace('/', '-').replace(':', '-')}-{learned.listener}"
    folder.mkdir(parents=True, exist_ok=True)
    exchanges = [{"word": list(word), "received": data.hex()} for word, data in listening.received.items()]
    description = {**as_json(learned, listening.sent()), "exchanges": exchanges}
    (folder / "machine.json").write_text(f"{json.dumps(description, indent=1)}\n", encoding="utf-8")
    if learned.machine is not None:
        title = f"{learned.target} {learned.listener}"
        (folder / "machine.dot").write_text(as_dot(learned.machine, title), encoding="utf-8")
        (folder / "machine.mmd").write_text(as_mermaid(learned.machine), encoding="utf-8")
