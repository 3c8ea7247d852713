"""Stored inputs: how they are cut into frames, and what the model allows for them."""

from __future__ import annotations

import pytest

from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.reaction import Identity, NotModelled
from reference_model.judging.stored_inputs import StoredInputOracle, cut_frames
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from strategies.api_versions import build_request
from strategies.other_apis import METADATA, build_bare_request
from wire.api_keys import METADATA_KEY
from wire.exchange import Outcome


def oracle(release: str = NEWEST_RELEASE) -> StoredInputOracle:
    """Return the model of a release."""
    return StoredInputOracle(profile_of(release), Identity())


def test_frames_are_cut_as_a_broker_cuts_them() -> None:
    """Complete frames, an incomplete frame and a refused size are distinguished."""
    whole = build_request(version=0).data
    assert [request.data for request in cut_frames(whole * 2).complete] == [whole, whole]
    cut = cut_frames(whole + whole[:9])
    assert (len(cut.complete), cut.awaits_more) == (1, True)
    refused = cut_frames(whole + b"\xff\xff\xff\xff")
    assert (len(refused.complete), refused.size_is_refused, refused.awaits_more) == (1, True, False)


def test_what_keeps_the_connection_is_the_models_word() -> None:
    """Answered requests keep the connection, even refused ones; malformed and incomplete ones do not."""
    plain, unserved = build_request(version=0).data, build_request(version=99).data
    assert oracle().allowed_for(plain + unserved).keeps_the_connection
    assert not oracle().allowed_for(plain + b"\0\0\0\1\0").keeps_the_connection
    assert not oracle().allowed_for(plain[:-1]).keeps_the_connection


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        pytest.param(build_request(version=0).data, False, id="served"),
        pytest.param(build_request(version=0).data[:-1], True, id="incomplete"),
        pytest.param(b"\0\0\0\1\0", True, id="malformed"),
        pytest.param(b"", False, id="nothing"),
    ],
)
def test_connection_ends_unless_the_last_frame_is_served(data: bytes, ends: bool) -> None:
    """Bytes that form no complete frame and a refused last frame end the connection."""
    assert oracle().allowed_for(data).ends_the_connection is ends


def test_requests_of_other_apis_are_not_modelled() -> None:
    """The oracle of stored inputs judges nothing but ApiVersions."""
    with pytest.raises(NotModelled, match="another API"):
        oracle().reactions_to(METADATA)


def test_a_closed_connection_stays_closed() -> None:
    """Requests after the one that closes a connection do not change its state."""
    closing = build_bare_request(METADATA_KEY, 99)
    state = oracle().state_after([closing, build_request(version=0)])
    assert state is ConnectionState.CLOSED


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        pytest.param("0.10.1.1", {Outcome.CLOSED}, id="0.10.1"),
        pytest.param("0.11.0.3", {Outcome.CLOSED, Outcome.SILENT}, id="0.11"),
        pytest.param("2.4.1", {Outcome.CLOSED}, id="2.4"),
        pytest.param("2.5.1", set(), id="2.5"),
        pytest.param("4.4.0", set(), id="4.4"),
    ],
)
def test_answers_may_be_lost_up_to_2_4(release: str, expected: set[Outcome]) -> None:
    """On old releases a refused or lone size may cost answers; an incomplete or refused frame never does."""
    plain = build_request(version=0).data
    for rest in (b"\xff\xff\xff\xff", plain[:4]):
        assert oracle(release).allowed_for(plain + rest).losses == expected
    assert oracle(release).losses_at_an_early_end == expected
    for rest in (b"\0\0\0\2\0\0", plain[:-1], plain[:3], plain[:5]):
        assert oracle(release).allowed_for(plain + rest).losses == set()
