"""Tests of the table's promises: all listed versions are served, no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

ADVERTISED = Sweep(advertised_items, check_served, is_of_ranges=True)
OTHER = Sweep(other_items, check_supported, is_of_ranges=True)
NEIGHBOURING = Sweep(neighbouring_items, check_not_served)
IN_TRANSACTIONS = Sweep(transactional_items, check_in_transaction)
UNLISTED = Sweep(unlisted_items, check_unlisted, unlisted_skipped)
FEW_EXAMPLES = 30
"""Number of examples for a property about a single byte."""
LOW_BYTE = 0xFF
"""The low byte of an API key, as a mask."""


@pytest.mark.swept(checks=[ADVERTISED.judge_again])
@pytest.mark.exhaustive
@pytest.mark.clause("KIP-35.every-advertised-version-served")
def test_every_advertised_version_is_served(broker: Broker) -> None:
    """A minimal request of each listed version is served in its layout and keeps the connection.

    On a listener that differs from an earlier one only in TLS, only the ends of each range are tried.
    """
    judge = JUDGE.get()
    unknown = names_of(undescribed_items(broker))
    if unknown:
        # A vendor's own versions have no published schema: they are listed but not judged.
        judge.notes(Unjudged(f"no message schema is known for {unknown}"), steps_to_table(broker))
    note_spared(judge, broker)
    ADVERTISED.judge_all(judge, broker)


@pytest.mark.swept(checks=[OTHER.judge_again])
@pytest.mark.exhaustive
@pytest.mark.needs("other_apis")
@pytest.mark.clause("KIP-35.advertised-version-supported")
def test_no_advertised_version_is_unsupported(broker: Broker) -> None:
    """No listed version is answered with UNSUPPORTED_VERSION in its own layout.

    On a listener that differs from an earlier one only in TLS, only the ends of each range are tried.
    """
    judge = JUDGE.get()
    note_spared(judge, broker)
    needed = {name: missing_feature(broker, name) for name in skipped_apis(broker)}
    off = ", ".join(f"{name} needs {feature}" for name, feature in needed.items() if feature)
    if off:
        note = f"not requested, and listed although a feature that it needs is not finalized: {off}"
        judge.notes(Unjudged(note), steps_to_table(broker))
    OTHER.judge_all(judge, broker)


@pytest.mark.swept(checks=[IN_TRANSACTIONS.judge_again])
@pytest.mark.listeners(PLAINTEXT)
@pytest.mark.needs("more_than_reading", "sole_node", "transactions")
@pytest.mark.clause("FEATURES.served-in-transactions")
def test_listed_versions_are_served_in_transactions(broker: Broker) -> None:
    """A write in a transaction is served in each listed version; only a level that is not finalized refuses some."""
    IN_TRANSACTIONS.judge_all(JUDGE.get(), broker)


@pytest.mark.swept(checks=[NEIGHBOURING.judge_again])
@pytest.mark.exhaustive
@pytest.mark.malformed
@pytest.mark.needs("other_apis")
@pytest.mark.clause("KIP-35.outside-range-not-served")
def test_neighbours_of_a_range_are_not_served(broker: Broker) -> None:
    """The version below and the version above each range in the table are not served."""
    judge = JUDGE.get()
    note_spared(judge, broker)
    NEIGHBOURING.judge_all(judge, broker)


@pytest.mark.swept(checks=[UNLISTED.judge_again])
@pytest.mark.needs("unlisted_apis")
@pytest.mark.clause("KIP-35.served-is-listed")
def test_what_is_served_is_listed(broker: Broker) -> None:
    """No API that the table leaves out is served in any version.

    On a listener that differs from an earlier one only in TLS, only the oldest and the newest version are tried.
    """
    judge = JUDGE.get()
    note_skipped(judge, broker, unlisted_skipped(broker))
    unanswered(broker).clear()

    def asked(broker: Broker) -> Iterator[Item]:
        items = unlisted_items(broker)
        for item in items if judge.is_thorough else oldest_and_newest(items):
            if len(unanswered(broker)) >= MAX_UNANSWERED:
                after = f"not requested after {MAX_UNANSWERED} requests without a response"
                judge.leaves_out(f"{after}: {names_of([item])} and later", may_hide=True)
                return
            yield item

    UNLISTED._replace(items=asked).judge_all(judge, broker)


def note_spared(judge: Judge, broker: Broker) -> None:
    """Note the listed APIs that are not requested, if any; the clause is judged on all the others."""
    note_skipped(judge, broker, skipped_apis(broker))


def note_skipped(judge: Judge, broker: Broker, skipped: Sequence[str]) -> None:
    """Note APIs that are not requested, if there are any."""
    if skipped:
        why = why_skipped(broker)
        judge.leaves_out(f"not requested, because {why}: {', '.join(skipped)}", may_hide=True)


def is_listed(broker: Broker, api_key: int) -> bool:
    """Return whether a target's table lists a key."""
    return any(entry.api_key == api_key for entry in advertised_table(broker))


