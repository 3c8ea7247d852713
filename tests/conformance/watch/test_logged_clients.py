"""Requests of logs as clients, and files that grow: case by case."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.watch import request_logs
from conformance.watch.request_logs import LoggedClients, _GrowingFile, _Lines, add_counted
from conformance.watch.sightings import ClientIdentity, Sightings, is_broker
from wire.request_log import LogCounts, LoggedRequest

LATER = LoggedRequest(3, 9, "shop", "10.0.0.7", "User:a")
ASKING = LATER._replace(api_key=18, software_name="my-app", software_version="1")
SHOP = ClientIdentity("shop", "10.0.0.7", "User:a")


def added(*looks: dict[LoggedRequest, int]) -> tuple[LoggedClients, Sightings]:
    """Return what becomes of requests that are added one look after the other."""
    sightings = Sightings()
    clients = LoggedClients(sightings)
    for each in looks:
        clients.add(each)
    return clients, sightings


def test_a_log_never_shows_that_a_client_does_not_ask() -> None:
    """A client may have asked before the log began, on another connection; if its request is there, it asks."""
    _, sightings = added({LATER: 2})
    assert sightings.asks(SHOP) is None
    assert sightings.requests(SHOP) == {(3, 9): 2}
    _, sightings = added({LATER: 2}, {ASKING: 1})
    assert sightings.asks(SHOP)


def test_requests_that_were_not_counted_are_remembered() -> None:
    """Nothing can be said of all clients if some requests were left out."""
    counts, sightings = LogCounts(), Sightings()
    add_counted(counts, sightings)
    assert not sightings.are_incomplete
    counts.left_out = 1
    add_counted(counts, sightings)
    assert sightings.are_incomplete


@pytest.mark.parametrize(
    "other",
    [
        LATER._replace(client_id="other"),
        LATER._replace(address="10.0.0.8"),
        LATER._replace(principal="User:b"),
    ],
    ids=["client-id", "address", "user"],
)
def test_the_software_is_that_of_the_same_client(other: LoggedRequest) -> None:
    """A request without software gets none from a client with another id, address or user."""
    clients, sightings = added({ASKING: 1, other: 1}, {ASKING: 1})
    names = {each: each.software_name for each in sightings.clients}
    unnamed = ClientIdentity(other.client_id, other.address, other.principal)
    assert (len(names), names[unnamed], clients.has_unnamed) == (2, None, True)


def test_requests_of_brokers_are_said_after_later_looks() -> None:
    """That requests between brokers were left out is remembered."""
    clients, sightings = added({LATER._replace(api_key=6): 1}, {ASKING._replace(client_id="x"): 1})
    assert (clients.has_brokers, [each.client_id for each in sightings.clients]) == (True, ["x"])


@pytest.mark.parametrize(
    ("client_id", "keys", "expected"),
    [
        ("broker-2-fetcher-0", [1], True),
        ("raft-client-3", [1], True),
        ("broker-2-fetcher-0-of-mine", [1], False),
        ("my-raft-client-3", [1], False),
        ("shop", [0, 6], True),
        ("shop", [82], True),
        ("shop", [83], True),
        ("shop", [87], True),
        ("shop", [88], False),
        ("shop", [9999], False),
        (None, [3, 18], False),
    ],
)
def test_who_is_a_broker(client_id: str | None, keys: list[int], expected: bool) -> None:
    """A broker is known by the whole of its client id, or by one request that only brokers send."""
    assert is_broker(client_id, keys) is expected


def _new_lines(file: _GrowingFile) -> list[bytes]:
    return [line for lines in file.new_lines() for line in lines]


def test_a_replaced_file_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that come while a file is replaced are read, the last without its end too, and a longer new file from its start."""
    path, old = tmp_path / "requests.log", tmp_path / "requests.log.1"
    path.write_bytes(b"one\n")
    file = _GrowingFile(path)
    assert _new_lines(file) == [b"one"]
    is_replaced = _GrowingFile._is_replaced

    def rotated(self: _GrowingFile) -> bool:
        path.rename(old)
        with old.open("ab") as archived:
            archived.write(b"two\nthree")
        path.write_bytes(b"a first line that is longer\n")
        return is_replaced(self)

    monkeypatch.setattr(_GrowingFile, "_is_replaced", rotated)
    assert _new_lines(file) == [b"two", b"three", b"a first line that is longer"]
    file.close()


def test_a_line_that_is_too_long_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no line end is kept only up to the longest possible line."""
    monkeypatch.setattr(request_logs, "_LONGEST_LINE_BYTES", 3)
    lines = _Lines()
    assert [lines.of(each) for each in (b"a\nbcd", b"e", b"f\ng")] == [[b"a"], [], [b"f"]]
    assert (lines.rest(), lines.rest()) == ([b"g"], [])
