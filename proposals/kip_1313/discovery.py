"""The command `discovery`: how releases answer an unknown ApiVersions version.

It measures the responses to requests with header v2 and with header v3.

A client begins with the newest version of ApiVersions that it knows. A broker that does not know it takes the request's
header for the newest one that it has: v2. If the header is v3 (KIP-1313, a proposal), the client instance id stands
where header v2 has its count of tagged fields.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import click

from conformance.commands.errors import CouldNotTell, reported_as
from conformance.commands.output_console import status_line
from conformance.commands.selection import EVERY_RELEASE, runnable_targets
from fixtures.choosing.target_options import LAUNCHERS
from fixtures.errors import HarnessError
from fixtures.launchers import launch
from fixtures.registry.targets import Target
from fixtures.under_test.broker import Broker
from proposals.kip_1313.messages import CHANGED_APIS
from reference_model.broker.rules.oracle import reactions
from reference_model.broker.rules.reaction import Identity
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import Profile, profile_of, release_order
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.exchange import Outcome, Request, encode_request
from wire.frames import SIZE_BYTES
from wire.header_versions import FLEXIBLE_REQUEST_HEADER, INSTANCE_ID_REQUEST_HEADER
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader, read_error_code
from wire.plain_header import PLAIN_BODY, PLAIN_CLIENT_ID

RECORDED = Path(__file__).with_name("discovery.csv")
"""Where the figures are kept; only a checkout can be recorded to."""
UUIDS = 5000
VERSIONS_BEYOND = 100
"""How many versions above the newest one are tried with header v2."""
ANSWERED = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The figures of one release.

    Attributes:
        release: the release.
        quorum: "kraft" or "zookeeper".
        newest: its newest version of ApiVersions.
        with_header_2: how many versions above that were sent with header v2.
        answered_with_header_2: how many of them got UNSUPPORTED_VERSION.
        with_header_3: how many random ids were sent, in header v3 of the version after the newest one.
        answered_with_header_3: how many of them got UNSUPPORTED_VERSION; the others closed the connection.
        predicted: of how many ids the reference model predicts what happened.
        offset_delete: what became of OffsetDelete v1.
        get_telemetry_subscriptions: the same of GetTelemetrySubscriptions v1.
        push_telemetry: the same of PushTelemetry v1.
    """

    release: str
    quorum: str
    newest: int
    with_header_2: int
    answered_with_header_2: int
    with_header_3: int
    answered_with_header_3: int
    predicted: int
    offset_delete: str
    get_telemetry_subscriptions: str
    push_telemetry: str


COLUMNS = tuple(field.name for field in fields(Discovery))


class TriedRequest(NamedTuple):
    """What became of one request: the outcome in words, and whether it got UNSUPPORTED_VERSION."""

    outcome: str
    is_discovery: bool


def has_flexible_headers(target: Target) -> bool:
    """Return whether a release has a version of ApiVersions with header v2.

    Header v3 makes a difference only for such a release.
    """
    if not target.handshake:
        return False
    traits = profile_of(target.release, quorum=target.quorum).traits
    return traits.api_versions_max >= FIRST_FLEXIBLE_VERSION


def measure(broker: Broker, *, uuids: int, seed: int) -> Discovery:
    """Send the requests to a running release.

    Raises:
        HarnessError: the release does not answer any more.
    """
    target = broker.target
    profile = profile_of(target.release, quorum=target.quorum)
    newest = profile.traits.api_versions_max
    beyond = range(newest + 1, newest + 1 + VERSIONS_BEYOND)
    plain = list(_sent(broker, (_request(API_VERSIONS_KEY, each) for each in beyond)))
    drawn = random.Random(seed)
    ids = [UUID(int=drawn.getrandbits(128)) for _ in range(uuids)]
    requests = [_request(API_VERSIONS_KEY, newest + 1, each) for each in ids]
    tried = list(_sent(broker, requests))
    predicted = sum(
        _predicts_discovery(profile, request) == each.is_discovery
        for request, each in zip(requests, tried, strict=True)
    )
    changed = {key: _in_words(_sent(broker, (_request(key, 1, each) for each in ids[:100]))) for key in CHANGED_APIS}
    offset_delete, get_subscriptions, push = changed.values()
    return Discovery(
        release=target.release,
        quorum=target.quorum or "",
        newest=newest,
        with_header_2=len(plain),
        answered_with_header_2=sum(each.is_discovery for each in plain),
        with_header_3=len(tried),
        answered_with_header_3=sum(each.is_discovery for each in tried),
        predicted=predicted,
        offset_delete=offset_delete,
        get_telemetry_subscriptions=get_subscriptions,
        push_telemetry=push,
    )


