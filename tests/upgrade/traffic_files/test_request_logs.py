"""Request logs are read completely: rotated, compressed, cut off or growing."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from tests.wire.logged_requests import ENTRIES, FORWARDED, USER
from upgrade.prediction.observed_requests import (
    ClientIdentity,
    ObservedRequests,
    UnusableSource,
)
from upgrade.request_kinds import BROKERS_LEFT_OUT, is_broker
from upgrade.traffic_files import request_logs
from upgrade.traffic_files.request_logs import (
    LIMITS,
    NO_SOFTWARE,
    LoggedClients,
    _GrowingFile,
    _Lines,
    add_counted,
    count_file,
    follow_request_logs,
    read_request_logs,
)
from wire.request_log import LoggedRequest
from wire.request_log_counts import LogCounts

LINES = [line for line, _ in ENTRIES.values()]
NAMED = ClientIdentity("named", "127.0.0.1", USER, "my-app", "1.2.3")
IN_2_8 = ENTRIES["2.8"][0]
LATER_IN_2_8 = (
    IN_2_8.replace(b'"correlationId":0', b'"correlationId":5')
    .replace(b'"requestApiKey":18', b'"requestApiKey":3')
    .replace(b'"clientSoftwareName":"my-app","clientSoftwareVersion":"1.2.3"', b"")
)
"""Another request of the same client, whose entry does not say the software."""


def read(*paths: Path) -> ObservedRequests:
    """Return what is in some files."""
    observed = ObservedRequests()
    read_request_logs(paths, observed)
    return observed


def requests_in(*paths: Path) -> Sequence[tuple[ClientIdentity, Mapping[tuple[int, int], int]]]:
    """Return the requests of each client in some files."""
    observed = read(*paths)
    return [(each, observed.requests(each)) for each in observed.clients]


def written(path: Path, *lines: bytes) -> Path:
    """Write a log."""
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


@pytest.mark.parametrize("compression", ["gzip", "bz2", "zstd", "lz4"])
def test_compressed_files_are_read(tmp_path: Path, compression: str) -> None:
    """A compressed file has the same requests as a plain one, whatever its name."""
    plain = written(tmp_path / "requests.log", *LINES)
    compressed = tmp_path / "requests.log.2026-11-26-10"
    with pa.output_stream(str(compressed), compression=compression) as file:
        file.write(plain.read_bytes())
    assert requests_in(compressed) == requests_in(plain) != []


def test_several_files_are_read_by_several_processes(tmp_path: Path) -> None:
    """Files side by side give the requests of one file with the lines of all."""
    parts = [written(tmp_path / f"{number}.log", *LINES[number::3]) for number in range(3)]
    assert requests_in(*parts) == requests_in(written(tmp_path / "all.log", *LINES))


def test_chunks_do_not_matter(tmp_path: Path) -> None:
    """A file is read in chunks that end anywhere; its last line may have no end."""
    path = written(tmp_path / "requests.log", *LINES)
    expected = count_file(path).requests
    path.write_bytes(path.read_bytes()[:-1])
    assert count_file(path, chunk_bytes=100).requests == expected


def test_what_came_before_the_cut_counts(tmp_path: Path) -> None:
    """Of a compressed file that is cut, what was read before the cut counts, and the cut is said."""
    path = tmp_path / "requests.log.gz"
    with pa.output_stream(str(path), compression="gzip") as file:
        for number in range(2000):
            file.write(IN_2_8.replace(b"58800", b"%d" % (number * 7919 % 60000)) + b"\n")
    path.write_bytes(path.read_bytes()[:-200])
    observed = ObservedRequests()
    notes = add_counted(count_file(path, chunk_bytes=1000), observed)
    assert 0 < observed.requests(NAMED)[18, 3] < 2000
    assert [each for each in notes if "cut file" in each]


def test_entries_before_the_introduction_count_for_the_same_client(tmp_path: Path) -> None:
    """Entries that do not name the software count for the one software with this client id, address and user."""
    path = written(tmp_path / "requests.log", LATER_IN_2_8, IN_2_8)
    assert requests_in(path) == [(NAMED, {(3, 3): 1, (18, 3): 1})]


def test_entries_of_two_programs_are_not_mixed(tmp_path: Path) -> None:
    """If two programs share client id, address and user, an entry that names neither counts for neither."""
    other = IN_2_8.replace(b"my-app", b"other")
    observed = read(written(tmp_path / "requests.log", LATER_IN_2_8, IN_2_8, other))
    unnamed = ClientIdentity("named", "127.0.0.1", USER)
    assert (len(observed.clients), observed.requests(unnamed)) == (3, {(3, 3): 1})


def test_brokers_are_no_clients(tmp_path: Path) -> None:
    """What brokers send each other is left out, with everything else that comes from the same client id and address."""
    update = LATER_IN_2_8.replace(b"named", b"1").replace(b'Key":3', b'Key":6')
    metadata = LATER_IN_2_8.replace(b"named", b"1")
    replica = LATER_IN_2_8.replace(b"named", b"broker-2-fetcher-0")
    path = written(tmp_path / "requests.log", metadata, update, replica, IN_2_8)
    observed = ObservedRequests()
    assert read_request_logs([path], observed) == [*LIMITS, BROKERS_LEFT_OUT]
    assert observed.clients == (NAMED,)


def test_what_was_not_read_is_said(tmp_path: Path) -> None:
    """Sentences say what the log cannot show, and how many lines were left out for which reason."""
    broken = ENTRIES["1.0"][0].replace(b"clientId=named", b"clientId=two\nlines")
    path = written(tmp_path / "requests.log", b"started", FORWARDED, broken, ENTRIES["0.11"][0])
    observed = ObservedRequests()
    sentence = read_request_logs([path], observed)
    assert sentence[: len(LIMITS) + 1] == [*LIMITS, NO_SOFTWARE]
    assert [each.rpartition(": ")[2] for each in sentence[len(LIMITS) + 1 :]] == ["1", "1", "2"]
    assert observed.tables == {}


def test_the_tables_of_brokers_are_returned(tmp_path: Path) -> None:
    """What the brokers list in ApiVersions responses is returned with the requests."""
    assert read(written(tmp_path / "a.log", IN_2_8)).tables == {"127.0.0.1:45663": {0: (0, 9), 1: (0, 12)}}


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """A file that cannot be opened is named, before anything is read."""
    with pytest.raises(UnusableSource, match=r"missing\.log: No such file") as raised:
        read(written(tmp_path / "a.log", IN_2_8), tmp_path / "missing.log")
    assert raised.value.exit_code == 4


class _Moments(threading.Event):
    """An event that is waited for again and again; each time something happens, and it is set at the end."""

    def __init__(self, moments: Iterator[None]) -> None:
        super().__init__()
        self._moments = moments

    def wait(self, timeout: float | None = None) -> bool:
        """Let the next thing happen."""
        assert timeout == request_logs.POLL_INTERVAL_S
        if next(self._moments, "over") == "over":
            self.set()
        return self.is_set()


def test_a_growing_log_is_followed(tmp_path: Path) -> None:
    """What is written while a log is followed is read: in pieces, after a rotation, and after the file was emptied."""
    path = written(tmp_path / "requests.log", IN_2_8)
    archived = tmp_path / "requests.log.gz"
    with pa.output_stream(str(archived), compression="gzip") as archive:
        archive.write(IN_2_8 + b"\n")
    seen: list[int] = []
    observed = ObservedRequests()

    def count() -> None:
        seen.append(observed.requests(NAMED).get((18, 3), 0))

    def moments() -> Iterator[None]:
        count()
        yield
        with path.open("ab") as file:
            file.write(IN_2_8[:100])
        yield
        count()
        with path.open("ab") as file:
            file.write(IN_2_8[100:] + b"\n")
        yield
        count()
        with path.open("ab") as file:
            file.write(IN_2_8 + b"\n")
        path.rename(tmp_path / "requests.log.1")
        yield
        count()
        written(path, IN_2_8)
        yield
        count()
        path.write_bytes(b"")
        yield
        written(path, IN_2_8)
        yield
        count()

    sentence = follow_request_logs([path, archived], observed, _Moments(moments()), lambda: None)
    assert seen == [1, 2, 3, 4, 5, 6]
    assert sentence == [*LIMITS]


LATER = LoggedRequest(3, 9, "shop", "10.0.0.7", "User:a")
ASKING = LATER._replace(api_key=18, software_name="my-app", software_version="1")
SHOP = ClientIdentity("shop", "10.0.0.7", "User:a")


def added(*looks: dict[LoggedRequest, int]) -> tuple[LoggedClients, ObservedRequests]:
    """Return what becomes of requests that are added one look after the other."""
    observed = ObservedRequests()
    clients = LoggedClients(observed)
    for each in looks:
        clients.add(each)
    return clients, observed


def test_a_log_never_shows_that_a_client_does_not_ask() -> None:
    """A client may have asked before the log began, on another connection; if its request is there, it asks."""
    _, observed = added({LATER: 2})
    assert observed.asks(SHOP) is None
    assert observed.requests(SHOP) == {(3, 9): 2}
    _, observed = added({LATER: 2}, {ASKING: 1})
    assert observed.asks(SHOP)


def test_requests_that_were_not_counted_are_remembered() -> None:
    """Nothing can be said of all clients if some requests were left out."""
    counts, observed = LogCounts(), ObservedRequests()
    add_counted(counts, observed)
    assert not observed.are_incomplete
    counts.left_out = 1
    add_counted(counts, observed)
    assert observed.are_incomplete


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
    clients, observed = added({ASKING: 1, other: 1}, {ASKING: 1})
    names = {each: each.software_name for each in observed.clients}
    unnamed = ClientIdentity(other.client_id, other.address, other.principal)
    assert (len(names), names[unnamed], clients.has_unnamed) == (2, None, True)


def test_requests_of_brokers_are_said_after_later_looks() -> None:
    clients, observed = added({LATER._replace(api_key=6): 1}, {ASKING._replace(client_id="x"): 1})
    assert (clients.has_brokers, [each.client_id for each in observed.clients]) == (True, ["x"])


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


def test_a_replaced_file_is_read_to_its_end(tmp_path: Path) -> None:
    """Lines that come while a file is replaced are read, the last without its end too, and a longer new file from
    its start."""
    path, old = tmp_path / "requests.log", tmp_path / "requests.log.1"
    path.write_bytes(b"one\n")
    rotates = False

    def stat(asked: Path) -> os.stat_result:
        if rotates:
            path.rename(old)
            with old.open("ab") as archived:
                archived.write(b"two\nthree")
            path.write_bytes(b"a first line that is longer\n")
        return asked.stat()

    file = _GrowingFile(path, stat=stat)
    assert _new_lines(file) == [b"one"]
    rotates = True
    assert _new_lines(file) == [b"two", b"three", b"a first line that is longer"]
    file.close()


def test_a_line_that_is_too_long_is_dropped() -> None:
    """What has no line end is kept only up to the longest possible line."""
    lines = _Lines(max_bytes=3)
    assert [lines.of(each) for each in (b"a\nbcd", b"e", b"f\ng")] == [[b"a"], [], [b"f"]]
    assert (lines.rest(), lines.rest()) == ([b"g"], [])
