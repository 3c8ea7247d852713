"""Outputs say exactly what a target did with a letter.

They leave out what may differ.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.learning.alphabets import (
    LARGE,
    ODD_TAG,
    SMALL,
    Letter,
    LetterFacts,
    Sending,
    alphabet_of,
)
from conformance.learning.outputs import Abstraction
from reference_model.broker.rules.reaction import AnswerKind, Identity
from reference_model.judging.same_response import stable_part
from reports.machines.machine import ends_word
from wire.api_versions import ApiVersion, ApiVersionsResponse, SupportedFeatureKey
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome
from wire.headers import correlation_id_bytes

FACTS = LetterFacts(newest=5, highest=5, identity=Identity(cluster_id="c", node_id=1))
LETTERS = alphabet_of(LARGE, FACTS)
TABLE = (
    ApiVersion(api_key=3, min_version=0, max_version=9),
    ApiVersion(api_key=18, min_version=0, max_version=5),
)
FULL = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=TABLE)
ABSTRACTION = Abstraction(plain={version: stable_part(FULL) for version in range(6)}, mechanisms=frozenset({"PLAIN"}))


def _exchange(letter: Letter, body: bytes | None, *, usable: bool = True) -> Exchange:
    (request,) = letter.requests
    payload = None if body is None else correlation_id_bytes(request.data[4:]) + body
    outcome = Outcome.CLOSED if body is None else Outcome.ANSWER
    return Exchange(request=request, outcome=outcome, payload=payload, usable=usable)


def _output(name: str, body: bytes | None) -> str:
    return ABSTRACTION.output(LETTERS[name], (_exchange(LETTERS[name], body),))


def test_the_alphabets_have_their_sizes() -> None:
    """The small alphabet has 29 letters, the large one contains it, and no two letters have the same bytes."""
    small = alphabet_of(SMALL, FACTS)
    assert len(small) == 29
    assert len(LETTERS) == 76
    assert [*LETTERS][: len(small)] == [*small]
    frames = [tuple(each.data for each in letter.requests) for letter in LETTERS.values()]
    sendings = [letter.sending for letter in LETTERS.values()]
    assert len({*zip(frames, sendings, strict=True)}) == len(LETTERS)


def test_letters_without_ids_are_left_out() -> None:
    """Without the ids of a target no letter has the right ones, and over TLS none has two requests in one write or
    ends one side of the stream."""
    facts = LetterFacts(newest=5, highest=5, identity=Identity(), is_encrypted=True)
    assert "right ids" not in alphabet_of(SMALL, facts)
    assert "wrong ids" not in alphabet_of(SMALL, facts)
    assert len(alphabet_of(LARGE, facts)) == 69


def test_versions_without_a_schema_are_left_out() -> None:
    """No letter is in a version that the target serves and no schema describes; the first one that it does not serve
    is a letter."""
    letters = alphabet_of(LARGE, replace(FACTS, highest=100))
    assert "v99" not in letters
    assert letters["newest+1"].requests[0].api_version == 101


def _table(version: int, **changes: object) -> bytes:
    values = {"error_code": ErrorCode.NONE, "api_keys": TABLE, **changes}
    return encode(ApiVersionsResponse(**values), version=version)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("letter", "body", "expected"),
    [
        ("v0", _table(0), "NONE v0 full"),
        ("v3", _table(3, throttle_time_ms=7), "NONE v3 full"),
        (
            "v99",
            _table(0, api_keys=TABLE[1:], error_code=ErrorCode.UNSUPPORTED_VERSION),
            "UNSUPPORTED_VERSION v0 itself",
        ),
        ("v99", _table(3), "NONE v3 full"),
        ("v3", _table(0), "NONE v0 full"),
        ("v3", _table(3, unknown_tagged_fields=(ODD_TAG,)), "NONE v3 full, unknown tags"),
        ("v0", _table(0, api_keys=()), "NONE v0 empty"),
        ("v0", _table(0, api_keys=TABLE[:1]), "NONE v0 other table 9f3059bc"),
        ("v0", b"\0", "undecodable response"),
        ("v0", None, "closed"),
        ("handshake v1", b"\0\0\0\0\0\1\0\5PLAIN", "NONE lists all"),
        ("handshake v1", b"\0\x21\0\0\0\0", "UNSUPPORTED_SASL_MECHANISM lists none"),
        ("handshake v1", b"\0\0\0\0\0\1\0\1X", "NONE lists X"),
        ("token", b"\0\x3a\xff\xff\0\0\0\0", "SASL_AUTHENTICATION_FAILED"),
        ("token v2", b"\0\0\0\0\1\0\0\0\0\0\0\0\0\0", "NONE"),
        ("Metadata", b"\0\0\0\1", "answered"),
        ("Metadata", b"\0\0\0\0", "answered without brokers"),
        ("ListGroups", b"\0\x0f", "answered"),
        ("ListGroups", b"\0\x1f", "CLUSTER_AUTHORIZATION_FAILED"),
        ("Vote", b"", "answered"),
        ("bare token", b"x", "answered"),
    ],
)
def test_responses_have_outputs(letter: str, body: bytes | None, expected: str) -> None:
    """Error code, layout and kind of table are part of an output, a throttle time is not."""
    assert _output(letter, body) == expected


def test_metadata_of_a_target_with_unknown_ids_is_answered() -> None:
    """If the model cannot name the broker, a response to Metadata is only an answer."""
    letter = LETTERS["Metadata"]
    exchange = _exchange(letter, b"\0\0\0\0")
    assert replace(ABSTRACTION, knows_ids=False).output(letter, (exchange,)) == "answered"


def test_other_features_are_another_output() -> None:
    """A table with other features than the plain one is distinguished from it."""
    feature = SupportedFeatureKey(name="f", min_version=1, max_version=2)
    assert _output("v3", _table(3, supported_features=(feature,))).startswith("NONE v3 full, other features ")


def test_what_is_no_response_has_an_output() -> None:
    """A response to another request, bytes that are no frame and an empty token have outputs of their own."""
    v0, token = LETTERS["v0"], LETTERS["bare token"]
    other = Exchange(request=v0.requests[0], outcome=Outcome.ANSWER, payload=b"abcdefgh")
    assert ABSTRACTION.output(v0, (other,)) == "a response to another request"
    torn = Exchange(
        request=v0.requests[0],
        outcome=Outcome.SILENT,
        framing_error=DecodeError("too large", start=0, end=4),
    )
    assert ABSTRACTION.output(v0, (torn,)) == "bytes that are no frame; closed"
    taken = Exchange(request=token.requests[0], outcome=Outcome.ANSWER, payload=b"")
    assert ABSTRACTION.output(token, (taken,)) == "token taken"


def test_a_letter_of_two_frames_ends_with_its_connection() -> None:
    """The output of a letter with two frames has both, up to the close."""
    letter = LETTERS["v0 and v3 in one write"]
    first, second = letter.requests
    answered = Exchange(request=first, outcome=Outcome.ANSWER, payload=first.data[8:12] + _table(0))
    closed = Exchange(request=second, outcome=Outcome.CLOSED)
    assert ABSTRACTION.output(letter, (answered, closed)) == "NONE v0 full; closed"
    assert ABSTRACTION.output(letter, (closed, closed)) == "closed"
    assert ends_word("NONE v0 full; closed")
    assert not ends_word("NONE v0 full")


def test_a_sentinel_shows_that_the_connection_ends() -> None:
    """If the sentinel after a letter is not answered, the output says that the connection is closed."""
    letter = LETTERS["header without client id"]
    assert letter.sending is Sending.WITH_SENTINEL
    assert letter.kind is AnswerKind.API_VERSIONS
    assert ABSTRACTION.output(letter, (_exchange(letter, _table(0), usable=False),)) == "NONE v0 full; closed"
