"""Tests of which treatment of a request matches a reaction of the model.

They also check how the treatment is described.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from reference_model.broker.rules.connection_states import ConnectionEvent
from reference_model.broker.rules.reaction import AnswerKind, Listing, Reaction, closed
from reference_model.broker.rules.responses import encode_body, response_for
from reference_model.judging.agreement import Agreement, refuses
from reference_model.judging.flexible_headers import response_after_tag_section
from reference_model.judging.outcome_texts import difference, part_of_response, summary_of, what_followed, what_it_did
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from strategies.api_versions import build_request
from strategies.minimal_requests import minimal_request
from tests.described_apis import described_api
from wire.error_codes import ErrorCode
from wire.exchange import Arrival, Exchange, Outcome, Request
from wire.frames import encode_frame

PROFILE = profile_of(NEWEST_RELEASE)
SENT = build_request(version=3, correlation_id=7)
ID = "00000007"
SERVED = Reaction(clause="x", response_version=3, listing=Listing.EVERYTHING)
TABLE = ID + encode_body(response_for(SERVED, PROFILE), 3).hex()
REFUSED = replace(SERVED, next_event=ConnectionEvent.REFUSED)
CLOSED = closed("x")
IGNORED = replace(CLOSED, outcome=Outcome.IGNORED)
BARE = replace(SERVED, kind=AnswerKind.BARE_TOKEN)
HANDSHAKE = replace(SERVED, kind=AnswerKind.SASL_HANDSHAKE, response_version=1)
NO_MECHANISM = replace(HANDSHAKE, listing=Listing.NOTHING, error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM)
TOKEN = replace(SERVED, kind=AnswerKind.SASL_AUTHENTICATE, response_version=1)
OTHER = replace(SERVED, kind=AnswerKind.OTHER)


def exchange_of(seen: Outcome | str, *, usable: bool = False) -> Exchange:
    """Return an exchange with an outcome, or with the bytes of a response (hexadecimal)."""
    if isinstance(seen, Outcome):
        return Exchange(request=SENT, outcome=seen)
    payload = bytes.fromhex(seen)
    return Exchange(request=SENT, outcome=Outcome.ANSWER, payload=payload, usable=usable)


@pytest.mark.parametrize(
    ("reaction", "seen", "agrees"),
    [
        pytest.param(CLOSED, Outcome.CLOSED, True, id="closed"),
        pytest.param(CLOSED, Outcome.SILENT, False, id="silent-instead-of-closed"),
        pytest.param(CLOSED, TABLE, False, id="answered-instead-of-closed"),
        pytest.param(IGNORED, Outcome.IGNORED, True, id="ignored"),
        pytest.param(SERVED, TABLE, True, id="table"),
        pytest.param(SERVED, Outcome.CLOSED, False, id="closed-instead-of-answered"),
        pytest.param(SERVED, "00000008" + TABLE[8:], False, id="another-correlation-id"),
        pytest.param(SERVED, TABLE + "00", False, id="bytes-after-the-body"),
        pytest.param(SERVED, f"{ID} 0000 01 00000000 00", False, id="empty-table"),
        pytest.param(BARE, "", True, id="empty-frame"),
        pytest.param(BARE, ID, False, id="not-empty"),
        pytest.param(HANDSHAKE, f"{ID} 0000 00000001 0005 504c41494e", True, id="mechanisms"),
        pytest.param(HANDSHAKE, f"{ID} 0000 00000000", False, id="no-mechanism"),
        pytest.param(HANDSHAKE, f"{ID} 0021 00000000", False, id="another-error-code"),
        pytest.param(HANDSHAKE, f"{ID} 0000", False, id="no-handshake"),
        pytest.param(NO_MECHANISM, f"{ID} 0021 00000000", True, id="lists-nothing"),
        pytest.param(NO_MECHANISM, f"{ID} 0021 00000001 0001 61", False, id="lists-something"),
        pytest.param(TOKEN, f"{ID} 0000 ffff 00000000", True, id="token-taken"),
        pytest.param(TOKEN, f"{ID} 003a ffff 00000000", False, id="token-refused"),
        pytest.param(replace(TOKEN, response_version=2), f"{ID} 00 0000 00", True, id="flexible-token"),
        pytest.param(OTHER, f"{ID} ff", True, id="another-api-served"),
        pytest.param(
            replace(OTHER, error_code=ErrorCode.ILLEGAL_SASL_STATE),
            f"{ID} ff",
            True,
            id="another-api-without-a-schema",
        ),
    ],
)
def test_treatment_matches_a_reaction(reaction: Reaction, seen: Outcome | str, agrees: bool) -> None:
    """Outcome, correlation id and content of the response have to be those of the reaction."""
    agreement = Agreement(PROFILE, mechanisms=("PLAIN",))
    assert (agreement.matching(exchange_of(seen), [reaction]) is not None) is agrees


@pytest.mark.parametrize(("is_kept", "expected"), [(None, SERVED), (True, SERVED), (False, REFUSED)])
def test_fate_of_the_connection_counts_if_it_was_seen(is_kept: bool | None, expected: Reaction) -> None:
    """The same response is another reaction if the connection is closed after it."""
    agreement = Agreement(PROFILE)
    found = agreement.matching(exchange_of(TABLE), [CLOSED, SERVED, REFUSED], is_kept=is_kept)
    assert found is expected


@pytest.mark.parametrize("mechanisms", [None, ("PLAIN", "SCRAM-SHA-256")])
def test_mechanisms_are_compared_if_they_are_known(mechanisms: Collection[str] | None) -> None:
    """A handshake response has to list all mechanisms of the listener, in any order."""
    agreement = Agreement(PROFILE, mechanisms=mechanisms)
    seen = exchange_of(f"{ID} 0000 00000001 0005 504c41494e")
    assert (agreement.matching(seen, [HANDSHAKE]) is HANDSHAKE) is (mechanisms is None)


def test_without_a_recorded_table_the_error_code_counts() -> None:
    """Any table is accepted from a release whose table is not recorded, but no other error."""
    agreement = Agreement(replace(PROFILE, api_keys=()))
    assert agreement.matching(exchange_of(f"{ID} 0000 01 00000000 00"), [SERVED])
    assert not agreement.matching(exchange_of(f"{ID} 0023 01 00000000 00"), [SERVED])


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (Outcome.SILENT, "the target fell silent"),
        ("", "the target answered with an empty frame"),
        ("00000007", "the target answered 00000007"),
        (
            f"{ID} 0023",
            "the target answered UNSUPPORTED_VERSION (35); the next request was answered",
        ),
    ],
)
def test_difference_is_one_sentence(seen: Outcome | str, expected: str) -> None:
    exchange = exchange_of(seen, usable=True)
    assert summary_of(exchange) == expected
    assert difference(exchange, [CLOSED, CLOSED]) == f"the model allows closed (x); {expected}"


@pytest.mark.parametrize(
    ("arrival", "words"),
    [
        (Arrival.IN_TURN, "the target answered"),
        (Arrival.OVERTAKEN, "the target answered after the response to the next request"),
        (Arrival.LATE, "the target answered late, after the response to the next request"),
        (Arrival.ALONE, "the target answered only without the next request on the same connection"),
    ],
)
def test_arrival_has_its_own_words(arrival: Arrival, words: str) -> None:
    """A response that comes after the sentinel's, or only without it, is described in words of its own."""
    exchange = replace(exchange_of(f"{ID} 0023", usable=True), arrival=arrival)
    assert what_it_did(exchange) == words
    code = " UNSUPPORTED_VERSION (35)"
    expected = words.replace("answered", f"answered{code}", 1)
    assert summary_of(exchange) == f"{expected}; the next request was answered"
    assert Arrival.IN_TURN.sentinel_came_first is False
    assert arrival.sentinel_came_first == ("after the response" in words)


