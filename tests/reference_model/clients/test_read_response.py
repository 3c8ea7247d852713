"""Tests of what a client learns from a response.

A response is a table, a refusal, another error, or unusable.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_model.clients.rules.read_response import ResponseKind, read_response
from reference_model.clients.scripts.script import EMPTY, Answer, Table
from tests.reference_model.clients.recordings import asked, listing, refused
from wire.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("answer", "version", "kind"),
    [
        pytest.param(Answer(), 3, ResponseKind.TABLE, id="healthy"),
        pytest.param(Answer(), 0, ResponseKind.TABLE, id="healthy-v0"),
        pytest.param(Answer(table=EMPTY), 3, ResponseKind.TABLE, id="empty-table"),
        pytest.param(refused((0, 2)), 4, ResponseKind.REFUSAL, id="refusal"),
        pytest.param(refused(), 1, ResponseKind.REFUSAL, id="refusal-without-range"),
        pytest.param(Answer(error_code=35), 3, ResponseKind.NONSENSE, id="refusal-in-its-version"),
        pytest.param(Answer(error_code=42, table=EMPTY), 3, ResponseKind.ERROR, id="refused-name"),
        pytest.param(Answer(error_code=42, cut_to=2), 3, ResponseKind.ERROR, id="only-an-error-code"),
        pytest.param(Answer(error_code=999), 3, ResponseKind.ERROR, id="unknown-error"),
        pytest.param(Answer(action="close"), 3, ResponseKind.NOTHING, id="close"),
        pytest.param(Answer(cut_to=1), 3, ResponseKind.NONSENSE, id="half-an-error-code"),
        pytest.param(Answer(cut_to=30), 3, ResponseKind.NONSENSE, id="cut-off"),
        pytest.param(Answer(trailing=b"a"), 3, ResponseKind.NONSENSE, id="bytes-after-the-body"),
        pytest.param(Answer(claimed_size=5), 3, ResponseKind.NONSENSE, id="other-size"),
        pytest.param(Answer(correlation_shift=1), 3, ResponseKind.NONSENSE, id="other-correlation-id"),
        pytest.param(Answer(flexible_header=True), 3, ResponseKind.NONSENSE, id="flexible-header"),
        pytest.param(Answer(table=Table(null=True)), 3, ResponseKind.NONSENSE, id="null-table"),
        pytest.param(Answer(table=Table(claimed_count=9)), 3, ResponseKind.NONSENSE, id="other-count"),
    ],
)
def test_response_is_of_a_kind(answer: Answer, version: int, kind: ResponseKind) -> None:
    """Only a response that is correct in every byte is a table or a refusal."""
    assert read_response(asked(version, answer)).kind is kind


def test_every_entry_of_an_api_counts() -> None:
    """If an API is listed twice, each of its ranges is kept, and a version may lie in either of them."""
    response = read_response(asked(3, listing((3, 0, 1), (18, 0, 4), (3, 5, 6))))
    assert response.ranges == {3: ((0, 1), (5, 6)), 18: ((0, 4),)}
    assert [version for version in range(-1, 8) if response.lists(3, version)] == [0, 1, 5, 6]
    assert not response.lists(4, 0)


def test_negative_version_is_never_listed() -> None:
    """A range of negative versions has no version that exists."""
    assert not read_response(asked(3, listing((3, -3, -1)))).lists(3, -1)


@pytest.mark.parametrize(
    ("ranges", "lower"),
    [
        pytest.param(((0, 2),), [0, 1, 2], id="below"),
        pytest.param(((1, 2),), [1, 2], id="without-v0"),
        pytest.param(((0, 9),), [0, 1, 2, 3], id="with-the-refused-one"),
        pytest.param(((9, 12),), [], id="above"),
        pytest.param(((2, 1),), [], id="reversed"),
        pytest.param(((-3, -1),), [], id="negative"),
        pytest.param(((-3, -1), (0, 1)), [0, 1], id="a-second-range"),
        pytest.param((), [], id="none"),
    ],
)
def test_lower_versions_are_those_of_the_range(ranges: tuple[tuple[int, int], ...], lower: list[int]) -> None:
    """The versions that a refusal names are those of its first sensible range, below the refused one."""
    response = read_response(asked(4, refused(*ranges)))
    assert list(response.lower_versions(4)) == lower
    assert response.names_range is bool(ranges)


@pytest.mark.parametrize(
    ("answer", "from_ms"),
    [(Answer(), 5), (Answer(delay_ms=10, pieces=3), 35), (Answer(action="silence"), 5)],
)
def test_response_is_known_once_it_is_complete(answer: Answer, from_ms: int) -> None:
    """A response in pieces is known after the waits before all of them."""
    assert read_response(asked(3, answer, at_ms=5)).from_ms == from_ms


def test_response_without_an_answer_is_read_from_its_bytes() -> None:
    """What a response tells a client depends on its bytes alone."""
    request = asked(3, Answer(error_code=42, table=EMPTY, delay_ms=10), at_ms=5)
    response = read_response(replace(request, answer=None))
    assert response.error_code is ErrorCode.INVALID_REQUEST
    assert response.from_ms == 5


@pytest.mark.parametrize(
    ("version", "epoch", "finalized"),
    [(3, 0, {"group.version": 1}), (3, -1, {}), (2, 0, {})],
    ids=["epoch", "unknown-epoch", "version-without-features"],
)
def test_finalized_features_count_with_their_epoch(version: int, epoch: int, finalized: dict[str, int]) -> None:
    """Without one they are not known."""
    answer = Answer(finalized_features=(("group.version", 1, 0),), finalized_features_epoch=epoch)
    assert read_response(asked(version, answer)).finalized_features == finalized
