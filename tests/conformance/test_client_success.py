"""What counts as a client's success: an answer to its own request, and no table that came with an error or for another request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.assertions.client_success import assert_success_is_earned, assert_table_is_not_used
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import Recording, SeenRequest
from strategies.untrusted_tables import table_with_error
from tests.conformance.client_plays import FAILED, HEALTHY, FakeClient, ended_well
from tests.reference_model.clients.recordings import asked, recorded, sent

DESCRIBE_CLUSTER_KEY, LIST_GROUPS_KEY = 60, 16
LOST = recorded(asked(4), sent(12, response=b""))
SCRIPT = table_with_error(-1)
NEWEST, USUAL = 3, 12


def of_table(*requests: SeenRequest) -> Play:
    """Return a play with a broker whose table comes with an error."""
    return ended_well(recorded(asked(4), *requests, script=SCRIPT))


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(HEALTHY, id="metadata"),
        pytest.param(
            ended_well(recorded(asked(4), sent(0, api_key=DESCRIBE_CLUSTER_KEY))),
            id="description-of-the-cluster",
        ),
        pytest.param(Play(recording=LOST, result=FAILED), id="error"),
        pytest.param(ended_well(replace(LOST, all_requests=4000)), id="more-than-was-recorded"),
    ],
)
def test_success_with_an_answer_is_earned(play: Play) -> None:
    """A broker answered, or the client reports no success, or it cannot be known."""
    assert_success_is_earned(FakeClient(), play)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(LOST, id="no-answer"),
        pytest.param(recorded(), id="no-request"),
        pytest.param(recorded(asked(4), sent(0, api_key=LIST_GROUPS_KEY)), id="another-answer"),
    ],
)
def test_success_without_metadata_is_found(recording: Recording) -> None:
    """A client that needs metadata reports success without it; one that needs none with a healthy broker may."""
    play = ended_well(recording)
    with pytest.raises(AssertionError, match="although no broker sent it metadata"):
        assert_success_is_earned(FakeClient(), play)
    assert_success_is_earned(FakeClient(healthy=ended_well(LOST)), play)


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(of_table(), id="nothing"),
        pytest.param(of_table(sent(USUAL)), id="usual-version"),
        pytest.param(of_table(sent(0), sent(1)), id="guesses"),
    ],
)
def test_version_from_elsewhere_is_no_use_of_the_table(play: Play) -> None:
    """A client may send what it sends without a table."""
    assert_table_is_not_used(FakeClient(), play, "with an error")


def test_use_of_the_table_is_found() -> None:
    """The newest version of the table shows that it was used, unless the client knows no newer one itself."""
    play = of_table(sent(NEWEST))
    with pytest.raises(AssertionError, match="sends Metadata v3, as the table of a response with"):
        assert_table_is_not_used(FakeClient(), play, "with an error")
    for usual in (recorded(asked(4), sent(NEWEST)), recorded(asked(4))):
        assert_table_is_not_used(FakeClient(healthy=ended_well(usual)), play, "x")
