"""Sends requests of any API to a target, and judges the responses.

The schemas come from Kafka's own jars, so a sweep covers exactly the versions that they describe.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.clause_ids import EVERY_ADVERTISED_VERSION_SERVED
from conformance.assertions.decoding import decode_answer, payload_of
from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer, ResponseFault, Unjudged
from conformance.assertions.gated_apis import missing_feature
from conformance.assertions.items import Item, Problem, Refusal
from conformance.assertions.sendable_apis import is_skipped, request_to
from fixtures.artefacts.schema_jars import api_catalogue, catalogue_of
from fixtures.errors import BrokerGone, HarnessError
from fixtures.under_test.broker import Broker
from reference_model.judging.outcome_texts import what_it_did
from strategies.minimal_requests import minimal_request
from strategies.other_apis import build_bare_request
from wire.api_keys import API_VERSIONS_KEY, JOIN_GROUP_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import ApiVersion
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Request, Step, probe_request
from wire.message_schemas import Api, error_codes_in
from wire.primitives import INT16_MAX, INT16_MIN

SLOWEST_ANSWER_S = 2.5
"""Silence bound for these requests.

Some of them wait until a change is on disk. The requests that the usual silence bound is derived from do not.
"""


UNDECODABLE = "the response cannot be decoded"


UNKNOWN = build_bare_request(999, 0)
"""A request of an API that no release has, and whose key has another low byte than that of ApiVersions."""


class RefusedAsUnsupported(Refusal):
    """An advertised version gets a response in its own layout, with UNSUPPORTED_VERSION.

    Args:
        missing: the feature that the API needs and the target does not finalize, such as "group.version 1"; may be
            empty.
    """

    def __init__(self, missing: str) -> None:
        why = f"; {missing}, which it needs, is not finalized" if missing else ""
        super().__init__(f"answered with UNSUPPORTED_VERSION, although the table lists it{why}")


class NoTableReadable(HarnessError):
    """A target answers, but no version of its table decodes; other clauses judge that."""


@functools.lru_cache(maxsize=8)
def advertised_table(broker: Broker) -> tuple[ApiVersion, ...]:
    """Return the version table that a target advertises on its listener, sorted by key; it is requested once.

    Raises:
        NoTableReadable: no version of the table decodes any more, which other clauses judge.
        HarnessError: it could not be requested.
    """
    try:
        table = _table(broker, broker.described_version)
    except MalformedAnswer:
        # Whether the newest version decodes is judged by other clauses.
        try:
            table = _table(broker, broker.readable_version)
        except MalformedAnswer as error:
            raise NoTableReadable(
                "no version table can be read (judged by KIP-35.v0-always-served), so its entries cannot be "
                f"requested: {error}"
            ) from error
    return tuple(sorted(table, key=lambda entry: entry.api_key))


def _table(broker: Broker, api_version: int) -> tuple[ApiVersion, ...]:
    with broker.connect() as connection:
        (exchange,) = connection.converse([probe_request(api_version)])
    return decode_answer(exchange, api_version=api_version).api_keys


def filled_table(broker: Broker) -> tuple[ApiVersion, ...]:
    """Return the advertised table, which must not be empty.

    Raises:
        HarnessError: the table is empty, or cannot be read.
    """
    table = advertised_table(broker)
    if not table:
        raise HarnessError("the table is empty (judged by KIP-35.table-lists-itself), so it has no entries to request")
    return table


def lists_other_apis(broker: Broker) -> bool:
    """Return whether a target lists another API than ApiVersions.

    Return True for an empty table, which lists neither.
    """
    table = advertised_table(broker)
    return not table or any(entry.api_key != API_VERSIONS_KEY for entry in table)


def steps_to_table(broker: Broker) -> tuple[Step, ...]:
    """Request the table again and return the steps; they are evidence for notes on entries that are not requested."""
    broker.begin_example()
    broker.converse([probe_request(broker.described_version)])
    return tuple(broker.journal)


def skipped_apis(broker: Broker) -> tuple[str, ...]:
    """Return the advertised APIs that are not requested, see `is_skipped`."""
    keys = [entry.api_key for entry in advertised_table(broker)]
    return tuple(catalogue_of(broker.target).name_of(key) for key in keys if is_skipped(broker, key))


def is_requested(broker: Broker, api_key: int) -> bool:
    """Return whether an API, if it is advertised, is requested of a target at all; see `skipped_apis`."""
    return catalogue_of(broker.target).name_of(api_key) not in skipped_apis(broker)


def advertised_items(broker: Broker) -> Iterator[Item]:
    """Yield every advertised version that a schema describes, except those of spared APIs."""
    spared = skipped_apis(broker)
    for entry in filled_table(broker):
        for api_version in _described(broker, entry):
            name = catalogue_of(broker.target).name_of(entry.api_key)
            if name not in spared:
                yield Item(name, entry.api_key, api_version)


def other_items(broker: Broker) -> Iterator[Item]:
    """Yield what `advertised_items` yields, except ApiVersions, whose error codes separate clauses judge."""
    return (item for item in advertised_items(broker) if item.api_key != API_VERSIONS_KEY)


def undescribed_items(broker: Broker) -> Iterator[Item]:
    """Yield the lowest advertised version without a schema, for each API that has one."""
    for entry in advertised_table(broker):
        described = set(_described(broker, entry))
        unknown = (v for v in range(entry.min_version, entry.max_version + 1) if v not in described)
        first = next(unknown, None)
        if first is not None:
            yield Item(catalogue_of(broker.target).name_of(entry.api_key), entry.api_key, first)


def neighbouring_items(broker: Broker) -> Iterator[Item]:
    """Yield the versions just below and above each advertised range, except for ApiVersions and spared APIs."""
    spared = skipped_apis(broker)
    for entry in filled_table(broker):
        name = catalogue_of(broker.target).name_of(entry.api_key)
        # Whether a range is ordered is judged by a separate clause.
        reversed_range = entry.min_version > entry.max_version
        if entry.api_key == API_VERSIONS_KEY or name in spared or reversed_range:
            continue
        if catalogue_of(broker.target).nearest(entry.api_key, entry.min_version) is None:
            continue
        for api_version in (entry.min_version - 1, entry.max_version + 1):
            if INT16_MIN <= api_version <= INT16_MAX:
                yield Item(name, entry.api_key, api_version)


def _described(broker: Broker, entry: ApiVersion) -> list[int]:
    return [
        api_version
        for api_version in catalogue_of(broker.target).versions_of(entry.api_key)
        if entry.min_version <= api_version <= entry.max_version
    ]


def send(broker: Broker, request: Request, *, silence_bound_s: float | None = None) -> Exchange:
    """Send one request followed by a sentinel, on a connection that is authenticated if the listener requires it."""
    return broker.exchange(request, authenticate=True, silence_bound_s=silence_bound_s)


def api_of(item: Item) -> Api:
    """Return the API of a version that the registry's schemas describe."""
    api = api_catalogue().find(item.api_key, item.api_version)
    assert api is not None
    return api


