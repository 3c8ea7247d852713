"""`life`: judges the nodes of a release while they start, run and end.

It is no run of a role: there are no records and no cells. A run judges brokers that are ready, and waits for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import click

from clauses.exit_statuses import NOT_JUDGED
from conformance.commands.errors import UnknownName
from conformance.commands.output_console import status_line
from conformance.commands.selection import selected_targets
from conformance.life.judging import LifeViolation, violations_in
from conformance.life.sightings import Sighting
from conformance.life.stories import MAX_CONTROLLERS, Life, life_of
from fixtures.client.own_connection import Reply
from fixtures.errors import HarnessError
from fixtures.launchers.nodes import Quorum
from fixtures.launchers.startable_products import is_startable_product
from fixtures.registry.targets import Target
from reference_model.profiles.profile import KRAFT, release_order
from reports.wording.escaping import printable
from wire.error_codes import ErrorCode

SHOWN_BYTES = 32
_FIRST_WITH_DYNAMIC_QUORUM = "3.9"


@click.command()
@click.argument("targets", metavar="RELEASE...", nargs=-1, required=True)
@click.option(
    "--controllers",
    "number",
    type=click.IntRange(1, MAX_CONTROLLERS),
    default=1,
    show_default=True,
    help="more than one: first one alone, then all; then the leader is killed, the next one shut down, and in the end "
    "all of them",
)
@click.option(
    "--quorum",
    type=click.Choice([each.value for each in Quorum]),
    default=Quorum.STATIC.value,
    show_default=True,
    help="how the controllers know each other: by their properties, by the storage of each, or by being added to the "
    "first one while they run; the last two since 3.9",
)
@click.option("--json", "is_json", is_flag=True, help="print everything that was seen, with its bytes")
def life(targets: tuple[str, ...], number: int, quorum: str, is_json: bool) -> None:
    """Judge nodes while they start, have no quorum, and end.

    A RELEASE is an id or a glob that `kafka-conformance targets` lists, also of another broker or a proxy. It is
    started as a process, and its listeners are asked for their versions all the time. A response may be missing, but
    what is answered has to be right: v0 with a table and without an error, and finalized features with their epoch.

    The exit status is 1 if an answer breaks a clause. Otherwise it is 10 if a release did not start or
    ended by itself.
    """
    how = Quorum(quorum)
    chosen = selected_targets(targets)
    for target in chosen:
        _check(target, number, how)
    documents, has_violations, failed = [], False, False
    for target in chosen:
        try:
            with status_line(f"{target.id}: starting and ending its nodes"):
                seen = life_of(target, number, quorum=how)
        except HarnessError as error:
            click.echo(printable(f"{target.id}: {error}"), err=True)
            failed = True
            continue
        violations = violations_in(seen.sightings)
        has_violations |= bool(violations)
        documents.append(_as_json(seen, violations))
        if not is_json:
            click.echo("\n".join(_lines(seen, violations)))
        if seen.failed:
            click.echo(printable(f"{target.id}: {seen.failed}"), err=True)
            failed = True
    if is_json:
        click.echo(json.dumps(documents, indent=1))
    raise SystemExit(NOT_JUDGED if failed and not has_violations else int(has_violations))


def _check(target: Target, number: int, quorum: Quorum) -> None:
    """Refuse a target that cannot have this life.

    Raises:
        UnknownName: it is started in another way, or has no quorum.
    """
    is_release = bool({"process", "home"} & target.launchers.keys())
    if not target.handshake or not (is_release or is_startable_product(target)):
        raise UnknownName(
            f"{target.id} has no ApiVersions, or is not started as a process on a port that the suite chooses"
        )
    is_alone = number == 1 and quorum is Quorum.STATIC
    if not is_alone and target.quorum != KRAFT:
        raise UnknownName(f"{target.id} has no quorum of controllers; leave out --controllers and --quorum")
    if not is_alone and not is_release:
        raise UnknownName(f"{target.id} is no release of Kafka; leave out --controllers and --quorum")
    if quorum is not Quorum.STATIC and release_order(target.release) < release_order(_FIRST_WITH_DYNAMIC_QUORUM):
        raise UnknownName(
            f"{target.id} has no dynamic quorum, which there is since {_FIRST_WITH_DYNAMIC_QUORUM}; leave out --quorum"
        )


def _lines(seen: Life, violations: Sequence[LifeViolation]) -> Iterator[str]:
    """Yield what was done and seen in the order of time, and what broke a clause."""
    ready = "never ready" if seen.ready_s is None else f"ready after {seen.ready_s:.1f} s"
    yield f"{seen.target}: {ready}"
    events = [(each.at_s, f"-- {each.words}") for each in seen.phases]
    events += [(each.at_s, f"   {_in_words(each)}") for each in seen.sightings]
    for at_s, words in sorted(events):
        yield f"{at_s:8.2f} s {words}"
    yield from (f"note: {printable(each)}" for each in seen.notes)
    for violation in violations:
        sighting = violation.sighting
        where = f"node {sighting.node_id}, {sighting.listener}, after {sighting.at_s:.2f} s"
        sentence = f"{violation.sentence}{_how_often(sighting)}"
        yield printable(f"{violation.clause} is violated: {sentence} ({where}): {_beginning(sighting)}")


def _in_words(sighting: Sighting) -> str:
    return f"node {sighting.node_id} {sighting.listener} v{sighting.api_version}: {_what_it_did(sighting)}"


def _what_it_did(sighting: Sighting) -> str:
    if sighting.reply is not Reply.ANSWERED:
        return str(sighting.reply)
    table, code = sighting.table, sighting.error_code
    if code:
        return f"{ErrorCode(code).name} ({code}){_how_often(sighting)}"
    if table is None:
        return f"cannot be read: {_beginning(sighting)}"
    words = f"{len(table.api_keys)} APIs"
    if table.finalized_features:
        levels = ", ".join(f"{each.name} {each.max_version_level}" for each in table.finalized_features)
        epoch = "with" if table.finalized_features_epoch >= 0 else "without"
        words += f"; finalized {epoch} an epoch: {levels}"
    return printable(words)


def _how_often(sighting: Sighting) -> str:
    """Return how many responses did the same, and in what time; empty for a single one."""
    if sighting.times == 1:
        return ""
    return f" {sighting.times} times in {(sighting.until_s - sighting.at_s) * 1000:.0f} ms"


def _beginning(sighting: Sighting) -> str:
    more = " ..." if len(sighting.payload) > SHOWN_BYTES else ""
    return f"{sighting.payload[:SHOWN_BYTES].hex(' ')}{more}"


def _as_json(seen: Life, violations: Sequence[LifeViolation]) -> dict[str, object]:
    return {
        "target": seen.target,
        "ready_s": None if seen.ready_s is None else round(seen.ready_s, 3),
        "phases": [{"at_s": round(each.at_s, 3), "words": each.words} for each in seen.phases],
        "sightings": [_sighting_as_json(each) for each in seen.sightings],
        "notes": list(seen.notes),
        "failed": seen.failed,
        "violations": [
            {"clause": each.clause, "sentence": each.sentence, "sighting": _sighting_as_json(each.sighting)}
            for each in violations
        ],
    }


def _sighting_as_json(sighting: Sighting) -> dict[str, object]:
    return {
        "at_s": round(sighting.at_s, 3),
        "node_id": sighting.node_id,
        "listener": sighting.listener,
        "api_version": sighting.api_version,
        "reply": sighting.reply.value,
        "times": sighting.times,
        "until_s": round(sighting.until_s, 3),
        "bytes": sighting.payload.hex(),
    }
