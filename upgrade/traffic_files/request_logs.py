"""Reader of brokers' request logs.

The logs may be rotated, compressed or growing, and there may be several.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import IO

from reports.command_line.extras import REPORTS, check_extra
from upgrade.prediction.observed_requests import (
    ClientIdentity,
    ObservedRequests,
    UnusableSource,
)
from upgrade.request_kinds import BROKERS_LEFT_OUT, is_broker
from wire.request_log import LoggedRequest
from wire.request_log_counts import MAX_COUNTED, LogCounts

LIMITS = (
    "a request log has the requests that a broker has completed; a request in a version that the broker refuses costs its "
    "connection and is not in the log",
    "a request log does not say when a program began; one whose ApiVersions requests are not in the log may have asked for "
    "versions before",
    "a request log does not distinguish a client id that is null from an empty one",
)
NO_SOFTWARE = (
    "some entries do not say which software a client is: it has not introduced itself, or the broker is older than 2.5, which "
    "does not log it"
)


POLL_INTERVAL_S = 0.5
"""How often growing files are looked at. Python's library has no event for it."""
CHUNK_BYTES = 4 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
"""What compressed files begin with."""


class LoggedClients:
    """Adds the requests of entries to observed requests.

    Entries before a client has introduced itself do not name its software. They count for the software that is known
    with the same client id, address and principal, if that is one only.

    Attributes:
        has_unnamed: whether the software of some client is unknown.
        has_brokers: whether requests were left out that a broker sent to another one.
    """

    def __init__(self, observed: ObservedRequests) -> None:
        self.has_unnamed = self.has_brokers = False
        self._observed = observed
        self._software: dict[tuple[str | None, ...], set[tuple[str | None, str | None]]] = {}
        self._brokers: set[tuple[str | None, ...]] = set()

    def add(self, requests: Mapping[LoggedRequest, int]) -> None:
        """Add further requests.

        Each client is marked as seen without its beginning: it asks for versions only on its first connection, which
        the log may not contain.
        """
        for request in requests:
            self._learn(request)
        clients = {request: self._client_of(request) for request in requests if _key(request) not in self._brokers}
        self.has_brokers |= len(clients) < len(requests)
        for request, client in clients.items():
            times = requests[request]
            self._observed.add(client, request.api_key, request.api_version, times)
            self._observed.of(client).missed_beginning = True

    def _learn(self, request: LoggedRequest) -> None:
        if is_broker(request.client_id, [request.api_key]):
            self._brokers.add(_key(request))
        if request.software_name is not None and len(self._software) < MAX_COUNTED:
            known = self._software.setdefault(_key(request), set())
            known.add((request.software_name, request.software_version))

    def _client_of(self, request: LoggedRequest) -> ClientIdentity:
        software = (request.software_name, request.software_version)
        known = self._software.get(_key(request), set())
        if request.software_name is None and len(known) == 1:
            (software,) = known
        self.has_unnamed |= software[0] is None
        return ClientIdentity(request.client_id, request.address, request.principal, *software)


def _key(request: LoggedRequest) -> tuple[str | None, ...]:
    return request.client_id, request.address, request.principal


def read_request_logs(paths: Sequence[Path], observed: ObservedRequests) -> list[str]:
    """Read request logs into observed requests.

    Args:
        paths: the files: plain, or compressed with gzip, bzip2, LZ4 or Zstandard.
        observed: gets the requests, and the tables of versions that the brokers answered.

    Returns:
        Sentences about what the logs cannot show, and what was not read.

    Raises:
        UnusableSource: a file cannot be opened.
    """
    _check(paths)
    total = LogCounts()
    for counts in _counted(paths):
        total.merge(counts)
    return add_counted(total, observed)


def follow_request_logs(
    paths: Sequence[Path],
    observed: ObservedRequests,
    until: threading.Event,
    on_read: Callable[[], None],
) -> list[str]:
    """Read request logs like `read_request_logs`, and follow the plain files.

    What is written to the plain files later is read too, and so are the files that replace them.

    Args:
        paths: the files.
        observed: gets what is read.
        until: ends the waiting when it is set.
        on_read: called after each look.
    """
    _check(paths)
    clients, total = LoggedClients(observed), LogCounts()
    for path in paths:
        if _compression(path) is not None:
            total.merge(count_file(path))
    clients.add(total.take_requests())
    growing = [_GrowingFile(path) for path in paths if _compression(path) is None]
    try:
        is_over = False
        while not is_over:
            is_over = until.wait(POLL_INTERVAL_S)
            for file in growing:
                for lines in file.new_lines():
                    total.count(lines)
                    clients.add(total.take_requests())
            observed.tables.update(total.tables)
            on_read()
    finally:
        for file in growing:
            file.close()
    return _sentences_about(clients, total, observed)


