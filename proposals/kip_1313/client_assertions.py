"""What properties of KIP-1313, a proposal, assert about a client's requests."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.assertions.errors import Unjudged
from fixtures.under_test.client import ClientUnderTest
from proposals.kip_1313.client_rules import (
    has_client_id,
    has_client_id_everywhere,
    wrong_client_ids,
)
from reference_model.clients.scripts.recording import Recording

MOST = 5


def assert_none(sentences: Iterable[str]) -> None:
    """Fail if there are faults, with the first ones."""
    faults = list(sentences)
    assert not faults, "\n".join(faults[:MOST])


def assert_client_id_only_first(client: ClientUnderTest, recording: Recording) -> None:
    """Fail unless a connection's first request alone has the client id, and later ones with older headers.

    Raises:
        Unjudged: the client has no client id, or follows the other reading of the proposal.
    """
    wrong = list(wrong_client_ids(recording))
    if wrong and not has_client_id(client.healthy.recording):
        raise Unjudged("the client has no client id, also with brokers of today")
    if wrong and has_client_id_everywhere(recording):
        raise Unjudged("the client sends its client id with every request: the other reading of the proposal")
    assert_none(wrong)
