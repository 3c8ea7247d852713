"""Counts the requests in request logs, fast enough for gigabytes.

Most lines of a log say what an earlier one said, with other times, ports and correlation ids. So a line is reduced to its
parts that matter, by looking for a few fixed texts, and only the first line with these parts is read (`wire.request_log`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from wire.api_keys import API_VERSIONS_KEY
from wire.request_log import ENTRY, LoggedRequest, read_entry

MOST_REMEMBERED = 50_000
"""How many different lines are remembered, so that each is read once."""
MOST_COUNTED = 100_000
"""How many different requests are counted; further ones are left out."""

_NUMBERS = ("forwarded", "unreadable", "other_lines", "left_out")
"""What `LogCounts` counts besides requests."""
_TABLE_ROW = re.compile(
    rb'\{"apiKey":(\d+),"minVersion":(\d+),"maxVersion":(\d+)|\{api_key=(\d+),min_version=(\d+),max_version=(\d+)'
)


class _Form(NamedTuple):
    """Where the parts of an entry are.

    Attributes:
        start: what it begins with.
        id_after: what the correlation id comes after.
        id_before: what comes after the correlation id.
        header_before: what comes after the header.
        is_api_versions: what an ApiVersions request has before the correlation id. Its request names the software.
        request_before: what comes after such a request.
        connection_after: what the connection comes after.
        connection_before: what comes after the connection.
        rest_from: where user, listener and software begin, at the end of the entry.
    """

    start: bytes
    id_after: bytes
    id_before: bytes
    header_before: bytes
    is_api_versions: bytes
    request_before: bytes
    connection_after: bytes = b" from connection "
    connection_before: bytes = b";"
    rest_from: bytes = b",principal:"


_FORMS = (
    _Form(
        start=b'{"isForwarded":',
        id_after=b'"correlationId":',
        id_before=b",",
        header_before=b'"request":',
        is_api_versions=b'"requestApiKey":18,',
        request_before=b'"response":',
        connection_after=b'"connection":"',
        connection_before=b'"',
        rest_from=b'"securityProtocol":',
    ),
    _Form(
        start=b"RequestHeader(apiKey=",
        id_after=b", correlationId=",
        id_before=b")",
        header_before=b" -- ",
        is_api_versions=b"=API_VERSIONS,",
        request_before=b",response:",
    ),
    _Form(
        start=b"{api_key=",
        id_after=b",correlation_id=",
        id_before=b",",
        header_before=b"} -- ",
        is_api_versions=b"{api_key=18,",
        request_before=b" from connection ",
    ),
    _Form(
        start=b"Name: ",
        id_after=b"CorrelationId: ",
        id_before=b";",
        header_before=b"ReplicaId: ",
        is_api_versions=b"ApiVersions",
        request_before=b" from connection ",
    ),
)


class _Parts(NamedTuple):
    """What distinguishes an entry from those that say something else."""

    before_id: bytes
    after_id: bytes
    listener: bytes
    host: bytes
    rest: bytes


class LogCounts:
    """Counts the requests that lines of request logs report.

    Attributes:
        requests: how often each request was reported.
        forwarded: entries of requests that another broker has passed on; that broker's log has them as well.
        unreadable: lines with an entry that cannot be read.
        other_lines: lines without an entry.
        left_out: entries that were not counted because there were too many different requests.
        tables: the table of versions that each listener answers, by its address; lowest and highest version by API key.
    """

    def __init__(self) -> None:
        self.requests: Counter[LoggedRequest] = Counter()
        self.forwarded = self.unreadable = self.other_lines = self.left_out = 0
        self.tables: dict[str, dict[int, tuple[int, int]]] = {}
        self._known: dict[_Parts, LoggedRequest | None] = {}

    def count(self, lines: Iterable[bytes]) -> None:
        """Count the requests of further lines, without their line ends."""
        times: dict[_Parts, int] = {}
        examples: dict[_Parts, bytes] = {}
        for line in lines:
            start = line.find(ENTRY)
            if start < 0:
                self.other_lines += 1
                continue
            parts = _parts(line, start + len(ENTRY))
            if parts is None:
                self._count_read(line)
            elif parts in times:
                times[parts] += 1
            else:
                times[parts], examples[parts] = 1, line
        for parts, line in examples.items():
            if parts in self._known:
                self._add(self._known[parts], times[parts])
            else:
                self._count_read(line, times[parts], parts)

    def merge(self, other: LogCounts) -> None:
        """Add what was counted elsewhere."""
        for request, times in other.requests.items():
            self._add(request, times)
        for address, table in other.tables.items():
            self._learn(address, table)
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def take_requests(self) -> Counter[LoggedRequest]:
        """Return the requests counted since the last call."""
        taken, self.requests = self.requests, Counter()
        return taken

    def to_json(self) -> str:
        """Return what was counted as text, for another program."""
        requests = [[*request, times] for request, times in self.requests.items()]
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        return json.dumps({"requests": requests, "tables": self.tables, **numbers})

    @classmethod
    def from_json(cls, text: str) -> LogCounts:
        """Return what `to_json` has written."""
        written, counts = json.loads(text), cls()
        for *request, times in written["requests"]:
            counts.requests[LoggedRequest(*request)] = times
        for address, table in written["tables"].items():
            counts.tables[address] = {
                int(key): (lowest, highest) for key, (lowest, highest) in table.items()
            }
        for name in _NUMBERS:
            setattr(counts, name, written[name])
        return counts

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: everything but what is remembered to read faster."""
        return {**self.__dict__, "_known": {}}

    def _count_read(self, line: bytes, times: int = 1, parts: _Parts | None = None) -> None:
        """Read a line that stands for several; if its parts are known, remember what it says."""
        try:
            request = read_entry(line)
        except ValueError:
            self.unreadable += times
            return
        self._add(request, times)
        if parts is None:
            return
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[parts] = request
        if request is not None and request.api_key == API_VERSIONS_KEY:
            rows = [tuple(map(int, filter(None, row))) for row in _TABLE_ROW.findall(line)]
            table = {key: (lowest, highest) for key, lowest, highest in rows}
            self._learn(parts.listener.decode(errors="replace"), table)

    def _add(self, request: LoggedRequest | None, times: int) -> None:
        if request is None:
            self.forwarded += times
        elif request in self.requests or len(self.requests) < MOST_COUNTED:
            self.requests[request] += times
        else:
            self.left_out += times

    def _learn(self, address: str, table: dict[int, tuple[int, int]]) -> None:
        # The response to an unsupported version has less in it.
        if len(table) > len(self.tables.get(address, ())):
            self.tables[address] = table