def _request(api_key: int, api_version: int, instance_id: UUID | None = None) -> Request:
    """Return a request: with header v3 if it has a client instance id, otherwise with v2."""
    header = InstanceIdHeader(
        request_api_key=api_key,
        request_api_version=api_version,
        correlation_id=api_version,
        client_id=PLAIN_CLIENT_ID,
        client_instance_id=instance_id or NO_INSTANCE_ID,
    )
    if api_key != API_VERSIONS_KEY:
        api = CHANGED_APIS[api_key]
        body = encode(api.request(), version=api_version)
        return encode_request(header, body, layout=api.layout(api_version))
    return encode_request(
        header,
        PLAIN_BODY,
        header_version=FLEXIBLE_REQUEST_HEADER if instance_id is None else INSTANCE_ID_REQUEST_HEADER,
    )


def _sent(broker: Broker, requests: Iterable[Request]) -> Iterator[TriedRequest]:
    """Send each request on a connection of its own; yield what became of it.

    Raises:
        HarnessError: the release neither answers one nor closes its connection.
    """
    for request in requests:
        broker.begin_example()
        (exchange,) = broker.converse([request])
        if exchange.payload is None and exchange.outcome is not Outcome.CLOSED:
            raise HarnessError(f"the release does not answer any more: {exchange.outcome}")
        if exchange.payload is None:
            yield TriedRequest(str(exchange.outcome), is_discovery=False)
        else:
            code = ErrorCode(read_error_code(exchange.payload) or 0)
            yield TriedRequest(f"{ANSWERED} {code!r}", is_discovery=code is ErrorCode.UNSUPPORTED_VERSION)


def _predicts_discovery(profile: Profile, request: Request) -> bool:
    (reaction,) = reactions(request.data[SIZE_BYTES:], profile, Identity())
    is_answered = reaction.outcome is Outcome.ANSWER
    return is_answered and reaction.error_code is ErrorCode.UNSUPPORTED_VERSION


def _in_words(tried: Iterable[TriedRequest]) -> str:
    counts = Counter(each.outcome for each in tried)
    return ", ".join(what if len(counts) == 1 else f"{what} {count} times" for what, count in counts.most_common())


def write_figures(discoveries: Sequence[Discovery], file: Path = RECORDED) -> None:
    """Replace the figures of these releases in a file; those of others stay."""
    figures = {(each.release, each.quorum): each for each in (*read_figures(file), *discoveries)}
    rows = sorted(figures.values(), key=lambda each: (release_order(each.release), each.quorum))
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([getattr(row, column) for column in COLUMNS] for row in rows)


def read_figures(file: Path = RECORDED) -> list[Discovery]:
    """Return the figures in a file; none if there is no such file."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return [_from_row(row) for row in csv.DictReader(lines)]


def _from_row(row: Mapping[str, str]) -> Discovery:
    values: dict[str, Any] = {
        field.name: int(row[field.name]) if field.type == "int" else row[field.name] for field in fields(Discovery)
    }
    return Discovery(**values)


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
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="releases at a time")
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="process", show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=RECORDED,
    help="the CSV file whose rows are replaced; by default that of the report",
)
def discovery(patterns: tuple[str, ...], uuids: int, seed: int, jobs: int, launcher: str, out: Path) -> None:
    """Measure how releases answer unknown requests (KIP-1313).

    The requests have header v2 and header v3.

    TARGET is an id or glob; every Apache Kafka release if none is given. Releases whose newest request header is v1 are
    left out. Every row of FILE has the figures of one release; the report shows them on the page "Proposal".
    """
    targets = [target for target in runnable_targets(patterns or EVERY_RELEASE) if has_flexible_headers(target)]
    if not targets:
        raise click.UsageError("none of these targets has requests with header v2")
    with (
        reported_as(CouldNotTell, HarnessError),
        status_line(f"measuring {len(targets)} releases"),
        ThreadPoolExecutor(jobs) as pool,
    ):
        discoveries = list(pool.map(lambda each: _measured(each, launcher, uuids, seed), targets))
    write_figures(discoveries, out)
    for discovery in discoveries:
        click.echo(
            f"{discovery.release} {discovery.quorum}: header v2 {discovery.answered_with_header_2} of {discovery.with_header_2} answered, "
            f"header v3 {discovery.answered_with_header_3} of {discovery.with_header_3}; "
            f"the model predicts {discovery.predicted}"
        )
    click.echo(f"written to {out}")


def _measured(target: Target, launcher: str, uuids: int, seed: int) -> Discovery:
    with launch(target, launcher) as running:
        return measure(Broker(running, PLAINTEXT), uuids=uuids, seed=seed)
