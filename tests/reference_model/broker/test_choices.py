"""The model allows more than one outcome only for a documented reason."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from reference_model.broker.rules.choices import Choice
from reference_model.broker.rules.connection_states import SERVING, TAKING_REQUESTS, ConnectionState
from reference_model.broker.rules.oracle import reactions
from reference_model.broker.rules.reaction import Identity, NotModelled
from reference_model.profiles.profile import Profile, profile_of
from strategies.any_requests import any_requests
from strategies.other_apis import bare_requests
from tests.reference_model.broker.reaction_tables import TABLES
from tests.reference_model.broker.release_lines import IDENTITY, LINES, QUORUMS
from wire.exchange import Request
from wire.frames import SIZE_BYTES

NOBODY = Identity()
OF_LOST_ANSWERS = {Choice.ENDED_AFTER_FRAME, Choice.REFUSED_AFTER_FRAME}


def profile_for(release: str, state: ConnectionState) -> Profile:
    """Return a release on a listener whose connections may be in a state."""
    listener = "plaintext" if state in SERVING else "sasl_plaintext"
    return profile_of(release, quorum=QUORUMS[release], listener=listener)


def choices_of(
    payload: bytes, release: str, state: ConnectionState, identity: Identity
) -> set[Choice | None]:
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
    used = set().union(
        *(choices_of(*each) for each in product(payloads, releases, states, (IDENTITY, NOBODY)))
    )
    assert used == set(Choice) - OF_LOST_ANSWERS
