"""Tests of the oracle against literals: one request and its allowed reactions.

The literals state the reaction of each release line. The oracle allows several outcomes only for a documented reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clauses.catalogue import catalogue
from reference_model.broker.rules.connection_states import SERVING, TAKING_REQUESTS, ConnectionState
from reference_model.broker.rules.oracle import reactions
from reference_model.broker.rules.reaction import Choice, Identity, NotModelled
from reference_model.profiles.profile import Profile, profile_of
from strategies.any_requests import any_requests
from strategies.other_apis import bare_requests
from tests.reference_model.broker.reaction_tables import NAMES, TABLES, V5
from tests.reference_model.broker.release_lines import (
    IDENTITY,
    LINES,
    QUORUMS,
    decisions,
    in_words,
    on_every_line,
    profile_at,
)
from wire.exchange import Outcome, Request
from wire.frames import SIZE_BYTES

VERSIONS_ACROSS_INT16 = sorted({*range(-(2**15), 2**15, 97), *range(-20, 40), 2**15 - 1})


@pytest.mark.parametrize(
    ("payload", "since"),
    [
        pytest.param(payload, since, id=f"{table}-{name}")
        for table, rows in TABLES.items()
        for name, payload, since in rows
    ],
)
def test_request_gets_what_its_release_gives(payload: str, since: Mapping[str, str]) -> None:
    """On every release line the oracle allows exactly the reactions that Kafka showed."""
    assert decisions(payload) == on_every_line(since)


@pytest.mark.parametrize(
    ("identity", "ids", "allowed"),
    [
        pytest.param(Identity(), "00 ffffffff", "0 v5 table", id="nothing-to-check"),
        pytest.param(Identity(), "03 6d65 00000001", "0 v5 table or 129 v5", id="nothing-known"),
        pytest.param(Identity(), "00 00000001", "42 v5", id="half-given-is-wrong-anyway"),
        pytest.param(Identity(cluster_id="me"), "03 6d65 00000001", "0 v5 table or 129 v5", id="no-node"),
        pytest.param(Identity(node_id=1), "03 6d65 00000001", "0 v5 table or 129 v5", id="no-cluster"),
        pytest.param(IDENTITY, "03 6d65 00000001", "0 v5 table", id="both-known"),
    ],
)
def test_unknown_identity_allows_both_answers(identity: Identity, ids: str, allowed: str) -> None:
    """If the broker's ids are unknown, given ids may be right or wrong; the reaction to right ids comes first."""
    decided = decisions(f"{V5} 00 {NAMES} {ids} 00", identity=identity)
    assert decided["4.4.0"] == allowed
    assert decided["4.3.1"] == "35 v0 itself"


@pytest.mark.parametrize(
    ("release", "refused", "served"),
    [
        pytest.param("0.10.0.1", "0003 0002", "0003 0001", id="metadata-0.10"),
        pytest.param("2.8.2", "0004 0006", "0004 0005", id="leader-and-isr-zookeeper"),
        pytest.param("4.4.0", "0001 0003", "0001 0004", id="fetch-4.4-minimum"),
        pytest.param("4.4.0", "0000 0002", "0000 0003", id="produce-4.4-listed-from-0"),
        pytest.param("4.4.0", "0048 0001", "0048 0000", id="telemetry-4.4-unlisted"),
    ],
)
def test_served_request_of_another_api_is_not_judged(release: str, refused: str, served: str) -> None:
    """A version outside the table's range closes; one inside it is not modelled."""
    profile = profile_at(release)
    (reaction,) = reactions(bytes.fromhex(f"{refused} 00000007 ffff"), profile, IDENTITY)
    assert in_words(reaction) == "closed"
    with pytest.raises(NotModelled, match=r"^api key \d+ v\d+ is not modelled$"):
        reactions(bytes.fromhex(f"{served} 00000007 ffff"), profile, IDENTITY)


@pytest.mark.parametrize(
    ("release", "skipped"),
    [
        ("0.10.0.1", [1, 7]),
        ("0.10.1.1", [1, 7]),
        ("0.10.2.2", [7]),
        ("0.11.0.3", [7]),
        ("1.0.2", []),
    ],
)
def test_requests_that_older_code_cannot_read_are_skipped(release: str, skipped: list[int]) -> None:
    """If the header ends too soon, some keys are ignored and the connection is kept; other keys close."""
    profile = profile_at(release)
    for rest in ("", "0000", "0001 00000001", "0001 00000001 0005", "ffff"):
        found = [
            api_key
            for api_key in (0, 1, 3, 7)
            for each in reactions(api_key.to_bytes(2) + bytes.fromhex(rest), profile, IDENTITY)
            if each.outcome is Outcome.IGNORED
        ]
        assert found == skipped


def test_without_a_recorded_table_other_apis_are_not_modelled() -> None:
    """Without a table it is unknown which APIs a release has; an unreadable request still closes."""
    profile = dataclasses.replace(profile_at("4.4.0"), api_keys=(), served_keys=())
    with pytest.raises(NotModelled, match="no recorded table of"):
        reactions(bytes.fromhex("03e7 0000 00000007 ffff"), profile, IDENTITY)
    (reaction,) = reactions(bytes.fromhex("03e7"), profile, IDENTITY)
    assert in_words(reaction) == "closed"


