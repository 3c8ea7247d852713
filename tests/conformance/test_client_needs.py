"""What properties need of a client, and why they do not apply without it."""

from __future__ import annotations

import pytest

from conformance.roles.client import NEEDS, unmet_need
from proposals import provided
from tests.conformance.client_plays import FakeClient, entry, worked
from tests.reference_model.clients.recordings import asked, sent


@pytest.mark.parametrize(
    ("client", "unmet"),
    [
        pytest.param(
            FakeClient(client=entry(options={"tls": (), "sasl_plain": ()})),
            {
                *{
                    "never_asks",
                    "sends_v5",
                    "option:without_cluster_check",
                    "option:without_rebootstrap",
                },
                *(need for of_one in provided("client_needs") for need in of_one),
            },
            id="v4-with-tls",
        ),
        pytest.param(
            FakeClient(
                healthy=worked(asked(0), sent(1)),
                client=entry(cluster_check=False, can_ask_again=False),
            ),
            set(NEEDS) - {"gives_up", "asks_versions", "asks_metadata"},
            id="v0-alone",
        ),
        pytest.param(
            FakeClient(healthy=worked()),
            set(NEEDS) - {"gives_up", "cluster_check", "asks_again"},
            id="none",
        ),
        pytest.param(
            FakeClient(healthy=worked(sent(12))),
            set(NEEDS) - {"gives_up", "never_asks", "asks_metadata", "cluster_check", "asks_again"},
            id="never-asks",
        ),
    ],
)
def test_property_does_not_apply_without_what_it_needs(client: FakeClient, unmet: set[str]) -> None:
    """A need is met by what the client did with a healthy broker, or has in the registry."""
    reasons = {name: unmet_need([name], client) for name in NEEDS}
    assert {name for name, reason in reasons.items() if reason} == unmet
    assert reasons == {name: NEEDS[name].otherwise if name in unmet else None for name in NEEDS}


@pytest.mark.parametrize("in_first_play", [True, False], ids=["one-broker", "cluster"])
def test_ids_are_seen_not_looked_up(*, in_first_play: bool) -> None:
    """A client that is in no registry gives the ids of KIP-1242 if a healthy broker or cluster sees them."""
    silent, giving = (
        worked(asked(5), sent(12)),
        worked(asked(5, ids=("c", 1))),
    )
    command = entry(cluster_check=False)
    client = FakeClient(
        healthy=giving if in_first_play else silent, prepared=giving, client=command
    )
    assert unmet_need(["sends_v5", "cluster_check"], client) is None
    without = FakeClient(healthy=silent, prepared=silent, client=command)
    assert unmet_need(["cluster_check"], without) == NEEDS["cluster_check"].otherwise


def test_first_unmet_need_is_the_reason() -> None:
    """Of several needs the first one that is not met is given; an unknown one is a mistake."""
    client = FakeClient()
    assert unmet_need([], client) is None
    reason = unmet_need(["sends_v3", "sends_v5", "option:tls"], client)
    assert reason == NEEDS["sends_v5"].otherwise
    with pytest.raises(KeyError):
        unmet_need(["sends_v9"], client)


def test_program_that_runs_on_gives_up_nothing() -> None:
    """Its next operation cannot be distinguished from a repeated version."""
    client = FakeClient(client=entry(runs_on=True))
    assert unmet_need(["gives_up"], client) == NEEDS["gives_up"].otherwise
