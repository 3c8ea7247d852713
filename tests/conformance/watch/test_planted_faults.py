"""Planted faults of the proxy of `watch`: each is found by the check of the promise that it breaks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance.watch import proxy
from conformance.watch.proxy import WatchProxy
from conformance.watch.rehearsal import Rehearsal
from conformance.watch.request_stream import Pending, RequestHeaders, SaslTokens
from conformance.watch.responses import HeldResponse
from conformance.watch.watcher import Watcher
from tests.conformance.watch.relay import table
from tests.conformance.watch.relay_checks import CHECKS
from wire.frames import SIZE_BYTES, read_size

_FEED = RequestHeaders.feed
TIME_S = 1.0
"""A fault that makes a check wait for ever is found by this time."""


async def _answer_as_itself(self: WatchProxy, opened: object, held: HeldResponse) -> bytes:
    return table(0)


async def _write_without_waiting(writer: asyncio.StreamWriter, parts: Any) -> None:
    writer.write(b"".join(parts))


def _wait_for_complete_frames(self: RequestHeaders, data: bytes) -> list[bytes]:
    self._head += data
    size = SIZE_BYTES + read_size(self._head) if len(self._head) >= SIZE_BYTES else 1 << 30
    return [] if len(self._head) < size else [bytes(self._head)]


def _drop_what_is_not_read(self: RequestHeaders, data: bytes) -> list[bytes | memoryview]:
    parts = _FEED(self, data)
    return [] if self.problem else parts


def _read_everything(self: RequestHeaders) -> int:
    head = self._head
    return SIZE_BYTES if len(head) < SIZE_BYTES else SIZE_BYTES + read_size(head)


def _nothing(*args: object, **options: object) -> None:
    return None


def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()


FAULTS: dict[str, tuple[object, str, object, str]] = {
    "answers-as-itself": (WatchProxy, "_for_client", _answer_as_itself, "bytes_arrive_as_they_are"),
    "loses-a-half-close": (proxy, "end", _nothing, "a_half_close_arrives"),
    "closes-at-a-half-close": (proxy, "end", _close, "the_end_of_a_broker_arrives"),
    "ends-where-the-broker-resets": (proxy, "reset", _close, "a_reset_of_the_broker_arrives"),
    "ends-where-the-client-resets": (proxy, "reset", _close, "a_reset_of_the_client_arrives"),
    "waits-for-complete-frames": (
        RequestHeaders,
        "feed",
        _wait_for_complete_frames,
        "a_pause_arrives",
    ),
    "drops-what-it-cannot-read": (
        RequestHeaders,
        "feed",
        _drop_what_is_not_read,
        "what_is_not_kafka_passes",
    ),
    "buffers-without-end": (
        proxy,
        "write",
        _write_without_waiting,
        "a_slow_broker_stops_the_client",
    ),
    "stores-a-payload": (RequestHeaders, "_wanted", _read_everything, "no_payload_is_kept"),
    "takes-a-token-for-a-request": (
        SaslTokens,
        "_is_request",
        lambda self, data: True,
        "no_payload_is_kept",
    ),
    "leaves-addresses-as-they-are": (
        proxy,
        "with_addresses",
        lambda payload, *others: payload,
        "brokers_get_addresses_of_ours",
    ),
    "forgets-the-software": (Watcher, "_learn_software", _nothing, "clients_are_counted"),
    "shows-the-oracle-nothing": (Watcher, "_record", _nothing, "forbidden_requests_are_found"),
    "cuts-open-requests": (proxy, "ENDING_S", 0.0, "open_requests_are_answered_at_the_end"),
    "remembers-every-request": (
        Pending,
        "_forget_half",
        _nothing,
        "unanswered_requests_are_bounded",
    ),
    "forgets-the-oldest-request": (
        Pending,
        "_put_first",
        _nothing,
        "unanswered_requests_are_bounded",
    ),
    "passes-what-follows-the-end": (
        RequestHeaders,
        "end_with_frame",
        _nothing,
        "a_busy_connection_is_not_cut",
    ),
    "rehearses-nothing": (Rehearsal, "substitute", _nothing, "a_rehearsed_release_answers"),
}
"""Each fault: what is replaced, where, by what, and the check that finds it."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check fails, or waits for what never comes."""
    owner, attribute, fault, check = FAULTS[name]
    monkeypatch.setattr(owner, attribute, fault)
    if attribute != "ENDING_S":
        # A check that failed leaves connections open.
        monkeypatch.setattr(proxy, "ENDING_S", 0.2)
    with pytest.raises((AssertionError, TimeoutError, OSError, EOFError, ValueError, KeyError)):
        asyncio.run(asyncio.wait_for(CHECKS[check](), TIME_S))
