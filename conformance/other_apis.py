"""Requests of any API to a target, and what its answers amount to.

The schemas come from Kafka's own jars, so that a sweep covers exactly what they describe.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from conformance.judging import MalformedAnswer, Unjudged, decode_answer, payload_of
from conformance.sweeping import Item, Problem
from fixtures.broker import Broker, probe_request
from fixtures.errors import HarnessError
from fixtures.message_schemas import api_catalogue
from strategies.minimal_requests import minimal_request, minimal_values
from wire.api_versions import API_VERSIONS_KEY, ApiVersion
from wire.codec import decode, decode_prefix
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Request, Step
from wire.headers import ResponseHeader
from wire.message_schemas import Api
from wire.sasl import SASL_HANDSHAKE_KEY

SLOWEST_ANSWER_S = 2.5
"""Some requests wait until what they change is on a disk, which the others that the silence bound comes from do not."""
ASKED_AGAIN = 3


class RefusedAsUnsupported(Problem):
    """An advertised version is answered in its layout, with UNSUPPORTED_VERSION."""

    def __init__(self) -> None:
        super().__init__("answered with UNSUPPORTED_VERSION although the table lists it")


@functools.lru_cache(maxsize=8)
def advertised_table(broker: Broker) -> tuple[ApiVersion, ...]:
    """Return what a target advertises on its listener, by key; it is asked once.

    Raises:
        HarnessError: its table cannot be read any more, which is the matter of other clauses.
    """
    try:
        table = _table(broker, broker.max_version)
    except MalformedAnswer:
        # That the newest version reads is the matter of other clauses.
        try:
            table = _table(broker, 0)
        except MalformedAnswer as error:
            raise HarnessError(
                "there is no table whose entries could be asked for, which is the matter of "
                f"KIP-35.v0-always-served: {error}"
            ) from error
    return tuple(sorted(table, key=lambda entry: entry.api_key))


def _table(broker: Broker, api_version: int) -> tuple[ApiVersion, ...]:
    with broker.connect() as connection:
        (exchange,) = connection.converse([probe_request(api_version)])
    return decode_answer(exchange, api_version=api_version).api_keys


def filled_table(broker: Broker) -> tuple[ApiVersion, ...]:
    """Return what a target advertises, where it advertises anything.

    Raises:
        HarnessError: the table is empty, or cannot be read.
    """
    table = advertised_table(broker)
    if not table:
        raise HarnessError(
            "the table is empty, which is the matter of KIP-35.table-lists-itself: there is nothing to ask for"
        )
    return table


def steps_to_table(broker: Broker) -> tuple[Step, ...]:
    """Ask for the table once more; returns what was done, for what is said of an entry without asking for it."""
    broker.forget()
    broker.converse([probe_request(broker.max_version)])
    return tuple(broker.journal)


def spared_apis(broker: Broker) -> tuple[str, ...]:
    """Return the advertised APIs that are not asked for.

    They are those that act on what they name, on a broker that this suite did not start.
    """
    if broker.running.launcher != "address":
        return ()
    names = (api_catalogue().name_of(entry.api_key) for entry in advertised_table(broker))
    return tuple(name for name in names if name in minimal_values().destructive)


def advertised_items(broker: Broker) -> Iterator[Item]:
    """Yield every advertised version that a schema describes, but those of spared APIs."""
    spared = spared_apis(broker)
    for entry in filled_table(broker):
        for api_version in _described(entry):
            name = api_catalogue().name_of(entry.api_key)
            if name not in spared:
                yield Item(name, entry.api_key, api_version)


def undescribed_items(broker: Broker) -> Iterator[Item]:
    """Yield the lowest advertised version of each API of which no schema describes it."""
    for entry in advertised_table(broker):
        described = set(_described(entry))
        unknown = (v for v in range(entry.min_version, entry.max_version + 1) if v not in described)
        first = next(unknown, None)
        if first is not None:
            yield Item(api_catalogue().name_of(entry.api_key), entry.api_key, first)


def neighbouring_items(broker: Broker) -> Iterator[Item]:
    """Yield the version below and above each advertised range, but of ApiVersions and of spared APIs."""
    spared = spared_apis(broker)
    for entry in filled_table(broker):
        name = api_catalogue().name_of(entry.api_key)
        # That a range is ordered is a clause of its own.
        reversed_range = entry.min_version > entry.max_version
        if entry.api_key == API_VERSIONS_KEY or name in spared or reversed_range:
            continue
        if api_catalogue().nearest(entry.api_key, entry.min_version) is None:
            continue
        for api_version in (entry.min_version - 1, entry.max_version + 1):
            yield Item(name, entry.api_key, api_version)


def _described(entry: ApiVersion) -> list[int]:
    return [
        api_version
        for api_version in api_catalogue().versions_of(entry.api_key)
        if entry.min_version <= api_version <= entry.max_version
    ]


def send(broker: Broker, request: Request, *, silence_bound_s: float | None = None) -> Exchange:
    """Send one request with a sentinel behind it, on a connection that is authenticated where it has to be."""
    with broker.connect(silence_bound_s=silence_bound_s) as connection:
        return connection.exchange(request)


def _check_served_once(broker: Broker, item: Item) -> Exchange:
    api = api_catalogue().find(item.api_key, item.api_version)
    assert api is not None
    request = minimal_request(api, item.api_version)
    exchange = send(broker, request, silence_bound_s=SLOWEST_ANSWER_S)
    try:
        payload_of(exchange)
    except MalformedAnswer as error:
        raise Problem(str(error)) from error
    try:
        correlation_id, response = decode_response(exchange, api, item.api_version)
    except DecodeError as error:
        raise Problem("the answer does not decode", str(error)) from error
    if correlation_id != exchange.request.correlation_id:
        raise Problem("the answer is that to another request")
    if not exchange.usable and not _begins_authentication(broker, item):
        raise Problem("the connection is lost behind the answer")
    if ErrorCode.UNSUPPORTED_VERSION in error_codes_in(response, item.api_version):
        raise RefusedAsUnsupported
    return exchange


def check_served(broker: Broker, item: Item) -> Exchange:
    """Ask for one version that a schema describes, and again where it is refused as unsupported.

    Seen in one run of several: LeaveGroup v0-v2 of 3.4.1 was refused, and served in all other runs.

    Raises:
        Problem: it is refused each time, is not answered in its own layout, or costs the connection.
        Unjudged: it is served only when it is asked for again.
    """
    try:
        return _check_served_once(broker, item)
    except RefusedAsUnsupported:
        for _ in range(ASKED_AGAIN):
            with suppress(RefusedAsUnsupported):
                _check_served_once(broker, item)
                raise Unjudged(
                    "answered with UNSUPPORTED_VERSION, and served when asked again"
                ) from None
        raise


def _begins_authentication(broker: Broker, item: Item) -> bool:
    """Whether the answer is followed by tokens, so that no other request is served behind it."""
    return broker.asks_for_authentication and item.api_key == SASL_HANDSHAKE_KEY


def check_not_served(broker: Broker, item: Item) -> Exchange:
    """Ask for one version that is not advertised, in the layout of the nearest one that a schema describes.

    It is refused by a close, by UNSUPPORTED_VERSION, by an answer in another layout, or by INVALID_REQUEST where the
    nearest advertised version gets something else.

    Raises:
        Problem: it is served all the same, or left without an answer.
    """
    exchange, codes = _ask(broker, item)
    if exchange.outcome is Outcome.CLOSED:
        return exchange
    if exchange.outcome is not Outcome.ANSWER:
        raise Problem(f"neither refused nor closed; the target: {exchange.outcome.value}")
    if codes is None or ErrorCode.UNSUPPORTED_VERSION in codes:
        return exchange
    # INVALID_REQUEST is what a served version may say of a minimal request as well.
    if ErrorCode.INVALID_REQUEST in codes:
        _, served = _ask(broker, _nearest_advertised(broker, item))
        if served is not None and ErrorCode.INVALID_REQUEST not in served:
            return exchange
    raise Problem("served although the table does not list it")


def _nearest_advertised(broker: Broker, item: Item) -> Item:
    """Return the advertised version of the same API that is nearest."""
    (entry,) = (each for each in advertised_table(broker) if each.api_key == item.api_key)
    api_version = min(max(item.api_version, entry.min_version), entry.max_version)
    return item._replace(api_version=api_version)


def _ask(broker: Broker, item: Item) -> tuple[Exchange, set[int] | None]:
    """Ask for a version in the nearest layout that is known, and read the error codes of the answer.

    There are none where nothing came that reads: what cannot be read was not served, whatever it is.
    """
    nearest = api_catalogue().nearest(item.api_key, item.api_version)
    assert nearest is not None
    api, layout = nearest
    exchange = send(broker, minimal_request(api, item.api_version, layout=layout))
    if exchange.outcome is not Outcome.ANSWER:
        return exchange, None
    try:
        _, response = decode_response(exchange, api, layout)
    except DecodeError:
        return exchange, None
    return exchange, set(error_codes_in(response, layout))


def decode_response(exchange: Exchange, api: Api, api_version: int) -> tuple[int, Any]:
    """Decode an answer, which has to be used up exactly; returns its correlation id and its message.

    Raises:
        DecodeError: it does not decode; the offsets count from the beginning of its payload.
    """
    payload = payload_of(exchange)
    version = api.response_header_version(api_version)
    header, body = decode_prefix(ResponseHeader, payload, version=version)
    try:
        return header.correlation_id, decode(api.response, payload[body:], version=api_version)
    except DecodeError as error:
        error.start += body
        error.end += body
        raise


def error_codes_in(message: Any, api_version: int) -> Iterator[int]:
    """Yield every error code that a message has in a version, at any depth."""
    for field in message.FIELDS:
        if api_version not in field.versions:
            continue
        value = getattr(message, field.name)
        if field.name == "error_code":
            yield value
        for each in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(each):
                yield from error_codes_in(each, api_version)
