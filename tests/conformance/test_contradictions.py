"""What a broker does against its own word: recordings in which it does, and recordings in which it may not have had the time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.assertions import contradictions as module
from conformance.assertions.contradictions import SETTLES_WITHIN_MS, contradictions
from fixtures.errors import ArtefactUnavailable
from reference_model.clients.scripts.recording import Recording, SeenRequest
from tests.described_apis import described_api
from tests.reference_model.clients.recordings import asked, listing, opened, recorded, sent
from wire.api_keys import END_TXN_KEY, FETCH_KEY, PRODUCE_KEY
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.frames import encode_frame
from wire.headers import ResponseHeader

VERSIONS = {PRODUCE_KEY: 9, FETCH_KEY: 12, END_TXN_KEY: 3}
TABLE = listing(*((key, 0, version) for key, version in VERSIONS.items()))
LATE_MS = 2 * SETTLES_WITHIN_MS


def element_of(message: type[Any], name: str) -> Any:
    """Return the class of the elements of an array."""
    (found,) = (each.element for each in message.FIELDS if each.name == name)
    return found


def answered(api_key: int, at_ms: int, **fields: Any) -> SeenRequest:
    """Return a request with a response that has these fields."""
    version = VERSIONS[api_key]
    api = described_api(api_key, version)
    header = encode(ResponseHeader(correlation_id=8), version=api.response_header_version(version))
    payload = header + encode(api.response(**fields), version=version)
    seen = sent(version, api_key=api_key, at_ms=at_ms, response=encode_frame(payload))
    return replace(seen, answered_ms=at_ms)


def written(offset: int, *, at_ms: int = 10, topic: str = "a topic", error_code: int = 0) -> Any:
    """Return a write to partition 0 that a broker confirms, or refuses."""
    response = described_api(PRODUCE_KEY, VERSIONS[PRODUCE_KEY]).response
    in_topic = element_of(response, "responses")
    partition = element_of(in_topic, "partition_responses")
    written_to = partition(index=0, base_offset=offset, error_code=ErrorCode(error_code))
    return answered(
        PRODUCE_KEY, at_ms, responses=(in_topic(name=topic, partition_responses=(written_to,)),)
    )


def fetched(high_watermark: int, stable: int, *, at_ms: int = 100, error_code: int = 0) -> Any:
    """Return a fetch from partition 0 that shows how far its log goes."""
    response = described_api(FETCH_KEY, VERSIONS[FETCH_KEY]).response
    in_topic = element_of(response, "responses")
    partition = element_of(in_topic, "partitions")(
        partition_index=0,
        high_watermark=high_watermark,
        last_stable_offset=stable,
        error_code=ErrorCode(error_code),
        aborted_transactions=None,
        records=None,
    )
    return answered(
        FETCH_KEY, at_ms, responses=(in_topic(topic="a topic", partitions=(partition,)),)
    )


def ended(at_ms: int = 50, error_code: int = 0) -> SeenRequest:
    """Return the end of a transaction."""
    return answered(END_TXN_KEY, at_ms, error_code=ErrorCode(error_code))


def seen(*requests: SeenRequest, duration_ms: int = LATE_MS, **connection: Any) -> Recording:
    """Return a recording of one connection on which the table came first."""
    return recorded(
        asked(3, TABLE),
        *requests,
        connections=[opened(**connection)],
        duration_ms=duration_ms,
    )


REFUSED = ended(error_code=ErrorCode.UNSUPPORTED_VERSION)
UNANSWERED = replace(sent(3, api_key=END_TXN_KEY, response=b""), answered_ms=None)


@pytest.mark.parametrize(
    ("recording", "what"),
    [
        pytest.param(seen(REFUSED), "answers it with UNSUPPORTED_VERSION", id="refuses"),
        pytest.param(
            seen(UNANSWERED, closed_by="broker"),
            "EndTxn v3, and closes the connection",
            id="closes",
        ),
        pytest.param(
            seen(written(0), ended(), fetched(2, 0)),
            "partition 0 from offset 0 on",
            id="still-open",
        ),
        pytest.param(
            seen(written(0), written(1), fetched(1, 1)), "a record at offset 1 of", id="lost"
        ),
    ],
)
def test_contradiction_is_found(recording: Recording, what: str) -> None:
    """One sentence says what the broker stated, and what it did."""
    (found,) = contradictions(recording)
    assert what in found


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(seen(replace(REFUSED, api_version=99)), id="not-listed"),
        pytest.param(
            recorded(REFUSED, connections=[opened()], duration_ms=LATE_MS), id="without-a-table"
        ),
        pytest.param(seen(UNANSWERED, closed_by="client"), id="closed-by-the-client"),
        pytest.param(seen(ended(), closed_by="broker"), id="closed-after-a-response"),
        pytest.param(
            seen(replace(UNANSWERED, answered_ms=20), closed_by="broker"),
            id="closed-after-a-response-that-was-not-kept",
        ),
        pytest.param(seen(written(0), ended(), fetched(3, 3)), id="stable"),
        pytest.param(seen(written(0), fetched(3, 0)), id="transaction-goes-on"),
        pytest.param(
            seen(written(0), ended(error_code=ErrorCode.INVALID_TXN_STATE), fetched(2, 0)),
            id="end-not-confirmed",
        ),
        pytest.param(seen(ended(), fetched(2, 0), duration_ms=900), id="too-early-to-tell"),
        pytest.param(seen(fetched(2, 0, at_ms=20), ended()), id="seen-before-the-end"),
        pytest.param(seen(ended(), fetched(2, 0), fetched(3, 3, at_ms=300)), id="stable-later"),
        pytest.param(
            seen(ended(), fetched(2, 0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)),
            id="fetch-refused",
        ),
        pytest.param(seen(written(0), fetched(1, 1)), id="all-there"),
        pytest.param(
            seen(written(0, error_code=ErrorCode.REQUEST_TIMED_OUT), fetched(0, 0)), id="refused"
        ),
        pytest.param(
            seen(written(5), written(0, topic="another"), fetched(1, 1)), id="several-topics"
        ),
        pytest.param(seen(replace(ended(), response=encode_frame(b"\0\0"))), id="unreadable"),
    ],
)
def test_right_broker_contradicts_nothing(recording: Recording) -> None:
    """Nor one that may still be doing what it confirmed."""
    assert contradictions(recording) == []


def test_nothing_is_found_without_the_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in a jar that may not be there, and a verdict does not need them."""

    def missing() -> None:
        raise ArtefactUnavailable("no jar")

    monkeypatch.setattr(module, "api_catalogue", missing)
    assert contradictions(seen(REFUSED)) == []
