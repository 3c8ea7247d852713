"""`vectors`: the handshake as data.

It lists the vectors, shows them, judges a broker by them, and checks the results of others.
"""

from __future__ import annotations

import json
import time
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
    address: Address, sasl: Address | None, controller: Address | None, release: str | None, out: Path | None
) -> None:
    """Judge the broker at HOST:PORT by the vectors alone."""
    addresses = {PLAINTEXT: address, SASL_PLAINTEXT: sasl, CONTROLLER: controller}
    listeners = {name: own for name, own in addresses.items() if own is not None}
    with reported_as(CouldNotTell, NotJudgeable):
        check_address(address)
    begun_at = time.monotonic()

    def open_stream(listener: str) -> Transport:
        return open_tcp(listeners[listener])

    check = BrokerCheck(open_stream, release=release or "")
    lines, found = [], []
    skipped = 0
    with reported_as(CouldNotTell, ConnectionFailed):
        for vector_id, given in _for_broker(_loaded(), listeners, address):
            own = given if given is not None and check.lists_what_is_served(given) else None
            disagreement = None if own is None else check.check(own)
            result = SKIP if own is None else PASS if disagreement is None else FAIL
            skipped += own is None
            more = {} if disagreement is None else {"clause": disagreement.clause, "level": disagreement.level.value}
            lines.append(result_line(vector_id, result, **more))
            found += [] if disagreement is None else [disagreement]
    if out is not None:
        out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    _report(
        found, count=len(lines) - skipped, skipped=skipped, took_s=time.monotonic() - begun_at, pins_bind=bool(release)
    )
    binding = {Level.MUST, Level.PIN} if release else {Level.MUST}
    if any(each.level in binding for each in found):
        raise SystemExit(1)


def _for_broker(
    loaded: VectorSet, listeners: Mapping[str, Address], address: Address
) -> Iterator[tuple[str, BrokerVector | None]]:
    """Yield each vector for brokers, with the broker's own ids; None for one that cannot be judged here."""
    cluster = ask_cluster_metadata(address)
    nodes = cluster.nodes_at(address)
    node_id = nodes[0] if len(nodes) == 1 else None
    for vector in loaded.of_brokers():
        is_there = set(vector.listeners) <= listeners.keys()
        yield vector.id, with_ids(vector, cluster.cluster_id, node_id) if is_there else None


def _report(found: Sequence[Disagreement], *, count: int, skipped: int, took_s: float, pins_bind: bool) -> None:
    for each in found:
        word = (
            "violates"
            if each.level is Level.MUST or pins_bind
            else "should"
            if each.level is Level.SHOULD
            else "differs"
        )
        click.echo(f"{word} {each.clause} ({each.level}), vector {each.vector}: {printable(each.sentence)}")
        click.echo(f"  sent     {_shown(each.sent)}\n  received {_shown(each.received) or 'nothing'}")
    violated = sum(each.level is Level.MUST or (pins_bind and each.level is Level.PIN) for each in found)
    left_out = f", {skipped} left out because they need other listeners, ids or APIs" if skipped else ""
    click.echo(f"{count} vectors in {took_s:.1f} s: {violated} violated, {len(found) - violated} differ{left_out}")


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
