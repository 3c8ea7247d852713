"""`vectors`: the handshake as data.

It lists the vectors, shows them, judges a broker by them, and checks the results of others.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from clauses.catalogue import Level, catalogue
from conformance.commands.errors import CouldNotTell, InvalidFile, UnknownName, reported_as
from conformance.vectors.broker_check import BrokerCheck, Disagreement
from conformance.vectors.broker_vectors import BrokerVector
from conformance.vectors.own_identity import with_ids
from conformance.vectors.results import FAIL, PASS, SKIP, checked_results, result_line
from conformance.vectors.vector_set import KINDS, InvalidVectors, VectorSet, load_vectors
from fixtures.client.addresses import Address, parse_address
from fixtures.client.cluster_client import ask_cluster_metadata
from fixtures.client.preflight import check_address
from fixtures.client.transport import Transport, open_tcp
from fixtures.errors import ConnectionFailed, NotJudgeable
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT, SASL_PLAINTEXT
from reference_model.profiles.profile import RECORDED_RELEASES
from reports.wording.escaping import printable

MAX_SHOWN_BYTES = 48
VIOLATES, SHOULD, DIFFERS = "violates", "should", "differs"
MEANING = """"violates": a MUST is broken; "should": a SHOULD is; "differs": a PIN, releases of Apache Kafka do otherwise, or do the same and others not, and no source says what is right."""
MEANING_WITH_RELEASE = """"violates": a MUST is broken, or the broker does otherwise than the release (PIN); "should": a SHOULD is broken."""
OPTIONS = {SASL_PLAINTEXT: "a listener with SASL (--sasl)", CONTROLLER: "a controller's listener (--controller)"}
"""What a vector needs besides the plaintext listener, by listener."""
NO_IDS = "name the broker's ids, which it does not state, or whose cluster id has not 22 characters (--cluster-id, --node-id)"
OTHER_TABLE = "expect other APIs in versions that the broker does not list, or to be refused in versions that it lists"


def _loaded() -> VectorSet:
    with reported_as(InvalidFile, InvalidVectors):
        return load_vectors()


@click.group()
def vectors() -> None:
    """Show, run and check the vectors: the handshake as data."""


@vectors.command("list")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="only this kind; repeatable")
@click.option("--clause", metavar="ID", default="", help="only vectors about this clause")
def list_vectors(kinds: Sequence[str], clause: str) -> None:
    """List the vectors: kind, id, level and what is right."""
    for kind, vector in _loaded():
        if (not kinds or kind in kinds) and (not clause or clause in vector["clauses"]):
            click.echo(f"{kind}  {vector['id']}  {vector['level']}  {vector['sentence']}")


@vectors.command()
@click.argument("vector_id", metavar="ID")
def show(vector_id: str) -> None:
    """Show one vector: its bytes, its fields, its clauses and why it matters."""
    kind, vector = _found(_loaded(), vector_id)
    click.echo(f"{vector_id} ({kind}, {vector['level']})\n{vector['sentence']}\n")
    for clause in vector["clauses"]:
        own = catalogue()[clause]
        click.echo(f"{clause} ({own.level}): {own.statement}\n  {own.location}\n  {own.meaning}")
    click.echo()
    left = {key: value for key, value in vector.items() if key not in ("id", "clauses", "level", "sentence")}
    click.echo(json.dumps(left, indent=1, ensure_ascii=False))


def _found(loaded: VectorSet, vector_id: str) -> tuple[str, Mapping[str, Any]]:
    found = loaded.find(vector_id)
    if found is not None:
        return found
    if vector_id in loaded.index["retired"]:
        raise UnknownName(f"{vector_id} is no longer in the set")
    near = [each["id"] for _, each in loaded if each["id"].startswith(vector_id.rpartition("-")[0])][:3]
    hint = f"; near are {', '.join(near)}" if near else "; `kafka-conformance vectors list` shows them"
    raise UnknownName(f"no vector has the id {vector_id}{hint}")


class _AddressOption(click.ParamType[Address]):
    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        if isinstance(value, Address):
            return value
        try:
            return parse_address(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


_ADDRESS = _AddressOption()


@vectors.command()
@click.argument("address", metavar="HOST:PORT", type=_ADDRESS)
@click.option(
    "--sasl",
    type=_ADDRESS,
    metavar="HOST:PORT",
    help="a listener with SASL PLAIN of the same broker, which knows the user that index.json names",
)
@click.option(
    "--controller", type=_ADDRESS, metavar="HOST:PORT", help="the listener of a KRaft controller of the same node"
)
@click.option(
    "--cluster-id",
    default="",
    help="the broker's cluster id, of 22 characters; without it, it is asked for with Metadata",
)
@click.option(
    "--node-id",
    type=int,
    help="the broker's node id; without it, it is that of the node that Metadata lists at HOST:PORT",
)
@click.option(
    "--release",
    type=click.Choice(RECORDED_RELEASES),
    metavar="RELEASE",
    help="judge as this release of Apache Kafka; without it by the text of the KIPs, where a PIN is only reported",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="write each result as a JSON line, as `vectors check` reads them",
)
def run(
    address: Address,
    sasl: Address | None,
    controller: Address | None,
    cluster_id: str,
    node_id: int | None,
    release: str | None,
    out: Path | None,
) -> None:
    """Judge the broker at HOST:PORT by the vectors alone.

    Vectors that name the broker's ids (KIP-1242) get its own: those of the options, or those that it states in Metadata
    v2, or in DescribeCluster if it lists that.

    "violates" is a broken MUST, "should" a broken SHOULD. "differs" is a PIN: releases of Apache Kafka do otherwise, or
    some do the same and others not, and no source says what is right; it is no violation, unless --release is given.
    """
    addresses = {PLAINTEXT: address, SASL_PLAINTEXT: sasl, CONTROLLER: controller}
    listeners = {name: own for name, own in addresses.items() if own is not None}
    with reported_as(CouldNotTell, NotJudgeable):
        check_address(address)
    begun_at = time.monotonic()

    def open_stream(listener: str) -> Transport:
        return open_tcp(listeners[listener])

    check = BrokerCheck(open_stream, release=release or "")
    lines: list[str] = []
    found: list[Disagreement] = []
    left_out: Counter[str] = Counter()
    ended: ConnectionFailed | None = None
    latest = ""
    try:
        ids = ids_of(address, cluster_id, node_id)
        for vector in _loaded().of_brokers():
            own, reason = for_broker(vector, listeners, ids, check)
            if own is None:
                left_out[reason] += 1
                lines.append(result_line(vector.id, SKIP, reason=reason))
                continue
            disagreement = check.check(own)
            latest = vector.id
            more = {} if disagreement is None else {"clause": disagreement.clause, "level": disagreement.level.value}
            lines.append(result_line(vector.id, PASS if disagreement is None else FAIL, **more))
            found += [] if disagreement is None else [disagreement]
    except ConnectionFailed as error:
        ended = error
    if out is not None:
        out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for line in report_lines(found, pins_bind=bool(release)):
        click.echo(line)
    for line in sum_lines(
        found, left_out, count=len(lines), took_s=time.monotonic() - begun_at, pins_bind=bool(release)
    ):
        click.echo(line)
    if ended is not None:
        after = f"\n{latest} was judged last, and may have ended the broker" if latest else ""
        raise CouldNotTell(f"{ended}{after}") from ended
    if any(_word(each, pins_bind=bool(release)) == VIOLATES for each in found):
        raise SystemExit(1)


def ids_of(address: Address, cluster_id: str, node_id: int | None) -> tuple[str | None, int | None]:
    """Return the broker's ids: those that are given, and what it states for the others; None if it does not."""
    if cluster_id and node_id is not None:
        return cluster_id, node_id
    cluster = ask_cluster_metadata(address)
    nodes = cluster.nodes_at(address)
    stated = nodes[0] if len(nodes) == 1 else None
    return cluster_id or cluster.cluster_id, stated if node_id is None else node_id


