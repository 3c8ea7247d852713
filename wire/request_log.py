"""Entries of a broker's request log: headers of requests in another notation than bytes.

Kafka has written them as JSON since 2.8, and before as text in three forms: up to 0.11 (two of them) and from 1.0 to 2.7. An entry says
"Completed request:" and stands anywhere in its line, because what comes before and after it is the operator's choice.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Any, NamedTuple

from wire.api_keys import API_VERSIONS_KEY, CONTROLLED_SHUTDOWN_KEY, FETCH_KEY

ENTRY = b"Completed request:"
MOST_REMEMBERED = 50_000
"""How many different beginnings and ends of entries are remembered, so that each is read once."""
MOST_COUNTED = 100_000
"""How many different requests are counted; further ones are left out."""
FIRST_CORRELATION_IDS = (0, 1)
"""Clients count their requests from one of these, in each connection or in all of them."""

_UNKNOWN = "unknown"
_NULL = "null"
_JSON_STRING = rb'"(?:[^"\\]|\\.)*"'
_HEAD_JSON = re.compile(
    rb'\{(?:"isForwarded":(?P<forwarded>true|false),)?"requestHeader":\{"requestApiKey":(?P<api>-?\d+),'
    rb'"requestApiVersion":(?P<version>-?\d+),"correlationId":(?P<correlation>-?\d+),'
    rb'"clientId":(?P<client>' + _JSON_STRING + rb"|null)"
    rb'(?:[^{}]*\},"request":\{"clientSoftwareName":(?P<own_name>' + _JSON_STRING + rb"),"
    rb'"clientSoftwareVersion":(?P<own_release>' + _JSON_STRING + rb"))?"
)
_TAIL_JSON = re.compile(
    rb'"connection":"(?P<listener>[^"]*?:\d+)-(?P<host>[^"]*):\d+(?:-\d+)*",[^{}]*?"principal":(?P<principal>'
    + _JSON_STRING
    + rb"),"
    rb'"listener":"[^"]*"(?:,"clientInformation":\{"softwareName":(?P<name>' + _JSON_STRING + rb"),"
    rb'"softwareVersion":(?P<release>' + _JSON_STRING + rb"))?"
)
_HEADS_TEXT = (
    re.compile(
        rb"RequestHeader\(apiKey=(?P<api>\w+), apiVersion=(?P<version>-?\d+), clientId=(?P<client>.*?), "
        rb"correlationId=(?P<correlation>-?\d+)\) -- "
        rb"(?:\{client_software_name=(?P<own_name>.*?),client_software_version=(?P<own_release>.*?),_tagged_fields=)?"
    ),
    re.compile(
        rb"\{api_key=(?P<api>-?\d+),api_version=(?P<version>-?\d+),correlation_id=(?P<correlation>-?\d+)"
        rb"(?:,client_id=(?P<client>.*?))?\} -- "
    ),
    re.compile(
        rb"Name: (?P<api>\w+); Version: (?P<version>-?\d+); CorrelationId: (?P<correlation>-?\d+); "
        rb"(?:ClientId: (?P<client>.*?); )?(?:ReplicaId|BrokerId): "
    ),
)
_TAIL_TEXT = re.compile(
    rb" from connection (?P<listener>\S+?:\d+)-(?P<host>\S+):\d+(?:-\d+)*;.*?,principal:(?P<principal>.*?)"
    rb"(?:,listener:[^,\s]*(?:,clientInformation:\w+\(softwareName=(?P<name>.*?), softwareVersion=(?P<release>.*?)\))?)?"
    rb"(?: \(kafka\.request\.logger\))?\s*$"
)
_TABLE_ROW = re.compile(
    rb'\{"apiKey":(\d+),"minVersion":(\d+),"maxVersion":(\d+)|\{api_key=(\d+),min_version=(\d+),max_version=(\d+)'
)
_JSON_CONNECTION, _TEXT_CONNECTION = b'"connection":"', b" from connection "

_NAMES = """
PRODUCE FETCH LIST_OFFSETS METADATA LEADER_AND_ISR STOP_REPLICA UPDATE_METADATA CONTROLLED_SHUTDOWN OFFSET_COMMIT
OFFSET_FETCH FIND_COORDINATOR JOIN_GROUP HEARTBEAT LEAVE_GROUP SYNC_GROUP DESCRIBE_GROUPS LIST_GROUPS SASL_HANDSHAKE
API_VERSIONS CREATE_TOPICS DELETE_TOPICS DELETE_RECORDS INIT_PRODUCER_ID OFFSET_FOR_LEADER_EPOCH ADD_PARTITIONS_TO_TXN
ADD_OFFSETS_TO_TXN END_TXN WRITE_TXN_MARKERS TXN_OFFSET_COMMIT DESCRIBE_ACLS CREATE_ACLS DELETE_ACLS DESCRIBE_CONFIGS
ALTER_CONFIGS ALTER_REPLICA_LOG_DIRS DESCRIBE_LOG_DIRS SASL_AUTHENTICATE CREATE_PARTITIONS CREATE_DELEGATION_TOKEN
RENEW_DELEGATION_TOKEN EXPIRE_DELEGATION_TOKEN DESCRIBE_DELEGATION_TOKEN DELETE_GROUPS ELECT_LEADERS
INCREMENTAL_ALTER_CONFIGS ALTER_PARTITION_REASSIGNMENTS LIST_PARTITION_REASSIGNMENTS OFFSET_DELETE
DESCRIBE_CLIENT_QUOTAS ALTER_CLIENT_QUOTAS DESCRIBE_USER_SCRAM_CREDENTIALS ALTER_USER_SCRAM_CREDENTIALS VOTE
BEGIN_QUORUM_EPOCH END_QUORUM_EPOCH DESCRIBE_QUORUM ALTER_ISR UPDATE_FEATURES
"""
_API_NAMES = _NAMES.split()
"""The APIs of 2.7 in the order of their keys, as entries in text name them since 1.0."""
API_KEYS_BY_NAME = {
    **{name: key for key, name in enumerate(_API_NAMES)},
    "ELECT_PREFERRED_LEADERS": _API_NAMES.index("ELECT_LEADERS"),
    "FetchRequest": FETCH_KEY,
    "ControlledShutdownRequest": CONTROLLED_SHUTDOWN_KEY,
}


class LoggedRequest(NamedTuple):
    """What an entry says about a request.

    Attributes:
        api_key: the API.
        api_version: the version of the request.
        client_id: the client id; None if it is null or empty, which most releases write alike.
        address: the client's host, without a port.
        principal: the user it is authenticated as.
        software_name: the client's name in ApiVersions, which entries have had since 2.5; None if it is unknown.
        software_version: its version in ApiVersions.
        is_first: whether it is the first request of a connection or of the client, judged by its correlation id.
    """

    api_key: int
    api_version: int
    client_id: str | None
    address: str
    principal: str | None = None
    software_name: str | None = None
    software_version: str | None = None
    is_first: bool = False


_NUMBERS = ("forwarded", "unreadable", "other_lines", "left_out")
"""What `LogCounts` counts besides requests."""


class LogCounts:
    """Counts the requests that lines of request logs report. It reads each kind of entry once, and recognizes it after that.

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
        self._known: dict[tuple[Any, ...], LoggedRequest | None] = {}

    def count(self, lines: Iterable[bytes]) -> None:
        """Count the requests of further lines, without their line ends."""
        for line in lines:
            start = line.find(ENTRY)
            if start < 0:
                self.other_lines += 1
                continue
            parts = _parts(line, start + len(ENTRY))
            try:
                # A line with other parts in it is one that a layout of the operator's has wrapped in JSON.
                entry = self._entry_of(parts, line) if parts is not None else read_entry(line)
            except ValueError:
                self.unreadable += 1
                continue
            if entry is None:
                self.forwarded += 1
            else:
                self._add(entry, 1)

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

    def _add(self, request: LoggedRequest, times: int) -> None:
        if request in self.requests or len(self.requests) < MOST_COUNTED:
            self.requests[request] += times
        else:
            self.left_out += times

    def _entry_of(self, parts: tuple[Any, ...], line: bytes) -> LoggedRequest | None:
        if parts in self._known:
            return self._known[parts]
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        entry = self._known[parts] = _entry_of_parts(*parts[1:])
        if entry is not None and entry.api_key == API_VERSIONS_KEY:
            rows = [tuple(map(int, filter(None, row))) for row in _TABLE_ROW.findall(line)]
            table = {key: (lowest, highest) for key, lowest, highest in rows}
            self._learn(parts[0].decode(), table)
        return entry

    def _learn(self, address: str, table: dict[int, tuple[int, int]]) -> None:
        # The response to an unsupported version has less in it.
        if len(table) > len(self.tables.get(address, ())):
            self.tables[address] = table


