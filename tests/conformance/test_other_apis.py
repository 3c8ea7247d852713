"""What an answer of any API amounts to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from conformance import other_apis
from conformance.other_apis import ASKED_AGAIN, is_served_when_asked_again
from conformance.sweeping import Item
from fixtures.broker import Broker
from fixtures.errors import ConnectionFailed
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request

LIST_GROUPS = Item("ListGroups", 16, 0)
NOBODY = cast(Broker, None)


def answering(monkeypatch: pytest.MonkeyPatch, codes: Iterator[ErrorCode]) -> None:
    """Answer ListGroups v0 with these error codes, one by one, and with no group."""

    def send(broker: Broker, request: Request, *, silence_bound_s: float) -> Exchange:
        code = next(codes, None)
        if code is None:
            raise ConnectionFailed("refused")
        correlation_id = request.correlation_id.to_bytes(4, signed=True)
        return Exchange(
            request=request,
            outcome=Outcome.ANSWER,
            payload=correlation_id + code.to_bytes(2) + bytes(4),
            usable=True,
        )

    monkeypatch.setattr(other_apis, "send", send)


def test_one_other_answer_shows_that_a_version_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered with UNSUPPORTED_VERSION before is then no longer open."""
    answering(monkeypatch, iter([ErrorCode.UNSUPPORTED_VERSION, ErrorCode.NONE]))
    assert is_served_when_asked_again(NOBODY, LIST_GROUPS)


def test_the_same_answer_each_time_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked a few times, and no more."""
    codes = iter([ErrorCode.UNSUPPORTED_VERSION] * (ASKED_AGAIN + 1))
    answering(monkeypatch, codes)
    assert not is_served_when_asked_again(NOBODY, LIST_GROUPS)
    assert len(list(codes)) == 1


def test_no_answer_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep itself has said before what is wrong with the target."""
    answering(monkeypatch, iter([ErrorCode.UNSUPPORTED_VERSION]))
    assert not is_served_when_asked_again(NOBODY, LIST_GROUPS)