LIST_GROUPS, METADATA, OFFSET_FETCH, LEADER_AND_ISR = 16, 3, 9, 4


@pytest.mark.parametrize(
    ("api_key", "api_version", "payload", "expected"),
    [
        pytest.param(LIST_GROUPS, 0, "00000007 0022 00000000", True, id="error-alone"),
        pytest.param(LIST_GROUPS, 0, "00000007 0022 00000001 0001 61 0001 62", False, id="error-and-a-group"),
        pytest.param(LIST_GROUPS, 0, "00000007 0000 00000000", False, id="another-error-code"),
        pytest.param(LIST_GROUPS, 0, "00000007 0022", False, id="does-not-decode"),
        pytest.param(METADATA, 0, "00000007 00000000 00000000", True, id="no-code-of-its-own"),
        pytest.param(METADATA, 0, "00000007 00000001 00000001 0001 61 00000001 00000000", False, id="no-code-and-a-broker"),
        pytest.param(OFFSET_FETCH, 8, "00000007 00 00000000 02 02 61 01 0022 00 00", True, id="code-per-entry"),
        pytest.param(OFFSET_FETCH, 8, "00000007 00 00000000 02 02 61 01 0000 00 00", False, id="entry-without-an-error"),
        pytest.param(LEADER_AND_ISR, 0, "00000007 0000 00000000", False, id="empty-success"),
    ],
)  # fmt: skip
def test_refusal_holds_nothing_but_the_error(api_key: int, api_version: int, payload: str, expected: bool) -> None:
    """A response refuses if all its error codes are the one asked for and its lists hold nothing else."""
    sent = minimal_request(described_api(api_key, api_version), api_version)
    response = bytes.fromhex(payload)
    exchange = Exchange(request=sent, outcome=Outcome.ANSWER, payload=response)
    assert refuses(exchange, ErrorCode.ILLEGAL_SASL_STATE, described_api) is expected


