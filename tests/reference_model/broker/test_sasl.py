"""A SASL listener, frame by frame, compared with literals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.connection_states import TRANSITIONS, ConnectionState
from reference_model.broker.rules.oracle import first_state, reactions
from reference_model.broker.rules.reaction import Listing, NotModelled
from reference_model.broker.rules.sasl import Credentials, SaslConfiguration
from reference_model.profiles.profile import KIP_TEXT, profile_of
from tests.reference_model.broker.reaction_tables import NAMES, V0, V3, V5, V99
from tests.reference_model.broker.release_lines import IDENTITY, QUORUMS, in_words
from wire.error_codes import ErrorCode
from wire.frames import encode_frame

AUTHENTICATION = SaslConfiguration(credentials=Credentials(username="u", password="p"))
HANDSHAKE_V0 = "0011 0000 00000007 ffff 0005 504c41494e"
HANDSHAKE_V1 = "0011 0001 00000007 ffff 0005 504c41494e"
HANDSHAKE_V2 = "0011 0002 00000007 ffff 0005 504c41494e"
HANDSHAKE_OTHER = "0011 0000 00000007 ffff 0001 78"
HANDSHAKE_NULL = "0011 0000 00000007 ffff ffff"
HANDSHAKE_CUT = "0011 0000 00000007 ffff 0005 50"
RIGHT = "00 75 00 70"
ACTING_AS_SELF = "75 00 75 00 70"
ACTING_AS_OTHER = "78 00 75 00 70"
WRONG = "00 75 00 71"
TWO_PARTS = "75 00 70"
TOKEN_V0 = f"0024 0000 00000007 ffff 00000004 {RIGHT}"
TOKEN_V1 = f"0024 0001 00000007 ffff 00000004 {RIGHT}"
TOKEN_V2 = f"0024 0002 00000007 ffff 00 05 {RIGHT} 00"
TOKEN_V3 = f"0024 0003 00000007 ffff 00 05 {RIGHT} 00"
TOKEN_WRONG = f"0024 0000 00000007 ffff 00000004 {WRONG}"
TOKEN_NULL = "0024 0000 00000007 ffff ffffffff"
TOKEN_V2_NULL = "0024 0002 00000007 ffff 00 00 00"
TOKEN_CUT = "0024 0000 00000007 ffff 00000004 00"
TOKEN_V2_CUT = f"0024 0002 00000007 ffff 00 05 {RIGHT}"
METADATA_V0 = "0003 0000 00000007 ffff 00000000"
METADATA_V0_CUT = "0003 0000 00000007 ffff 000000"
VOTE = "0034 0000 00000007 ffff 00 00 01 00"
ENVELOPE = "003a 0000 00000007 ffff 00 01 01 05 7f000001 00"
BROKER_HEARTBEAT = f"003f 0000 00000007 ffff {bytes(24).hex()}"
LIST_GROUPS_V0 = "0010 0000 00000007 ffff"
METADATA = "0003 0001 00000007 ffff 00000000"
METADATA_V99 = "0003 0063 00000007 ffff 00000000"
NAMED = f"{V3} 00 {NAMES} 00"
BAD_NAME = f"{V3} 00 015f 0231 00"
EMPTY_NAME = f"{V3} 00 01 0231 00"
NO_BODY = f"{V3} 00"
WRONG_IDS = f"{V5} 00 {NAMES} 03 6d66 00000001 00"


def walk(release: str, *frames: str, listener: str = "sasl_plaintext") -> list[str]:
    """Return the allowed reactions to each frame, in words, and the state after the preferred one."""
    profile = profile_of(release, quorum=QUORUMS[release], listener=listener)
    state = first_state(profile)
    steps = []
    for frame in frames:
        allowed = reactions(bytes.fromhex(frame), profile, IDENTITY, state=state, authentication=AUTHENTICATION)
        words = [in_words(each) for each in allowed]
        state = TRANSITIONS[state, allowed[0].event]
        steps.append(" or ".join(words) + f", {state.value}")
    return steps


BEFORE, SERVED = "before the handshake", "API versions served"
BARE, WRAPPED = "bare tokens", "wrapped tokens"
IN, OUT = "authenticated", "closed"


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        pytest.param([V0, V0], [f"0 v0 table, {SERVED}", f"closed, {OUT}"], id="versions-twice"),
        pytest.param(
            [f"{V99} 00", EMPTY_NAME, NAMED, f"{V99} 00"],
            [
                f"35 v0 itself, {BEFORE}",
                f"42 v3, {BEFORE}",
                f"0 v3 table, {SERVED}",
                f"closed, {OUT}",
            ],
            id="refusals-are-free",
        ),
        pytest.param([WRONG_IDS], [f"0 v5 table, {SERVED}"], id="ids-are-not-looked-at"),
        pytest.param([NO_BODY], [f"closed, {OUT}"], id="no-body"),
        pytest.param([""], [f"closed, {OUT}"], id="empty-frame"),
        pytest.param([METADATA], [f"closed, {OUT}"], id="another-api"),
        pytest.param([TOKEN_V0], [f"closed, {OUT}"], id="token-first"),
        pytest.param([HANDSHAKE_OTHER], [f"SaslHandshake 33, {OUT}"], id="unknown-mechanism"),
        pytest.param([HANDSHAKE_NULL], [f"closed, {OUT}"], id="null-mechanism"),
        pytest.param([HANDSHAKE_CUT], [f"closed, {OUT}"], id="cut-mechanism"),
        pytest.param([HANDSHAKE_V2], [f"closed, {OUT}"], id="handshake-v2"),
        pytest.param(
            [V0, HANDSHAKE_V0, RIGHT],
            [f"0 v0 table, {SERVED}", f"SaslHandshake 0, {BARE}", f"bare token 0, {IN}"],
            id="bare-token",
        ),
        pytest.param(
            [HANDSHAKE_V0, ACTING_AS_SELF],
            [f"SaslHandshake 0, {BARE}", f"bare token 0, {IN}"],
            id="acting-as-self",
        ),
        *(
            pytest.param([HANDSHAKE_V0, token], [f"SaslHandshake 0, {BARE}", f"closed, {OUT}"], id=name)
            for name, token in (
                ("wrong-bare-token", WRONG),
                ("acting-as-another", ACTING_AS_OTHER),
                ("two-parts", TWO_PARTS),
                ("versions-as-bare-token", V0),
                ("wrapped-as-bare-token", TOKEN_V0),
            )
        ),
        *(
            pytest.param([HANDSHAKE_V1, frame], [f"SaslHandshake 0, {WRAPPED}", expected], id=name)
            for name, frame, expected in (
                ("wrapped-v0", TOKEN_V0, f"SaslAuthenticate 0, {IN}"),
                ("wrapped-v1", TOKEN_V1, f"SaslAuthenticate 0, {IN}"),
                ("wrapped-v2", TOKEN_V2, f"SaslAuthenticate 0, {IN}"),
                ("wrapped-v3", TOKEN_V3, f"closed, {OUT}"),
                ("wrapped-wrong", TOKEN_WRONG, f"SaslAuthenticate 58, {OUT}"),
                ("wrapped-null", TOKEN_NULL, f"closed, {OUT}"),
                ("wrapped-cut", TOKEN_CUT, f"closed, {OUT}"),
                ("wrapped-v2-null", TOKEN_V2_NULL, f"closed, {OUT}"),
                ("wrapped-v2-cut", TOKEN_V2_CUT, f"closed, {OUT}"),
                ("late-v0", V0, f"34 v0, {OUT}"),
                ("late-v3", NAMED, f"34 v3, {OUT}"),
                ("late-bad-name", EMPTY_NAME, f"34 v3, {OUT}"),
                ("late-v99", f"{V99} 00", f"34 v0, {OUT}"),
                ("late-unreadable", NO_BODY, f"closed, {OUT}"),
                ("late-metadata", METADATA, f"another API 34 or closed, {OUT}"),
                ("late-metadata-v0", METADATA_V0, f"another API 34, {OUT}"),
                ("late-metadata-v0-cut", METADATA_V0_CUT, f"another API 34 or closed, {OUT}"),
                ("late-list-groups-v0", LIST_GROUPS_V0, f"another API 34, {OUT}"),
                ("late-metadata-v99", METADATA_V99, f"closed, {OUT}"),
                ("late-empty-frame", "", f"closed, {OUT}"),
                ("bare-as-wrapped", RIGHT, f"closed, {OUT}"),
            )
        ),
        pytest.param(
            [HANDSHAKE_V1, TOKEN_V0, V0, V0, WRONG_IDS, TOKEN_V0, HANDSHAKE_V1, V0],
            [
                f"SaslHandshake 0, {WRAPPED}",
                f"SaslAuthenticate 0, {IN}",
                f"0 v0 table, {IN}",
                f"0 v0 table, {IN}",
                f"129 v5, {IN}",
                f"SaslAuthenticate 34, {IN}",
                f"SaslHandshake 34, {IN}",
                f"0 v0 table, {IN}",
            ],
            id="authenticated",
        ),
        pytest.param(
            [HANDSHAKE_V1, TOKEN_V0, METADATA_V0, LIST_GROUPS_V0, METADATA_V99],
            [
                f"SaslHandshake 0, {WRAPPED}",
                f"SaslAuthenticate 0, {IN}",
                f"another API 0, {IN}",
                f"another API 0, {IN}",
                f"closed, {OUT}",
            ],
            id="another-api-when-authenticated",
        ),
        pytest.param(
            [HANDSHAKE_V1, TOKEN_V0, HANDSHAKE_CUT],
            [f"SaslHandshake 0, {WRAPPED}", f"SaslAuthenticate 0, {IN}", f"closed, {OUT}"],
            id="cut-handshake-when-authenticated",
        ),
    ],
)
def test_sasl_listener_of_the_newest_release(frames: list[str], expected: list[str]) -> None:
    """For each frame, the newest release allows these reactions and moves to this state."""
    assert walk("4.4.0", *frames) == expected


def test_versions_may_be_asked_often_up_to_0_11() -> None:
    """Before 1.0, any number of ApiVersions requests is served before the handshake."""
    assert walk("0.11.0.3", V0, V0) == [f"0 v0 table, {SERVED}", f"0 v0 table, {SERVED}"]
    assert walk("1.1.1", V0, V0)[1] == f"closed, {OUT}"


def test_steps_are_served_as_old_releases_have_them() -> None:
    """Up to 0.11 there is no handshake v1; up to 2.1 no second authentication and no wrapped v1."""
    assert walk("0.11.0.3", HANDSHAKE_V1) == [f"closed, {OUT}"]
    assert walk("2.0.1", HANDSHAKE_V1, TOKEN_V1)[1] == f"closed, {OUT}"
    assert walk("2.0.1", HANDSHAKE_V0, RIGHT, HANDSHAKE_V0)[2] == f"SaslHandshake 34, {IN}"


def test_steps_of_sasl_have_no_place_on_other_listeners() -> None:
    """Without authentication, SASL steps get ILLEGAL_SASL_STATE, or close if they are unreadable."""
    assert walk("4.4.0", HANDSHAKE_V0, TOKEN_V0, TOKEN_V2, listener="plaintext") == [
        "SaslHandshake 34, open",
        "SaslAuthenticate 34, open",
        "SaslAuthenticate 34, open",
    ]
    for frame in (HANDSHAKE_V2, HANDSHAKE_NULL, TOKEN_CUT, "0011 00", "0011 0000 00000007"):
        assert walk("4.4.0", frame, listener="plaintext") == [f"closed, {OUT}"]


@pytest.mark.parametrize("release", ["1.0.2", "1.1.1", "2.8.2", "4.4.0"])
@pytest.mark.parametrize("frame", [VOTE, ENVELOPE, BROKER_HEARTBEAT])
def test_apis_that_no_broker_lists_are_refused_by_releases_that_read_them(release: str, frame: str) -> None:
    """After SaslHandshake v1 an API of controllers gets 34 from releases that have it, and the close from others."""
    reads = release in ("2.8.2", "4.4.0")
    expected = f"another API 34, {OUT}" if reads else f"closed, {OUT}"
    assert walk(release, HANDSHAKE_V1, frame)[1] == expected


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(HANDSHAKE_V0, f"SaslHandshake 34, {OUT}", id="v0"),
        pytest.param(HANDSHAKE_V1, f"SaslHandshake 34, {OUT}", id="v1"),
        pytest.param(HANDSHAKE_OTHER, f"SaslHandshake 34, {OUT}", id="unknown-mechanism"),
        pytest.param(HANDSHAKE_V2, f"closed, {OUT}", id="unknown-version"),
        pytest.param(HANDSHAKE_NULL, f"closed, {OUT}", id="null-mechanism"),
    ],
)
def test_second_handshake_is_refused(second: str, expected: str) -> None:
    """After SaslHandshake v1 a second one gets ILLEGAL_SASL_STATE and the close, on every release."""
    for release in ("1.0.2", "1.1.1", "3.9.2", "4.4.0"):
        assert walk(release, HANDSHAKE_V1, second)[1] == expected


def test_mechanisms_are_listed_with_a_refusal_up_to_1_0() -> None:
    """Once authenticated a refused handshake lists the mechanisms up to 1.0, and none from 1.1 on."""
    for release, listing in (("0.11.0.3", Listing.EVERYTHING), ("1.1.1", Listing.NOTHING)):
        profile = profile_of(release, quorum="zookeeper", listener="sasl_plaintext")
        (reaction,) = reactions(bytes.fromhex(HANDSHAKE_V0), profile, IDENTITY, state=ConnectionState.AUTHENTICATED)
        assert (reaction.error_code, reaction.listing) == (ErrorCode.ILLEGAL_SASL_STATE, listing)


def test_other_apis_are_not_modelled_after_the_handshake_of_an_unrecorded_release() -> None:
    """The model states nothing about another API if there is no record of what a release decodes."""
    profile = replace(profile_of("4.4.0", listener="sasl_plaintext"), readable_keys=())
    with pytest.raises(NotModelled, match="decodes"):
        reactions(bytes.fromhex(LIST_GROUPS_V0), profile, IDENTITY, state=ConnectionState.WRAPPED_TOKENS)


def test_kip_text_checks_ids_before_authentication() -> None:
    """By the text of KIP-1242, wrong ids are refused at once and do not use up the one ApiVersions."""
    profile = profile_of("4.4.0", listener="sasl_plaintext", follows=KIP_TEXT)
    (reaction,) = reactions(bytes.fromhex(WRONG_IDS), profile, IDENTITY)
    assert in_words(reaction) == "129 v5"
    assert TRANSITIONS[first_state(profile), reaction.event].value == BEFORE


@pytest.mark.parametrize("frame", [METADATA, METADATA_V0_CUT])
def test_other_apis_are_not_modelled_once_authenticated(frame: str) -> None:
    profile = profile_of("4.4.0", listener="sasl_plaintext")
    with pytest.raises(NotModelled):
        reactions(bytes.fromhex(frame), profile, IDENTITY, state=ConnectionState.AUTHENTICATED)


@pytest.mark.parametrize(
    ("frames", "answer"),
    [
        pytest.param([HANDSHAKE_V0], "00000011 00000007 0000 00000001 0005 504c41494e", id="handshake"),
        pytest.param([HANDSHAKE_OTHER], "00000011 00000007 0021 00000001 0005 504c41494e", id="unknown"),
        pytest.param([HANDSHAKE_V0, RIGHT], "00000000", id="bare-token"),
        pytest.param([HANDSHAKE_V1, TOKEN_V0], "0000000c 00000007 0000 ffff 00000000", id="wrapped-v0"),
        pytest.param([HANDSHAKE_V1, TOKEN_V1], "00000014 00000007 0000 ffff 00000000 0000000000000000", id="wrapped-v1"),
        pytest.param([HANDSHAKE_V1, TOKEN_V2], "00000012 00000007 00 0000 00 01 0000000000000000 00", id="wrapped-v2"),
        pytest.param([HANDSHAKE_V1, V0], "0000000a 00000007 0022 00000000", id="late-v0"),
        pytest.param([HANDSHAKE_V1, NAMED], "0000000c 00000007 0022 01 00000000 00", id="late-v3"),
        pytest.param([HANDSHAKE_V1, METADATA], "00000010 00000007 00000000 ffffffff 00000000", id="late-metadata"),
        pytest.param([HANDSHAKE_V1, LIST_GROUPS_V0], "0000000a 00000007 0022 00000000", id="late-groups"),
        pytest.param([HANDSHAKE_V1, VOTE], "00000009 00000007 00 0022 01 00", id="late-vote"),
        pytest.param([HANDSHAKE_V1, BROKER_HEARTBEAT], "0000000f 00000007 00 00000000 0022 00 01 00 00", id="late-heartbeat"),
        pytest.param([HANDSHAKE_V1, ENVELOPE], "00000009 00000007 00 00 0022 00", id="late-envelope"),
        pytest.param([HANDSHAKE_V1, HANDSHAKE_V1], "0000000a 00000007 0022 00000000", id="second-handshake"),
        pytest.param([HANDSHAKE_V1, TOKEN_V0, TOKEN_V0], "0000000c 00000007 0022 ffff 00000000", id="token-again"),
    ],
)  # fmt: skip
def test_steps_have_their_literal_bytes(frames: list[str], answer: str) -> None:
    """Each step is answered in the layout of its version."""
    profile = profile_of("4.4.0", listener="sasl_plaintext")
    broker = ReferenceBroker(profile=profile, identity=IDENTITY, authentication=AUTHENTICATION)
    connection = broker.connect()
    for frame in frames:
        connection.data_to_send()
        connection.receive_data(encode_frame(bytes.fromhex(frame)))
    assert connection.data_to_send() == bytes.fromhex(answer)


def test_reaction_says_that_it_closes_and_why_there_are_others() -> None:
    """The text mentions that the answer is followed by a close, and why another reaction is allowed."""
    profile = profile_of("4.4.0", listener="sasl_plaintext")
    allowed = reactions(bytes.fromhex(METADATA), profile, IDENTITY, state=ConnectionState.WRAPPED_TOKENS)
    assert [str(each) for each in allowed] == [
        "ILLEGAL_SASL_STATE (34) to another API, then closed"
        " (MODEL.sequence-agrees; if the broker cannot decode the request's body, it closes the connection)",
        "closed (MODEL.sequence-agrees; if the broker cannot decode the request's body, it closes the connection)",
    ]


def test_frames_are_short_before_authentication() -> None:
    """Before authentication a frame has at most 512 KiB, afterwards 100 MiB."""
    profile = profile_of("4.4.0", listener="sasl_plaintext")
    broker = ReferenceBroker(profile=profile, identity=IDENTITY, authentication=AUTHENTICATION)
    early, late = broker.connect(), broker.connect()
    early.receive_data((524288).to_bytes(4))
    assert early.state is ConnectionState.BEFORE_HANDSHAKE
    refused = broker.connect()
    refused.receive_data((524289).to_bytes(4))
    assert refused.state is ConnectionState.CLOSED
    for frame in (HANDSHAKE_V0, RIGHT):
        late.receive_data(encode_frame(bytes.fromhex(frame)))
    late.receive_data((104857600).to_bytes(4))
    assert late.state is ConnectionState.AUTHENTICATED