def read_entry(line: bytes) -> LoggedRequest | None:
    """Read the entry in a line, whatever surrounds it.

    Returns:
        The request; None if another broker has passed it on.

    Raises:
        ValueError: the line has no entry that can be read.
    """
    start = line.find(ENTRY)
    if start < 0:
        raise ValueError("the line has no entry of a request log")
    parts = _parts(line, start + len(ENTRY))
    if parts is not None:
        return _entry_of_parts(*parts[1:])
    if line.lstrip().startswith(b"{"):
        return read_entry(_unwrapped(line))
    return _entry_of_object(line[start + len(ENTRY) :])


def _parts(line: bytes, start: int) -> tuple[Any, ...] | None:
    """Return what distinguishes an entry from others; None if it is in no known form, or in a line of JSON."""
    if line.startswith(b"{"):
        return None
    if line.startswith(b"{", start) and not line.startswith(b"{api_key", start):
        return _joined(_HEAD_JSON.match(line, start), _TAIL_JSON, line, _JSON_CONNECTION)
    for head in _HEADS_TEXT:
        found = head.match(line, start)
        if found is not None:
            return _joined(found, _TAIL_TEXT, line, _TEXT_CONNECTION)
    return None


def _joined(
    head: re.Match[bytes] | None, tail: re.Pattern[bytes], line: bytes, mark: bytes
) -> tuple[Any, ...] | None:
    # Names in a request or response may contain anything, but the connection comes after both.
    end = tail.match(line, line.rfind(mark)) if head is not None else None
    if head is None or end is None:
        return None
    is_json = mark is _JSON_CONNECTION
    # An entry of ApiVersions names the software in its request only; the connection has its name from then on.
    own = head.groupdict()
    correlation = head["correlation"]
    return (
        end["listener"],
        b"json" if is_json else None,
        own.get("forwarded"),
        head["api"],
        head["version"],
        correlation if int(correlation) in FIRST_CORRELATION_IDS else None,
        end["host"],
        head["client"],
        end["principal"],
        own.get("own_name") or end["name"],
        own.get("own_release") or end["release"],
    )