def add_counted(counts: LogCounts, observed: ObservedRequests) -> list[str]:
    """Add what another program has counted in request logs, as `read_request_logs` does with files."""
    clients = LoggedClients(observed)
    clients.add(counts.requests)
    return _sentences_about(clients, counts, observed)


def _sentences_about(clients: LoggedClients, counts: LogCounts, observed: ObservedRequests) -> list[str]:
    """Store the tables of versions, and return sentences about what is missing.

    The sentences say what the logs cannot show, and which lines were not read.
    """
    observed.tables.update(counts.tables)
    observed.are_incomplete |= counts.left_out > 0
    sentences = list(LIMITS)
    sentences += [NO_SOFTWARE] if clients.has_unnamed else []
    sentences += [BROKERS_LEFT_OUT] if clients.has_brokers else []
    counted = (
        (
            "another broker had passed the request on, and that broker's log has it",
            counts.forwarded,
        ),
        (
            "the entry cannot be read, as with a line break in a client id or at the end of a cut file",
            counts.unreadable,
        ),
        (f"there were more than {MAX_COUNTED} different requests", counts.left_out),
        ("they are no entries of a request log", counts.other_lines),
    )
    left_out = [f"lines left out because {why}: {number}" for why, number in counted if number]
    return sentences + left_out


def count_file(path: Path, chunk_bytes: int = CHUNK_BYTES) -> LogCounts:
    """Count the requests in one file that does not grow, of which so many bytes are read at a time."""
    counts = LogCounts()
    with _opened(path) as file:
        lines = _Lines()
        try:
            while chunk := file.read(chunk_bytes):
                counts.count(lines.of(chunk))
        except OSError:
            # A compressed file that is cut off: what came before counts.
            counts.unreadable += 1
        counts.count(lines.rest())
    return counts


def _counted(paths: Sequence[Path]) -> Iterator[LogCounts]:
    processes = min(len(paths), os.cpu_count() or 1)
    if processes <= 1:
        yield from map(count_file, paths)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(count_file, paths)


class _Lines:
    """Splits chunks into lines; the beginning of a line waits for its end."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._rest = b""
        self._max_bytes = max_bytes

    def of(self, chunk: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > self._max_bytes:
            # No entry is as long: the file is something else, and must not fill the memory.
            self._rest = b""
        return lines

    def rest(self) -> list[bytes]:
        """Return the last line if it has no end."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []


class _GrowingFile:
    """A file that is written meanwhile, and replaced by a new one of its name."""

    def __init__(self, path: Path, *, stat: Callable[[Path], os.stat_result] = Path.stat) -> None:
        self._path = path
        self._stat = stat
        self._file = path.open("rb")
        self._lines = _Lines()

    def new_lines(self) -> Iterator[list[bytes]]:
        """Yield what was written since the last call."""
        yield from self._written()
        if self._is_replaced():
            # The last lines of the old file may have come since it was read.
            yield from self._written()
            yield self._lines.rest()
            self._file.close()
            self._file = self._path.open("rb")
            yield from self._written()

    def close(self) -> None:
        self._file.close()

    def _written(self) -> Iterator[list[bytes]]:
        while chunk := self._file.read(CHUNK_BYTES):
            yield self._lines.of(chunk)

    def _is_replaced(self) -> bool:
        try:
            current = self._stat(self._path)
        except FileNotFoundError:
            # It was renamed, and the new one is not there yet.
            return False
        own = os.fstat(self._file.fileno())
        is_other = (current.st_dev, current.st_ino) != (own.st_dev, own.st_ino)
        return is_other or current.st_size < self._file.tell()


def _check(paths: Sequence[Path]) -> None:
    for path in paths:
        try:
            _opened(path).close()
        except OSError as error:
            raise UnusableSource(f"cannot read the request log {path}: {error.strerror}") from error


def _compression(path: Path) -> str | None:
    with path.open("rb") as file:
        beginning = file.read(4)
    return next((name for mark, name in _COMPRESSIONS.items() if beginning.startswith(mark)), None)


def _opened(path: Path) -> IO[bytes]:
    compression = _compression(path)
    if compression is None:
        return path.open("rb")
    check_extra(REPORTS, f"watch with the compressed request log {path}")
    import pyarrow as pa  # noqa: PLC0415

    opened: IO[bytes] = pa.input_stream(str(path), compression=compression)
    return opened
