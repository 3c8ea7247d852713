"""`replay`: judges stored failures again.

Each failure is judged by the property of its role that failed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis.errors import UnsatisfiedAssumption

from clauses import marks
from clauses.catalogue import CatalogueError, Role
from clauses.operations import clause_or_row
from conformance.assertions.brokers_at_fault import slow_answers
from conformance.assertions.contradictions import contradicted_must, is_of_model
from conformance.assertions.errors import NotSeen, Unjudged
from conformance.assertions.evidence import evidence_of
from conformance.commands.errors import InvalidFile, UnknownName, reported_as
from conformance.commands.output_console import status_line
from conformance.commands.selection import command_config_option
from conformance.engine.planning import checks_of
from conformance.engine.repeating import FailingExample, run_again
from conformance.failures.drawn_values import UnreadableValues, read_values
from conformance.failures.stored_failures import NoStoredFailure, StoredFailure, read_failure
from conformance.roles.role import RoleInRun
from conformance.roles.role_registry import roles_named
from conformance.roles.stored_targets import ReplayOptions
from conformance.vectors.vector_set import PLAYS, InvalidVectors, load_vectors
from fixtures.choosing.target_options import AUTO, LAUNCHERS
from fixtures.cleanup.confinement import kept_from_others
from fixtures.client.addresses import Address, parse_address
from fixtures.client.command_config import read_properties
from fixtures.errors import (
    HarnessError,
    InvalidCommandConfig,
    InvalidTargetFile,
    UnknownClient,
    UnknownTarget,
)
from fixtures.launchers.given_broker import GivenListener, given_listener
from fixtures.registry.likeness import LIKE_HELP
from fixtures.registry.targets import Target
from fixtures.under_test.broker import Broker
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.control import starved
from fixtures.under_test.judged_target import JudgedTarget
from fixtures.under_test.trial import Trial
from reports.records import HEADER_FILE, Verdict
from reports.repeats import ShownBy
from reports.run.exit_status import ExitStatus
from reports.wording.escaping import printable
from reports.wording.verdict_labels import with_doubts
from strategies.histories import ALONE
from strategies.hypothesis_adapter import body_of

BY_TIME_ALONE = ": only time showed it in its run, so the machine may have been too busy then"


@click.command()
@click.argument(
    "paths",
    metavar="FILE|VECTOR...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@click.option(
    "--bootstrap-server",
    multiple=True,
    metavar="[PROTOCOL://]HOST:PORT",
    help="judge the broker at this address; PROTOCOL is a value of security.protocol; repeatable, for its further listeners",
)
@command_config_option
@click.option(
    "--upstream",
    metavar="HOST:PORT",
    help="the address given with --bootstrap-server is that of a proxy, and this one is that of its upstream broker",
)
@click.option(
    "--broker",
    metavar="ID",
    help="judge this target of the registry; default: the target of the failure",
)
@click.option("--kafka-home", metavar="DIR", help="judge the build of Kafka in this folder")
@click.option("--like", metavar="ID", default="", help=f"{LIKE_HELP}; here: that of the failure")
@click.option("--launcher", type=click.Choice(LAUNCHERS), default=AUTO, show_default=True)
@click.option(
    "--even-remote",
    is_flag=True,
    help="allow an address that is not on the loopback interface",
)
@click.option(
    "--client",
    metavar="ID",
    help="for a client's failure: play its script to this client; default: the client of the failure",
)
@click.option(
    "--client-cmd",
    metavar="COMMAND",
    help="for a client's failure: play its script to any program, 'prog {bootstrap} {timeout}'; default: the command "
    "of the failure",
)
@click.option(
    "--client-unconfined",
    is_flag=True,
    help="let the command write where runs are kept, and all else that it may not: see judge",
)
def replay(
    paths: Sequence[Path],
    bootstrap_server: Sequence[str],
    command_config: Path | None,
    upstream: str | None,
    broker: str | None,
    kafka_home: str | None,
    like: str,
    launcher: str,
    even_remote: bool,
    client: str | None,
    client_cmd: str | None,
    client_unconfined: bool,
) -> None:
    """Judge stored failures again: do they still fail?

    FILE is a folder failures/SIGNATURE of a run, or a file in it; several are judged one after the other. A broker gets
    the same requests again, a client the same script. VECTOR is the id of a play in vectors/plays.json, which --client
    or --client-cmd plays to a client; `vectors run` judges a broker by vectors. The exit status is 1 if one still
    fails, otherwise 10 if one cannot be judged, and 0 if none fails. A note, such as an operation that is only
    unsupported, fails nothing.
    """
    options = ReplayOptions(
        listeners=_given_listeners(bootstrap_server, command_config),
        upstream=_given_upstream(upstream),
        broker=broker,
        folder=kafka_home,
        like=like,
        even_remote=even_remote,
        launcher=launcher,
        client=client,
        client_command=client_cmd,
        client_unconfined=client_unconfined,
    )
    with reported_as(UnknownName, NoStoredFailure), reported_as(InvalidFile, InvalidVectors):
        # One that cannot be read is refused before any is judged.
        failures = [_read(path) for path in paths]
    with kept_from_others(*(folder for path in paths if path.exists() for folder in runs_of(path))):
        statuses = [_replayed(failure, options) for failure in failures]
    raise SystemExit(min(statuses, key=[1, ExitStatus.HARNESS_ERROR, 0].index))


def _read(path: Path) -> StoredFailure:
    """Return a failure of a role that there is.

    Raises:
        NoStoredFailure: there is none.
    """
    failure = read_failure(path) if path.exists() else failure_of_vector(str(path))
    roles_named(failure.role)
    return failure


def failure_of_vector(vector_id: str) -> StoredFailure:
    """Return a play of the vectors as if a client had failed it.

    Raises:
        NoStoredFailure: neither a file nor a play is named so.
        InvalidVectors: the set cannot be read.
    """
    found = load_vectors().find(vector_id)
    if found is None:
        raise NoStoredFailure(f"{vector_id} is neither a folder of a failure nor the id of a vector")
    kind, vector = found
    if kind != PLAYS:
        raise NoStoredFailure(f"{vector_id} is a vector of {kind}: only plays are replayed; see `vectors run`")
    return StoredFailure(
        signature=vector_id,
        clause=vector["clauses"][0],
        property_name=vector["property"],
        target=f"the client of {vector_id}",
        listener=vector["listener"],
        message=vector["sentence"],
        example=f"{{'script': {vector['script']}}}",
        sent={},
        needs_earlier_requests=False,
        role=Role.CLIENT.value,
    )


def runs_of(path: Path) -> Iterator[Path]:
    """Yield the folder in which the run of a failure is kept, unless the failure was copied elsewhere."""
    failure = Path(os.path.realpath(path if path.is_dir() else path.parent))
    run = failure.parent.parent
    if failure.parent.name == "failures" and (run / HEADER_FILE).is_file():
        yield run.parent


def _replayed(failure: StoredFailure, options: ReplayOptions) -> int:
    """Judge one failure again and say what came of it; return the exit status."""
    try:
        with (
            status_line("judging the failure again"),
            roles_named(failure.role)[0].from_stored(failure, options) as judged,
        ):
            sentence, status = found_again(failure, judged)
    except (NoStoredFailure, UnknownTarget, UnknownClient) as error:
        raise UnknownName(str(error)) from error
    except InvalidTargetFile as error:
        raise InvalidFile(str(error)) from error
    except (HarnessError, UnreadableValues) as error:
        click.echo(f"inconclusive: {printable(str(error))}")
        return ExitStatus.HARNESS_ERROR
    click.echo(printable(sentence))
    return status


def _given_listeners(addresses: Sequence[str], file: Path | None) -> tuple[GivenListener, ...]:
    """Return the listeners at the given addresses."""
    if file is not None and not addresses:
        raise click.UsageError("--command-config needs --bootstrap-server")
    try:
        properties = {} if file is None else read_properties(file)
        return tuple(given_listener(address, properties) for address in addresses)
    except InvalidCommandConfig as error:
        raise click.UsageError(f"--command-config {error}") from error
    except ValueError as error:
        raise click.UsageError(f"--bootstrap-server {error}") from error


def _given_upstream(address: str | None) -> Address | None:
    try:
        return None if address is None else parse_address(address)
    except ValueError as error:
        raise click.UsageError(f"--upstream {error}") from error


def found_again(failure: StoredFailure, judged: JudgedTarget) -> tuple[str, int]:
    """Judge the failure again; return a sentence and the exit status."""
    where = f"{failure.clause} on {judged.target.id}"
    try:
        error = still_fails(failure, judged)
    except NoLongerApplies as holds:
        return f"does not fail: {where}: {holds}", 0
    except Unjudged as note:
        return f"no longer fails: {where}: {note.args[0]}", 0
    if error is None:
        by_time = failure.evidence == ShownBy.TIME
        return f"no longer fails: {where}{BY_TIME_ALONE if by_time else ''}", 0
    # Without pytest, a bare assertion has no message.
    seen = f"{where}: {with_doubts(str(error) or failure.first_line)}"
    too_slow = _too_slow(judged) if evidence_of(error) is ShownBy.TIME else ""
    if too_slow:
        return f"inconclusive: {seen}\nonly time shows it, and {too_slow}", ExitStatus.HARNESS_ERROR
    if isinstance(error, Unjudged):
        return f"still differs: {seen}\nthat fails nothing, as no source says how to judge it", 0
    return f"still fails: {seen}", 1


def _too_slow(judged: JudgedTarget) -> str:
    """Return why a client that was just tried cannot be judged by time.

    Return an empty text if it can be judged, or if the target is no client. Runs follow the same rule.
    """
    if not isinstance(judged, Trial | ClientUnderTest):
        return ""
    latest = judged.latest
    if latest is not None and (why := starved(latest.result.waited_ms)):
        return why
    if isinstance(judged, ClientUnderTest):
        return judged.too_slow()
    return judged.trials.too_slow() or ("" if latest is None else slow_answers(latest.recording))


class NoLongerApplies(Exception):
    """The stored failure does not apply to this target.

    The target lacks what the property needs, or the property rejects its example.
    """


def role_of_failure(failure: StoredFailure, target: Target) -> type[RoleInRun[Any]]:
    """Return the role in which a run judges a target that may have a stored failure.

    Raises:
        NoStoredFailure: there is no such role.
    """
    return next(role for role in roles_named(failure.role) if role.is_role_of(target))


def still_fails(failure: StoredFailure, target: JudgedTarget) -> AssertionError | None:
    """Judge the failing example again.

    Returns:
        The violation; None if the target now conforms.

    Raises:
        Unjudged: a violation is none any more, but no source says how to judge what is seen now.
        NoStoredFailure: the role is unknown, or the property no longer exists.
        UnreadableValues: the values cannot be read back, or there are none.
        HarnessError: the example could not be judged.
        NoLongerApplies: a run would not judge the property on this target, or not with this example.
    """
    if not failure.example:
        raise UnreadableValues(
            f"this failure is about {failure.property_name} itself, not about one input: judge the target again with "
            f"pytest conformance/ -k {failure.property_name}"
        )
    if failure.needs_earlier_requests:
        raise UnreadableValues(
            "it occurred only after requests of other examples on the same connection; examples no longer share "
            "connections, so run its script instead"
        )
    values: dict[str, Any] = dict(read_values(failure.example))
    role = role_of_failure(failure, target.target)
    judged = role.property_named(failure.property_name)
    if "history" in signature(body_of(judged)).parameters:
        # Older runs sent each request alone on its connection.
        values.setdefault("history", ALONE)
    body = _body_for(judged, role.parameter, values)
    _check_applies(failure, judged, role, target)
    example = FailingExample(body, {role.parameter: target, **values})
    try:
        run_again(target, example)
    except Unjudged as note:
        if failure.verdict == Verdict.VIOLATES:
            raise
        return note
    except AssertionError as error:
        return _violation_of(failure, judged, target, error)
    except NotSeen as error:
        raise HarnessError(
            f"{failure.property_name} cannot judge this input here: the suite lacks something for it, or what it compares "
            "the target with does not answer"
        ) from error
    except UnsatisfiedAssumption as error:
        raise NoLongerApplies(f"{failure.property_name} does not apply to this input on this target") from error
    return None


def _check_applies(
    failure: StoredFailure,
    judged: Callable[..., None],
    role: type[RoleInRun[Any]],
    target: JudgedTarget,
) -> None:
    """Check that a run would judge a failure's property on a target.

    Raises:
        NoStoredFailure: its clause no longer exists.
        NoLongerApplies: the clause does not apply to the target.
        HarnessError: the suite lacks something to judge it by.
    """
    try:
        clause = clause_or_row(failure.clause)
    except CatalogueError as error:
        raise NoStoredFailure(f"the clause {failure.clause} no longer exists") from error
    needs = [need for mark in _marks_of(judged) if mark.name == marks.NEEDS for need in mark.args]
    reason = role.why_not_applicable(clause, needs, target)
    if reason in role.reasons_of_suite:
        raise HarnessError(f"{failure.clause} cannot be judged on {target.target.id}: {reason}")
    if reason is not None:
        raise NoLongerApplies(reason)


def _violation_of(
    failure: StoredFailure,
    judged: Callable[..., None],
    target: JudgedTarget,
    error: AssertionError,
) -> AssertionError | None:
    """Return how an error violates the clause of a stored failure.

    Return None if it does not: a deviation from the model may no longer contradict the MUST.
    """
    own = {mark.args[0] for mark in _marks_of(judged) if mark.name == marks.CLAUSE}
    if failure.clause in own or not all(map(is_of_model, own)) or not isinstance(target, Broker):
        return error
    violated = contradicted_must(target, error)
    return None if violated is None or violated.clause != failure.clause else violated.error


def _body_for(judged: Callable[..., None], parameter: str, values: Collection[str]) -> Callable[..., None]:
    """Return the function that judges stored values: a property, or the check of it that takes them.

    Raises:
        UnreadableValues: neither takes these values.
    """
    for body in (*checks_of(_marks_of(judged)), body_of(judged)):
        if signature(body).parameters.keys() == {parameter, *values}:
            return body
    takes = signature(body_of(judged)).parameters.keys() - {parameter}
    gone, new = sorted({*values} - takes), sorted(takes - {*values})
    changes = [f"no longer takes {', '.join(gone)}"] if gone else []
    changes += [f"now also takes {', '.join(new)}"] if new else []
    raise UnreadableValues(f"{judged.__name__} {' and '.join(changes)}")


def _marks_of(judged: Callable[..., None]) -> Sequence[pytest.Mark]:
    return getattr(judged, "pytestmark", ())