def api_for(broker: Broker, item: Item) -> Api:
    """Return the API of a version that a target's schemas describe, which are those of a build if it has some."""
    api = catalogue_of(broker.target).find(item.api_key, item.api_version)
    assert api is not None
    return api


def ask_anyhow(broker: Broker, request: Request) -> Exchange:
    """Send a request first on its connection; if it gets no response, send it after ApiVersions on another one.

    `KIP-35.never-asked-is-served` judges whether the first way is enough.
    """
    exchange = send(broker, request, silence_bound_s=SLOWEST_ANSWER_S)
    if exchange.outcome is Outcome.ANSWER:
        return exchange
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        if connection.converse([probe_request(broker.readable_version)])[0].payload is not None:
            after = connection.exchange(request)
            if after.outcome is Outcome.ANSWER:
                return after
    return exchange


def newest_response(
    broker: Broker, api_key: int, values: Mapping[str, Any], *, at_most: int | None = None
) -> tuple[Any, Collection[int]]:
    """Send a request in the newest version that is listed and described; return the response and its error codes.

    Args:
        broker: the target. If its table has several entries of the API, the first one counts.
        api_key: the key of the API.
        values: the fields that differ from those of the minimal request.
        at_most: the newest version that is sent; None for any.

    Raises:
        JudgedElsewhere: there is no such version, no response, or one that does not decode.
    """
    catalogue = catalogue_of(broker.target)
    listed = next((entry for entry in advertised_table(broker) if entry.api_key == api_key), None)
    if listed is None:
        raise JudgedElsewhere(f"the table does not list {catalogue.name_of(api_key)}")
    newest = listed.max_version if at_most is None else min(at_most, listed.max_version)
    versions = catalogue.versions_of(api_key)
    version = max((each for each in versions if listed.min_version <= each <= newest), default=-1)
    api = catalogue.find(api_key, version)
    if api is None:
        raise JudgedElsewhere(
            f"{catalogue.name_of(api_key)} has no listed version up to v{newest} that a schema describes"
        )
    exchange = ask_anyhow(broker, minimal_request(api, version, values=values))
    try:
        _, response = api.decode_response(payload_of(exchange), version)
    except (MalformedAnswer, DecodeError) as error:
        raise JudgedElsewhere(
            f"{api.name} v{version} is not served (judged by {EVERY_ADVERTISED_VERSION_SERVED}): {error}"
        ) from error
    return response, set(error_codes_in(response, version))