def _parts(line: bytes, start: int) -> _Parts | None:
    """Return the parts of an entry that matter; None if it has to be read to find them, as in a line that is JSON itself."""
    if line.startswith(b"{"):
        return None
    for form in _FORMS:
        if line.startswith(form.start, start):
            return _parts_of(form, line, start)
    return None


def _parts_of(form: _Form, line: bytes, start: int) -> _Parts | None:
    id_at = line.find(form.id_after, start)
    id_end = line.find(form.id_before, id_at + len(form.id_after))
    header_end = line.find(form.header_before, id_end)
    if line.find(form.is_api_versions, start, id_at) >= 0:
        header_end = line.find(form.request_before, header_end)
    rest_at = line.rfind(form.rest_from)
    connection_at = line.rfind(form.connection_after, 0, rest_at)
    if not start < id_at < id_end < header_end <= connection_at < rest_at:
        return None
    id_ = line[id_at + len(form.id_after) : id_end]
    connection_at += len(form.connection_after)
    ends = line[connection_at : line.find(form.connection_before, connection_at)].split(b"-")
    # An entry of a hostile client may have these texts in its client id.
    if not id_.isdigit() or not 2 <= len(ends) <= 4:
        return None
    return _Parts(
        line[start:id_at],
        line[id_end:header_end],
        ends[0],
        ends[1].rpartition(b":")[0],
        line[rest_at:],
    )
