"""Tests of what real clients can do with real brokers.

Each test is one cell of the grid of operations.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.operations.vocabulary import *


def client_operates(trial: Trial) -> None:
    """Fail unless the operation works, or an error says what the broker lacks.

    Runs and replays of a stored failure both call it.

    Raises:
        Unjudged: the operation is unsupported, or the client does something else, as it may.
        AssertionError: the client violates KIP-97, or KIP-1242 if its connections were led elsewhere, or it uses older
            versions than it could (KIP-35).
        HarnessError: the operation could not be tried.
    """
    operation = trial.chosen.operation
    if OPERATIONS[operation].is_about_all:
        _uses_newest_versions(trial)
        return
    play = trial.play()
    if isinstance(play, ReroutedPlay):
        client = trial.chosen.client
        # No documentation says it of a command.
        knows_ids = client.cluster_check or (client.is_command and gives_ids(play.recording))
        assert_survives_rerouting(play, operation, knows_ids=knows_ids)
        return
    assert isinstance(play, TriedPlay)
    try:
        assert_operates(play, operation, falls_back=trial.falls_back)
    except Unjudged:
        raise
    except AssertionError as error:
        first, _, rest = str(error).partition("\n")
        error.args = ("\n".join([first, *_doubts(trial, play), rest]),)
        raise


def _uses_newest_versions(trial: Trial) -> None:
    """Judge all operations of a client together: what it knows of an API, any of them may show."""
    tried = trial.tried()
    known = newest_versions(play for _, play in tried)
    for part, earlier in tried:
        play = trial.part(part, earlier)
        check_environment(play.result)
        try:
            assert_newest_common_versions(play, known)
        except AssertionError as error:
            error.args = (f"{error}\nin {part.operation}: {summary(play)}",)
            raise


def _doubts(trial: Trial, play: TriedPlay) -> Iterator[str]:
    """Yield the reasons for which the broker may be at fault, and not the client that fails, each as a line."""
    operation = trial.chosen.operation
    failure = failure_of(play, operation, falls_back=trial.falls_back)
    if not failure:
        return
    for contradiction in contradictions(play.recording):
        yield f"{BROKER_DOUBT}{contradiction}"
    alike = [
        client.name
        for client, other in trial.trials.of_other_libraries(trial.chosen)
        if isinstance(other, TriedPlay)
        and failure_of(other, operation, falls_back=operation in client.falls_back) == failure
    ]
    if alike:
        yield f"{BROKER_DOUBT}{', '.join(sorted(set(alike)))} fails alike"


@pytest.mark.swept(checks=[client_operates])
def test_operation_works_or_is_refused(trial: Trial) -> None:
    """The operation works, or an error says what the broker lacks; nothing is sent that the broker does not support."""
    judge = JUDGE.get()
    judge.judge_stored(client_operates, {"trial": trial})
    judge.raise_first()