def assert_closed(exchange: Exchange) -> None:
    """Fail unless a request closed the connection without any bytes in response."""
    assert exchange.outcome is Outcome.CLOSED, f"not closed; {what_it_did(exchange)}"
    assert exchange.stray == b"", "the target sent bytes before it closed the connection"


@pytest.mark.malformed
@pytest.mark.needs("other_apis")
@pytest.mark.clause("PROTOCOL.bad-version-of-known-api-refused")
@given(place=st.integers(0, 99), distance=distances(), body=st.binary(max_size=20), history=histories())
@example(place=0, distance=1, body=b"", history=ALONE)
@example(place=0, distance=-1, body=b"", history=ALONE)
@example(place=0, distance=100, body=b"", history=ALONE)
@example(place=9, distance=1, body=b"", history=ALONE)
@example(place=0, distance=100, body=b"", history=after(Earlier.NEWEST))
def test_bad_version_of_a_listed_api_is_closed(
    broker: Broker, place: int, distance: int, body: bytes, history: ConnectionHistory
) -> None:
    """A version outside the range of a listed API other than ApiVersions closes the connection."""
    table = [entry for entry in filled_table(broker) if entry.api_key != API_VERSIONS_KEY]
    assume(table)
    entry = table[place % len(table)]
    version = distance + (entry.max_version if distance > 0 else entry.min_version)
    assume(INT16_MIN <= version <= INT16_MAX)
    sent = build_bare_request(entry.api_key, version, body)
    assume(not is_served(broker, sent))
    exchange = exchange_after(broker, history, sent, authenticate=True)
    with unless_explained_by_earlier(broker, exchange, probe_request(broker.readable_version)):
        assert_closed(exchange)


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.unknown-api-refused")
@given(sent=bare_requests(), history=histories())
@example(sent=build_bare_request(-1, 0), history=ALONE)
@example(sent=build_bare_request(999, 0), history=ALONE)
@example(sent=build_bare_request(999, NEWEST_VERSION + 1), history=ALONE)
@example(sent=build_bare_request(5, 0), history=ALONE)
@example(sent=build_bare_request(52, 0), history=ALONE)
@example(sent=build_bare_request(0, 3), history=ALONE)
@example(sent=build_bare_request(999, 0), history=after(Earlier.V0))
def test_unlisted_api_is_closed(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A key that the table does not list, whether removed or another listener's, closes the connection."""
    assume(not is_listed(broker, sent.api_key))
    assume(not is_served(broker, sent))
    # Whether it is taken for a request of ApiVersions is judged by a separate clause.
    assume(sent.api_key & LOW_BYTE != API_VERSIONS_KEY)
    exchange = exchange_after(broker, history, sent, authenticate=True)
    # KIP-35.served-is-listed judges the versions that are served all the same.
    assume(not is_answered(broker, exchange))
    with unless_explained_by_earlier(broker, exchange, probe_request(broker.readable_version)):
        assert_closed(exchange)


def is_answered(broker: Broker, exchange: Exchange) -> bool:
    """Return whether a request got the response of an API that is served, in a version that a schema describes."""
    sent = exchange.request
    api = catalogue_of(broker.target).find(sent.api_key, sent.api_version)
    return api is not None and is_response_of_served(api, exchange)


@pytest.mark.malformed
@pytest.mark.needs("unknown_apis_survived")
@pytest.mark.clause("PROTOCOL.api-key-decides")
@settings(max_examples=FEW_EXAMPLES)
@given(key=keys_like_api_versions(), version=st.integers(0, NEWEST_VERSION), history=histories())
@example(key=274, version=0, history=ALONE)
@example(key=530, version=3, history=ALONE)
@example(key=-238, version=0, history=ALONE)
@example(key=274, version=0, history=after(Earlier.V0))
def test_key_with_the_low_byte_of_api_versions_is_another_api(
    broker: Broker, key: int, version: int, history: ConnectionHistory
) -> None:
    """A request whose API key is not 18 gets no response with the table of versions, although its low byte is 18."""
    assume(not is_listed(broker, key))
    sent = build_with_key(key, version)
    exchange = exchange_after(broker, history, sent, authenticate=True)
    with unless_explained_by_earlier(broker, exchange, probe_request(broker.readable_version)):
        assert not serves_table(exchange, version), f"the target takes the API key {key} for that of ApiVersions"


def serves_table(exchange: Exchange, version: int) -> bool:
    """Return whether a response is a success of ApiVersions.

    An error in the layout of ApiVersions may be the way to refuse every unknown API.
    """
    try:
        answer = decode_answer(exchange, api_version=version)
    except MalformedAnswer:
        return False
    is_listed = answer.range_of(API_VERSIONS_KEY) is not None
    return is_listed and answer.error_code is ErrorCode.NONE


def is_served(broker: Broker, sent: Request) -> bool:
    """Return whether the table lists a version, or the release is known to serve it anyway."""
    listed = any(
        entry.api_key == sent.api_key and entry.min_version <= sent.api_version <= entry.max_version
        for entry in advertised_table(broker)
    )
    return listed or (broker.pin_is_binding and broker.profile.accepts(sent.api_key, sent.api_version))