@functools.lru_cache(maxsize=8)
def survives_unknown_apis(broker: Broker) -> bool:
    """Return whether a target goes on after a request of an API that does not exist; if not, it is started again."""
    send(broker, UNKNOWN)
    try:
        broker.check_alive()
    except BrokerGone:
        broker.revives()
        return False
    return True


NOT_SERVED, REFUSED = "not served", "refused"


@functools.lru_cache(maxsize=8)
def _found_served(broker: Broker) -> dict[Item, Exchange | str]:
    """Return what `check_served` found of each version that it requested, for `check_supported`.

    It is the exchange of a version that is supported, else `NOT_SERVED` or, if it is refused in its own layout,
    `REFUSED`.
    """
    return {}


def check_served(broker: Broker, item: Item) -> Exchange:
    """Request one version that a schema describes.

    Raises:
        Problem: the version gets no response in its own layout, or closes the connection.
    """
    served = _found_served(broker)
    # This remains if the request ends the target.
    served[item] = NOT_SERVED
    exchange, codes = _served(broker, item)
    served[item] = REFUSED if ErrorCode.UNSUPPORTED_VERSION in codes else exchange
    return exchange


def check_supported(broker: Broker, item: Item) -> Exchange:
    """Check that one version that is served is not answered with UNSUPPORTED_VERSION in its own layout.

    Raises:
        RefusedAsUnsupported: it is.
        UnsatisfiedAssumption: it is not served, which `check_served` judges.
    """
    served = _found_served(broker)
    earlier = served.get(item, NOT_SERVED if served else REFUSED)
    if isinstance(earlier, Exchange):
        return earlier
    if earlier == NOT_SERVED:
        # Or `check_served` ended before it: what made it end is not requested again.
        raise UnsatisfiedAssumption
    try:
        exchange, codes = _served(broker, item)
    except Problem as problem:
        raise UnsatisfiedAssumption from problem
    if ErrorCode.UNSUPPORTED_VERSION in codes:
        raise RefusedAsUnsupported(missing_feature(broker, item.name))
    return exchange


def _served(broker: Broker, item: Item) -> tuple[Exchange, Collection[int]]:
    """Send the minimal request of a version, see `exchange_and_codes`."""
    return exchange_and_codes(broker, item, request_to(broker, api_for(broker, item), item.api_version))