@pytest.mark.parametrize("api_key", [4, 5, 6, 7])
@pytest.mark.parametrize("release", [line for line in LINES if line.startswith("4.")])
def test_removed_keys_are_closed_from_4_0_on(release: str, api_key: int) -> None:
    """The keys that 4.0 removed close the connection in every version."""
    for version in (0, 1, 3, 7):
        payload = b"".join((api_key.to_bytes(2), version.to_bytes(2), bytes(4), b"\xff\xff"))
        (reaction,) = reactions(payload, profile_at(release), IDENTITY)
        assert in_words(reaction) == "closed"


@pytest.mark.parametrize("release", LINES)
def test_every_version_that_is_not_served_gets_35(release: str) -> None:
    """Across int16, only the versions from 0 to the maximum get anything but error 35."""
    profile = profile_at(release)
    itself = profile.traits.unsupported_names_range
    refusal = "35 v0 itself" if itself else "35 v0"
    served = []
    for version in VERSIONS_ACROSS_INT16:
        payload = b"".join((b"\0\x12", version.to_bytes(2, signed=True), bytes(4), b"\0\0\0"))
        (reaction,) = reactions(payload, profile, IDENTITY)
        if in_words(reaction) != refusal:
            served.append(version)
    assert served == list(range(profile.traits.api_versions_max + 1))


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        pytest.param(
            "",
            "closed (it cannot decode the request: 2 bytes expected, 0 left (bytes 0 to 0))",
            id="closed",
        ),
        pytest.param(
            "0012 ffff 00000007 0000",
            "UNSUPPORTED_VERSION (35) in v0 listing itself (KIP-511.unsupported-version-answered-in-v0)",
            id="answer",
        ),
        pytest.param(
            "0011 0000 00000007 ffff 0001 61",
            "ILLEGAL_SASL_STATE (34) to SaslHandshake listing nothing (MODEL.sequence-agrees)",
            id="step-of-sasl",
        ),
        pytest.param(
            "0000 0003 00000007 ffff ffff 0000 000003e8 00000000",
            "ignored (PROTOCOL.no-response-to-acks-0)",
            id="acks-0",
        ),
    ],
)
def test_reaction_reads_as_a_phrase(payload: str, text: str) -> None:
    """A reaction's text contains its outcome or error, layout, table, and clause."""
    (reaction,) = reactions(bytes.fromhex(payload), profile_at("4.4.0"), IDENTITY)
    assert str(reaction) == text


def test_reactions_rest_on_clauses_of_the_catalogue() -> None:
    """Every reaction in the tables names a clause of the catalogue."""
    named = {
        reaction.clause
        for rows in TABLES.values()
        for _, payload, _ in rows
        for release in (LINES[0], LINES[-1])
        for reaction in reactions(bytes.fromhex(payload), profile_at(release), IDENTITY)
    }
    assert sorted(clause for clause in named if clause not in catalogue()) == []


NOBODY = Identity()
OF_LOST_ANSWERS = {Choice.ENDED_AFTER_FRAME, Choice.REFUSED_AFTER_FRAME}


def profile_for(release: str, state: ConnectionState) -> Profile:
    """Return a release on a listener whose connections may be in a state."""
    listener = "plaintext" if state in SERVING else "sasl_plaintext"
    return profile_of(release, quorum=QUORUMS[release], listener=listener)


def choices_of(payload: bytes, release: str, state: ConnectionState, identity: Identity) -> set[Choice | None]:
    """Return the reasons of the outcomes that are allowed, if there are several."""
    try:
        allowed = reactions(payload, profile_for(release, state), identity, state=state)
    except NotModelled:
        return set()
    return {each.reason for each in allowed} if len(allowed) > 1 else set()


@given(
    request=any_requests() | bare_requests(),
    release=st.sampled_from(LINES),
    state=st.sampled_from(TAKING_REQUESTS),
    identity=st.sampled_from((IDENTITY, NOBODY)),
)
def test_several_outcomes_have_one_documented_reason(
    request: Request, release: str, state: ConnectionState, identity: Identity
) -> None:
    """If more than one outcome is allowed, all of them give the same reason."""
    reasons = choices_of(request.data[SIZE_BYTES:], release, state, identity)
    assert len(reasons) <= 1
    assert None not in reasons


def test_every_documented_reason_is_used() -> None:
    """Each reason is that of a request in the tables, or of answers that an early end loses."""
    payloads = [bytes.fromhex(payload) for rows in TABLES.values() for _, payload, _ in rows]
    states = (ConnectionState.OPEN, ConnectionState.WRAPPED_TOKENS)
    releases = ("0.11.0.3", "2.8.2", "4.4.0")
    used = set().union(*(choices_of(*each) for each in product(payloads, releases, states, (IDENTITY, NOBODY))))
    assert used == set(Choice) - OF_LOST_ANSWERS
