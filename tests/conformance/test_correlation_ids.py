"""Which fault ids of responses show, as the first line of a failure."""

from __future__ import annotations

import pytest

from conformance.assertions.correlation_ids import ANOTHER_ORDER, assert_own_ids, first_difference
from conformance.assertions.errors import MalformedAnswer, ResponseFault
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome

WRONG_ID = "the response has the correlation id {}, and its request {}"
TWICE = "the response with the correlation id {} came twice"


@pytest.mark.parametrize(
    ("sent", "received", "words"),
    [
        pytest.param([1, 2, 3, 4], [1, 9, 3, 4], WRONG_ID.format(9, 2), id="one-wrong-id"),
        pytest.param([1, 2, 3, 4], [1, 1, 3, 4], WRONG_ID.format(1, 2), id="id-of-another"),
        pytest.param([7], [9], WRONG_ID.format(9, 7), id="only-one"),
        pytest.param([1, 2, 3, 4], [1, 2, 3, 9], WRONG_ID.format(9, 4), id="the-last"),
        pytest.param([1, 2, 3, 4], [1, 1, 2, 3], TWICE.format(1), id="twice"),
        pytest.param(
            [1, 2, 3, 4],
            [1, 1, 2, 2],
            "several responses came twice, the first with the correlation id 1",
            id="each-twice",
        ),
        pytest.param([1, 2, 3], [1, 1], "two responses have the correlation id 1, and none has 2", id="end"),
        pytest.param(
            [1, 2, 3],
            [9, 1, 2],
            "the response with the correlation id 9 belongs to no request",
            id="surplus",
        ),
        pytest.param([1, 2, 3], [2, 1, 3], ANOTHER_ORDER, id="overtaken"),
        pytest.param([1, 2, 1, 2], [1, 1, 2, 2], ANOTHER_ORDER, id="overtaken-with-equal-ids"),
        pytest.param(
            [1, 2, 3],
            [1, 3],
            "the request with the correlation id 2 got no response before a later one",
            id="ignored",
        ),
        pytest.param([1, 2], [1, None], "a response is too short for a correlation id", id="short"),
        pytest.param(
            [1, 2, 3],
            [9, 9, 9],
            "the responses have the correlation ids 9, 9, 9, and the requests 1, 2, 3",
            id="constant",
        ),
        pytest.param(
            [1, 2, 3, 4, 5, 6],
            [9] * 6,
            "the responses have the correlation ids 9, 9, 9, 9 and 2 more, and the requests 1, 2, 3, 4 and 2 more",
            id="many",
        ),
    ],
)
def test_ids_show_what_is_wrong(sent: list[int], received: list[int | None], words: str) -> None:
    """A wrong id, a response too many and another order have sentences of their own."""
    found = first_difference(sent, received)
    assert found is not None
    assert found.in_words == words


@pytest.mark.parametrize("received", [[], [1], [1, 2]])
def test_equal_ids_show_nothing(received: list[int | None]) -> None:
    """Responses that are missing at the end are no difference of ids."""
    assert first_difference([1, 2], received) is None


def test_first_response_with_another_id_is_to_blame() -> None:
    """The failure has the exchange of the response that differs, and is of the kind that plain requests are compared
    in."""
    exchanges = [
        Exchange(
            request=build_request(version=0, correlation_id=sent),
            outcome=Outcome.ANSWER,
            payload=seen.to_bytes(4),
        )
        for sent, seen in [(1, 1), (2, 9), (3, 3)]
    ]
    with pytest.raises(MalformedAnswer, match="the correlation id 9, and its request 2") as raised:
        assert_own_ids(exchanges)
    assert raised.value.exchange is exchanges[1]
    assert raised.value.fault is ResponseFault.OTHER_ID