@pytest.mark.parametrize(
    ("surplus", "expected"),
    [
        (encode_frame(b"\0\0\0\7again"), "the same response came a second time"),
        (b"\xff\xff", "then bytes came that belong to no response: 2"),
        (b"", "the next request was answered"),
    ],
)
def test_what_followed_a_response_is_described(surplus: bytes, expected: str) -> None:
    """The same frame again is no other bytes."""
    seen = Exchange(
        request=SENT,
        outcome=Outcome.ANSWER,
        payload=b"\0\0\0\7again",
        usable=True,
        surplus=surplus,
    )
    assert what_followed(seen) == expected


def test_what_differs_is_named_by_field() -> None:
    """Of a table that is decodable, each differing field is named, with what was seen and expected."""
    profile = profile_of(NEWEST_RELEASE)
    agreement = Agreement(profile)
    reaction = Reaction(clause="C", response_version=3, listing=Listing.EVERYTHING)
    response = response_for(reaction, profile)
    first, *others = response.api_keys
    wider = replace(first, max_version=first.max_version + 1)
    seen = replace(response, api_keys=(wider, *others), finalized_features_epoch=-1)
    exchange = exchange_of(ID + encode_body(seen, 3).hex())
    assert agreement.what_differs(exchange, [reaction]) == {
        "api_keys": f"{first.api_key}: v{first.min_version} to v{first.max_version + 1}, expected "
        f"v{first.min_version} to v{first.max_version}",
        "has_epoch": "False, expected True",
    }
    assert agreement.what_differs(exchange, [closed("C")]) == {}
    assert agreement.what_differs(exchange_of(f"{ID} 00"), [reaction]) == {}
    unanswered = replace(exchange, outcome=Outcome.CLOSED, payload=None)
    assert agreement.what_differs(unanswered, [reaction]) == {}


FLEXIBLE_REFUSAL = bytes.fromhex("00000007 00 002a 01 00000000 00")
"""INVALID_REQUEST and no table in v3, with an empty tag section in the header."""
RIGHT = bytes.fromhex("00000007 002a 01 00000000 00")


@pytest.mark.parametrize(
    ("sent", "payload", "code"),
    [
        pytest.param(SENT, FLEXIBLE_REFUSAL, ErrorCode.INVALID_REQUEST, id="flexible"),
        pytest.param(SENT, RIGHT, None, id="right"),
        pytest.param(SENT, b"\0\0\0\7\xff", None, id="undecodable"),
        pytest.param(build_request(version=2), FLEXIBLE_REFUSAL, None, id="older-version"),
    ],
)
def test_tag_section_is_seen(sent: Request, payload: bytes, code: ErrorCode | None) -> None:
    """Only where the version of the request has flexible bodies, and only if nothing else explains the bytes."""
    found = response_after_tag_section(sent, payload)
    assert (found and found.error_code) == code


def test_summary_says_what_differs_from_a_usual_response() -> None:
    """A tag section in the header, and another correlation id; a response without an error code is shown in bytes."""
    seen = Exchange(request=SENT, outcome=Outcome.ANSWER, payload=FLEXIBLE_REFUSAL)
    assert "INVALID_REQUEST (42) after a tag section in the response's header" in summary_of(seen)
    seen = Exchange(request=SENT, outcome=Outcome.ANSWER, payload=b"\0\0\0\x08" + RIGHT[4:])
    assert "with the correlation id 8 instead of 7" in summary_of(seen)


@pytest.mark.parametrize(
    ("stray", "expected"),
    [
        ("00 00", ""),
        ("00000002 0000", ""),
        ("7fffffff 00", ""),
        ("00000009 000000", "its size is 9, 3 bytes came, and then the target closed"),
    ],
)
def test_part_of_a_response_is_described(stray: str, expected: str) -> None:
    seen = Exchange(request=SENT, outcome=Outcome.CLOSED, stray=bytes.fromhex(stray))
    found = part_of_response(seen)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)
