"""A target that requires a relation between successive correlation ids.

The sentence of the failure names the order that the target expects.
"""

from __future__ import annotations

import math

import pytest

from conformance.assertions.blame import judged_elsewhere
from conformance.assertions.clause_ids import CORRELATION_ID_ECHOED
from conformance.assertions.decoding import payload_of
from conformance.assertions.errors import MalformedAnswer
from conformance.assertions.related_ids import restricted_ids
from fixtures.client.patience import Patience
from fixtures.errors import NoCredentials
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker import DEFECTS
from strategies.api_versions import build_request
from tests.conformance.in_memory_runs import broker_with

SECOND = "a second request on a connection is answered "
SENTENCES = {
    "correlation-ids-have-to-count-up": SECOND + "only if correlation ids count up by one",
    "correlation-ids-have-to-grow": SECOND + "only if correlation ids grow",
    "equal-correlation-ids-close": SECOND
    + "with the next or a larger or a smaller correlation id, and not with the same one",
}


@pytest.mark.parametrize("defect", SENTENCES)
def test_order_that_a_target_expects_is_said(defect: str) -> None:
    """The sentence names the ids that are answered, whatever request met the fault."""
    broker = broker_with(DEFECTS[defect].tampering, patience=Patience(math.inf))
    assert str(restricted_ids(broker)) == SENTENCES[defect]
    broker.begin_example()
    *_, last = broker.converse_in_turn([build_request(version=0), build_request(version=3)])
    with pytest.raises(MalformedAnswer) as failed:
        payload_of(last)
    steps = len(broker.journal)
    reason = str(judged_elsewhere(broker, failed.value, ("KIP-35.keys-unique",)))
    assert SENTENCES[defect] in reason
    assert reason.endswith(f"(judged by {CORRELATION_ID_ECHOED})")
    assert judged_elsewhere(broker, failed.value, (CORRELATION_ID_ECHOED,)) is None
    assert len(broker.journal) == steps


def never(_: object) -> None:
    """Change nothing."""


@pytest.mark.parametrize("defect", ["", "a-connection-serves-one-table"])
def test_target_that_looks_at_no_id_is_not_suspected(defect: str) -> None:
    """A healthy one answers all pairs, and one that serves a single request none."""
    tampering = DEFECTS[defect].tampering if defect else Tampering(stage=Stage.READ, act=never)
    assert restricted_ids(broker_with(tampering, patience=Patience(math.inf))) is None


def test_without_a_connection_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = broker_with(Tampering(stage=Stage.READ, act=never), patience=Patience(math.inf))

    def refuse(_: object) -> None:
        raise NoCredentials("none")

    monkeypatch.setattr(broker, "in_turn_apart", refuse)
    assert restricted_ids(broker) is None