def for_broker(
    vector: BrokerVector,
    listeners: Mapping[str, Address],
    ids: tuple[str | None, int | None],
    check: BrokerCheck,
) -> tuple[BrokerVector | None, str]:
    """Return a vector with the broker's own ids; None and the reason if it cannot be judged here."""
    missing = [OPTIONS[name] for name in vector.listeners if name not in listeners]
    if missing:
        return None, f"need {' and '.join(missing)}"
    own = with_ids(vector, *ids)
    if own is None:
        return None, NO_IDS
    return (own, "") if check.has_the_table_for(own) else (None, OTHER_TABLE)


def _word(found: Disagreement, *, pins_bind: bool) -> str:
    if found.level is Level.MUST or (pins_bind and found.level is Level.PIN):
        return VIOLATES
    return SHOULD if found.level is Level.SHOULD else DIFFERS


def report_lines(found: Sequence[Disagreement], *, pins_bind: bool) -> Iterator[str]:
    """Yield the lines about what a broker did; the same sentence once, with the number of vectors and one of them."""
    groups: dict[tuple[str, str], list[Disagreement]] = {}
    for each in found:
        groups.setdefault((_word(each, pins_bind=pins_bind), each.sentence), []).append(each)
    for (word, sentence), same in groups.items():
        # The clause that a sentence names says best what is broken.
        first = next((each for each in same if each.clause in sentence), same[0])
        clauses = {each.clause for each in same}
        others = f" and {len(clauses) - 1} more clauses" if len(clauses) > 1 else ""
        vectors_ = f"{len(same)} vectors, such as {first.vector}" if len(same) > 1 else f"vector {first.vector}"
        yield f"{word} {first.clause} ({first.level}){others}, {vectors_}: {printable(sentence)}"
        yield f"  sent     {_shown(first.sent)}"
        yield f"  received {_shown(first.received) or 'nothing'}"


