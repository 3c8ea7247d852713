"""Logins with every listed version of SaslHandshake and SaslAuthenticate.

Each login is checked for whether it worked.

After SaslHandshake v0 the tokens are bare; after v1 they come in SaslAuthenticate requests. A login has worked if a
request that needs one is served after it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from conformance.assertions.decoding import decode_answer
from conformance.assertions.errors import MalformedAnswer, Unjudged
from conformance.assertions.items import Item, Problem, names_of
from conformance.assertions.model_agreement import find_api
from conformance.assertions.other_apis import NoTableReadable
from conformance.assertions.read_only_apis import listed_items, request_of
from fixtures.errors import AuthenticationFailed
from fixtures.under_test.broker import Broker
from reference_model.judging.agreement import refuses
from reference_model.judging.outcome_texts import what_it_did
from wire.api_versions import ApiVersionsResponse
from wire.described_messages import SASL_AUTHENTICATE, SASL_HANDSHAKE
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, probe_request
from wire.message_schemas import Api

SLOWEST_STEP_S = 5.0
"""Silence bound: a broker may ask another server whether a password is right, which requests without a login do not
show."""


@functools.lru_cache(maxsize=8)
def early_table(broker: Broker) -> ApiVersionsResponse:
    """Return the table that a listener sends without authentication, by which a client chooses how to log in.

    Raises:
        NoTableReadable: it does not decode, which other clauses judge.
    """
    version = broker.readable_version
    try:
        return decode_answer(broker.exchange(probe_request(version)), api_version=version)
    except MalformedAnswer as error:
        raise NoTableReadable(f"the table before authentication cannot be read: {error}") from error


def _listed_versions(broker: Broker, api: Api) -> list[int]:
    """Return the versions of an API of SASL that the table lists and the suite can write, ascending."""
    entry = early_table(broker).range_of(api.api_key)
    if entry is None:
        return []
    listed = range(entry.min_version, entry.max_version + 1)
    return [version for version in listed if version in api.valid_versions]


def lists_handshake(broker: Broker) -> bool:
    """Return whether a listener lists a version of SaslHandshake that the suite can write."""
    return bool(_listed_versions(broker, SASL_HANDSHAKE))


def login_items(broker: Broker) -> Iterator[Item]:
    """Yield each listed version of SaslHandshake, and of SaslAuthenticate where v1 is listed, which it follows.

    Raises:
        NoCredentials: there are no credentials.
    """
    broker.running.credentials_for()
    handshakes = _listed_versions(broker, SASL_HANDSHAKE)
    for version in handshakes:
        yield Item(SASL_HANDSHAKE.name, SASL_HANDSHAKE.api_key, version)
    if any(handshakes):
        for version in _listed_versions(broker, SASL_AUTHENTICATE):
            yield Item(SASL_AUTHENTICATE.name, SASL_AUTHENTICATE.api_key, version)


class _Way(NamedTuple):
    """How a client logs in: the version of SaslHandshake, and that of the SaslAuthenticate requests that follow v1."""

    handshake: int
    authenticate: int = 0


def _ways(broker: Broker, item: Item) -> Sequence[_Way]:
    """Return the ways of logging in with a version, one of which has to work."""
    version = item.api_version
    if item.api_key == SASL_AUTHENTICATE.api_key:
        return [_Way(1, version)]
    if version == 0:
        return [_Way(0)]
    return [_Way(version, each) for each in _listed_versions(broker, SASL_AUTHENTICATE) or [0]]


def check_login(broker: Broker, item: Item) -> Exchange:
    """Log in with one version and each mechanism; return the last exchange, of a request that needs a login.

    Raises:
        Problem: no login is possible with it.
    """
    for mechanism in broker.running.credentials_for().usable:
        problems: list[Problem] = []
        for way in _ways(broker, item):
            try:
                exchange = _served_after(broker, mechanism, way)
                break
            except Problem as problem:
                problems.append(problem)
        else:
            raise problems[0]
    return exchange


def _served_after(broker: Broker, mechanism: str, way: _Way) -> Exchange:
    """Return the exchange of the first read-only request that the target serves after a login.

    Each request has a connection and a login of its own.
    """
    items = listed_items(broker)
    if not items:
        raise Unjudged("the table lists no request that shows whether a login worked")
    why = ""
    for item in items:
        exchange = _ask_after_login(broker, mechanism, way, item)
        if exchange.outcome is not Outcome.ANSWER:
            why = what_it_did(exchange)
        elif refuses(exchange, ErrorCode.ILLEGAL_SASL_STATE, find_api):
            why = "refused with ILLEGAL_SASL_STATE"
        else:
            return exchange
    raise Problem(f"no login with {mechanism}: no request is served after it; {names_of(items[-1:])}: {why}")


def _ask_after_login(broker: Broker, mechanism: str, way: _Way, item: Item) -> Exchange:
    access = broker.running.credentials_for(mechanism)
    access = replace(access, authenticate_version=way.authenticate)
    with broker.connect(authenticate=False, silence_bound_s=SLOWEST_STEP_S) as connection:
        try:
            connection.authenticate(access, mechanism=mechanism, handshake_version=way.handshake)
        except AuthenticationFailed as failed:
            raise Problem(f"no login with {mechanism}: {failed.why}") from failed
        (exchange,) = connection.converse([request_of(item)])
    return exchange
