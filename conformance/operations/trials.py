"""How a trial is judged, in a run and when a failure is replayed."""

from __future__ import annotations

from conformance.assertions.operation_results import assert_operates
from conformance.assertions.rerouting import assert_survives_rerouting
from fixtures.recording_proxy.rerouting import ReroutedPlay
from fixtures.recording_proxy.trying import TriedPlay
from fixtures.under_test.trial import Trial


def client_operates(trial: Trial) -> None:
    """Fail unless the operation works, or an error says what the broker lacks.

    Raises:
        Unjudged: the operation is unsupported, or the client does something else, as it may.
        AssertionError: the client violates KIP-97, or KIP-1242 if its connections were led elsewhere.
        HarnessError: the operation could not be tried.
    """
    play, operation = trial.play(), trial.chosen.operation
    if isinstance(play, ReroutedPlay):
        assert_survives_rerouting(play, operation, knows_ids=trial.chosen.client.cluster_check)
    else:
        assert isinstance(play, TriedPlay)
        assert_operates(play, operation, falls_back=trial.falls_back)
