"""Requests that a broker refuses: what the model of the newest release answers."""

from __future__ import annotations

import pytest

from reference_model.broker.rules.oracle import reactions
from reference_model.broker.rules.reaction import Identity
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from strategies.refused_requests import (
    HALF_AN_IDENTITY,
    ILLEGAL_NAME,
    WRONG_IDS,
    refused_requests,
)
from tests.strategies.search import find_any
from wire.error_codes import ErrorCode
from wire.exchange import Request
from wire.frames import SIZE_BYTES

BROKER = Identity(cluster_id="of-the-broker", node_id=1)


def answer_to(sent: Request) -> tuple[ErrorCode, int]:
    """Return the error code and the layout of the response to a request."""
    (reaction,) = reactions(sent.data[SIZE_BYTES:], profile_of(NEWEST_RELEASE), BROKER)
    return reaction.error_code, reaction.response_version


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(ILLEGAL_NAME, (ErrorCode.INVALID_REQUEST, 3), id="name"),
        pytest.param(WRONG_IDS, (ErrorCode.REBOOTSTRAP_REQUIRED, 5), id="ids"),
        pytest.param(HALF_AN_IDENTITY, (ErrorCode.INVALID_REQUEST, 5), id="half"),
    ],
)
def test_pinned_requests_are_refused(sent: Request, answer: tuple[ErrorCode, int]) -> None:
    """Each is refused for one reason, in its own version."""
    assert answer_to(sent) == answer


@pytest.mark.parametrize("version", [3, 4, 5])
def test_names_are_refused_in_every_flexible_version(version: int) -> None:
    """Every version that has names is drawn with an illegal one."""
    refused = (ErrorCode.INVALID_REQUEST, version)
    find_any(refused_requests(), lambda sent: answer_to(sent) == refused)


def test_wrong_ids_are_drawn() -> None:
    """Ids of another broker are drawn as well."""
    find_any(refused_requests(), lambda sent: answer_to(sent)[0] is ErrorCode.REBOOTSTRAP_REQUIRED)