def exchange_and_codes(broker: Broker, item: Item, request: Request) -> tuple[Exchange, Collection[int]]:
    """Send a request of a version; return the exchange and the error codes in its response.

    Args:
        broker: the target.
        item: the version.
        request: the request in this version.

    Raises:
        Problem: the version gets no response in its own layout, or closes the connection.
        Unjudged: JoinGroup gets none in time; a group may be given longer for others to join it.
    """
    api = api_for(broker, item)
    # A client begins with ApiVersions, so it has to be served first on a connection.
    ask = send if item.api_key == API_VERSIONS_KEY else ask_anyhow
    exchange = ask(broker, request)
    if item.api_key == JOIN_GROUP_KEY and exchange.outcome is Outcome.SILENT:
        raise Unjudged(f"no response within {SLOWEST_ANSWER_S:g} s: a broker may wait for further members of the group")
    try:
        payload = payload_of(exchange)
        if item.api_key == API_VERSIONS_KEY:
            # Bytes after the body are judged by a separate clause.
            return exchange, {decode_answer(exchange, api_version=item.api_version).error_code}
    except MalformedAnswer as error:
        if error.layout is None:
            raise Problem(str(error)) from error
        raise Problem(UNDECODABLE, str(error)) from error
    try:
        correlation_id, response = api.decode_response(payload, item.api_version)
    except DecodeError as error:
        raise Problem(UNDECODABLE, str(error)) from error
    if correlation_id != exchange.request.correlation_id:
        other_id = "the response has the correlation id of another request"
        raise Problem(other_id) from MalformedAnswer(exchange, other_id, fault=ResponseFault.OTHER_ID)
    if not exchange.usable and not _begins_authentication(broker, item):
        lost = "the connection is unusable after the response"
        raise Problem(lost) from MalformedAnswer(exchange, lost, fault=ResponseFault.NOT_KEPT)
    return exchange, set(error_codes_in(response, item.api_version))


def _begins_authentication(broker: Broker, item: Item) -> bool:
    """Return whether tokens have to follow the response, so that no other request is served after it."""
    return broker.asks_for_authentication and item.api_key == SASL_HANDSHAKE_KEY


def check_not_served(broker: Broker, item: Item) -> Exchange:
    """Request one version that is not advertised, in the layout of the nearest one that a schema describes.

    A close, UNSUPPORTED_VERSION or a response in another layout counts as a refusal. So does INVALID_REQUEST, if the
    nearest advertised version gets something else.

    Raises:
        Problem: the version is served all the same, or gets no response.
    """
    exchange, codes = _ask(broker, item)
    if exchange.outcome is Outcome.CLOSED:
        return exchange
    if exchange.outcome is not Outcome.ANSWER:
        raise Problem(f"neither refused nor closed; {what_it_did(exchange)}")
    if codes is None or ErrorCode.UNSUPPORTED_VERSION in codes:
        return exchange
    # A served version may also answer a minimal request with INVALID_REQUEST.
    if ErrorCode.INVALID_REQUEST in codes:
        _, served = _ask(broker, _nearest_advertised(broker, item))
        if served is not None and ErrorCode.INVALID_REQUEST not in served:
            return exchange
    raise Problem("served, although the table does not list it")


def _nearest_advertised(broker: Broker, item: Item) -> Item:
    """Return the nearest advertised version of the same API."""
    (entry,) = (each for each in advertised_table(broker) if each.api_key == item.api_key)
    api_version = min(max(item.api_version, entry.min_version), entry.max_version)
    return item._replace(api_version=api_version)


def _ask(broker: Broker, item: Item) -> tuple[Exchange, set[int] | None]:
    """Request a version in the nearest known layout, and read the error codes of the response.

    The codes are None if no response came or it does not decode: such a version was not served.
    """
    nearest = catalogue_of(broker.target).nearest(item.api_key, item.api_version)
    assert nearest is not None
    api, layout = nearest
    sent = request_to(broker, api, item.api_version, layout=layout)
    exchange = send(broker, sent, silence_bound_s=SLOWEST_ANSWER_S)
    if exchange.outcome is not Outcome.ANSWER:
        return exchange, None
    try:
        _, response = api.decode_response(payload_of(exchange), layout)
    except DecodeError:
        return exchange, None
    return exchange, set(error_codes_in(response, layout))
