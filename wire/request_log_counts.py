"""Counts of the requests that a broker's request log reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from wire.api_keys import API_VERSIONS_KEY
from wire.request_log import ENTRY, LoggedRequest, read_entry, read_table

MAX_COUNTED = 100_000
"""How many different requests are counted; further ones are left out."""
_NUMBERS = ("forwarded", "unreadable", "other_lines", "left_out")
"""What `LogCounts` counts besides requests."""


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

    def count(self, lines: Iterable[bytes]) -> None:
        """Count the requests of further lines, without their line ends."""
        for line in lines:
            if ENTRY not in line:
                self.other_lines += 1
                continue
            try:
                request = read_entry(line)
            except ValueError:
                self.unreadable += 1
                continue
            self._add(request)
            if request is not None and request.api_key == API_VERSIONS_KEY:
                self._learn(*read_table(line))

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
            counts.tables[address] = {int(key): (lowest, highest) for key, (lowest, highest) in table.items()}
        for name in _NUMBERS:
            setattr(counts, name, written[name])
        return counts

    def _add(self, request: LoggedRequest | None, times: int = 1) -> None:
        if request is None:
            self.forwarded += times
        elif request in self.requests or len(self.requests) < MAX_COUNTED:
            self.requests[request] += times
        else:
            self.left_out += times

    def _learn(self, address: str, table: Mapping[int, tuple[int, int]]) -> None:
        # The response to an unsupported version has less in it.
        if len(table) > len(self.tables.get(address, ())):
            self.tables[address] = dict(table)