def sum_lines(
    found: Sequence[Disagreement], left_out: Mapping[str, int], *, count: int, took_s: float, pins_bind: bool
) -> Iterator[str]:
    """Yield what the words mean if there are any, how many vectors were left out and why, and the counts.

    Args:
        found: what the broker did other than vectors allow.
        left_out: how many vectors were left out, by reason.
        count: how many vectors for brokers there are.
        took_s: how long the broker was judged.
        pins_bind: whether a difference from Apache Kafka is a violation.
    """
    words = [_word(each, pins_bind=pins_bind) for each in found]
    if found:
        yield MEANING_WITH_RELEASE if pins_bind else MEANING
    yield from (f"left out: {number} that {reason}" for reason, number in left_out.items())
    skipped = sum(left_out.values())
    violated = words.count(VIOLATES)
    more = f", {skipped} left out" if skipped else ""
    yield f"{count - skipped} vectors in {took_s:.1f} s: {violated} violated, {len(found) - violated} differ{more}"


def _shown(data: bytes) -> str:
    more = f" and {len(data) - MAX_SHOWN_BYTES} more bytes" if len(data) > MAX_SHOWN_BYTES else ""
    return data[:MAX_SHOWN_BYTES].hex(" ", -4) + more


@vectors.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="this kind must be complete; repeatable")
def check(file: Path, kinds: Sequence[str]) -> None:
    """Check the results of a test runner: JSON lines with id, version and result.

    It names what failed, what is missing, and what is about no vector of this version.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{file} is not UTF-8: {error}") from error
    checked = checked_results(text, _loaded(), kinds)
    for problem in checked.problems:
        click.echo(f"{file}: {printable(problem)}", err=True)
    for word, ids in (("failed", checked.failed), ("missing", checked.missing)):
        for each in ids:
            click.echo(f"{word}: {each}")
    click.echo(
        f"{checked.passed} passed, {len(checked.failed)} failed, {len(checked.skipped)} skipped, {len(checked.missing)} missing"
    )
    if checked.problems:
        raise InvalidFile(f"{file} has {len(checked.problems)} lines that cannot be used; see above")
    if checked.failed or checked.missing:
        raise SystemExit(1)