def _entry_of_parts(
    form: bytes | None,
    forwarded: bytes | None,
    api: bytes,
    version: bytes,
    first: bytes | None,
    host: bytes,
    *texts: bytes | None,
) -> LoggedRequest | None:
    if forwarded == b"true":
        return None
    client, principal, name, release = (_text(each, is_json=form is not None) for each in texts)
    return LoggedRequest(
        api_key=_api_key(api.decode()),
        api_version=int(version),
        client_id=client,
        address=_address(host.decode(errors="replace")),
        principal=principal,
        software_name=_known(name),
        software_version=_known(release),
        is_first=first is not None,
    )


def _entry_of_object(text: bytes) -> LoggedRequest | None:
    """Read an entry in JSON whose fields come in another order than in the releases that we know."""
    entry, _ = json.JSONDecoder().raw_decode(text.decode(errors="replace"))
    try:
        if entry.get("isForwarded"):
            return None
        header, request = entry["requestHeader"], entry.get("request") or {}
        software = entry.get("clientInformation") or {}
        connection = re.fullmatch(r".*?:\d+-(.*):\d+(?:-\d+)*", entry["connection"])
        return LoggedRequest(
            api_key=int(header["requestApiKey"]),
            api_version=int(header["requestApiVersion"]),
            client_id=header.get("clientId") or None,
            address=_address(connection[1] if connection else entry["connection"]),
            principal=entry.get("principal") or None,
            software_name=_known(request.get("clientSoftwareName") or software.get("softwareName")),
            software_version=_known(
                request.get("clientSoftwareVersion") or software.get("softwareVersion")
            ),
            is_first=header.get("correlationId") in FIRST_CORRELATION_IDS,
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"the entry has no usable {error}") from error


def _unwrapped(line: bytes) -> bytes:
    """Return the message in a line that is an object in JSON."""
    for text in _strings(json.loads(line.decode(errors="replace"))):
        if ENTRY.decode() in text:
            return text.strip().encode()
    raise ValueError("the line has no message with an entry of a request log")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)


def _text(part: bytes | None, *, is_json: bool) -> str | None:
    """Return a text; None if it is absent, null or empty."""
    if part is None:
        return None
    text = part.decode(errors="replace")
    if is_json:
        return json.loads(text, strict=False) or None
    return None if text in ("", _NULL) else text


def _api_key(name: str) -> int:
    if name in API_KEYS_BY_NAME:
        return API_KEYS_BY_NAME[name]
    return int(name)


def _known(text: str | None) -> str | None:
    return None if text in (None, "", _UNKNOWN) else text


def _address(host: str) -> str:
    """Return a host as everything else writes it: IPv6 in its short form, and without the name of an interface."""
    try:
        return str(ip_address(host.strip("[]").partition("%")[0]))
    except ValueError:
        return host
