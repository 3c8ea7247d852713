"""Reader of the entries of a broker's request log.

Entries report headers of requests in another notation than bytes.

Kafka has written them as JSON since 2.8, and before as text in three forms: up to 0.11 (two of them) and from 1.0 to
2.7. An entry says "Completed request:" and stands anywhere in its line, because what comes before and after it is the
operator's choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, NamedTuple

from wire.api_keys import CONTROLLED_SHUTDOWN_KEY, FETCH_KEY
from wire.foreign_json import read_foreign_json

ENTRY = b"Completed request:"
MAX_REMEMBERED = 50_000
"""How many different entries are remembered: most lines of a log say what an earlier one said."""
UNKNOWN_SOFTWARE = "unknown"
"""What Kafka writes for the name and the version of a client that sent none."""
_NULL = "null"
_JSON_STRING = rb'"(?:[^"\\]|\\.)*"'
_HEAD_JSON = re.compile(
    rb'\{(?:"isForwarded":(?P<forwarded>true|false),)?"requestHeader":\{"requestApiKey":(?P<api>-?\d+),'
    rb'"requestApiVersion":(?P<version>-?\d+),"correlationId":-?\d+,'
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
        rb"correlationId=-?\d+\) -- "
        rb"(?:\{client_software_name=(?P<own_name>.*?),client_software_version=(?P<own_release>.*?),_tagged_fields=)?"
    ),
    re.compile(
        rb"\{api_key=(?P<api>-?\d+),api_version=(?P<version>-?\d+),correlation_id=-?\d+"
        rb"(?:,client_id=(?P<client>.*?))?\} -- "
    ),
    re.compile(
        rb"Name: (?P<api>\w+); Version: (?P<version>-?\d+); CorrelationId: -?\d+; "
        rb"(?:ClientId: (?P<client>.*?); )?(?:ReplicaId|BrokerId): "
    ),
)
_TAIL_TEXT = re.compile(
    rb" from connection (?P<listener>\S+?:\d+)-(?P<host>\S+):\d+(?:-\d+)*;.*?,principal:(?P<principal>.*?)"
    rb"(?:,listener:[^,\s]*(?:,clientInformation:\w+\(softwareName=(?P<name>.*?), softwareVersion=(?P<release>.*?)\))?)?"
    rb"(?: \(kafka\.request\.logger\))?\s*$"
)
_FORMS = (
    (_HEAD_JSON, _TAIL_JSON, b'"connection":"'),
    *((head, _TAIL_TEXT, b" from connection ") for head in _HEADS_TEXT),
)
"""Beginning and end of each form, and what the end begins with."""
_TABLE_ROW = re.compile(
    rb'\{"apiKey":(\d+),"minVersion":(\d+),"maxVersion":(\d+)|\{api_key=(\d+),min_version=(\d+),max_version=(\d+)'
)
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
    """

    api_key: int
    api_version: int
    client_id: str | None
    address: str
    principal: str | None = None
    software_name: str | None = None
    software_version: str | None = None


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
    start += len(ENTRY)
    if line.lstrip().startswith(b"{"):
        # A layout of the operator's has wrapped it in JSON.
        return read_entry(_unwrapped(line))
    matched = _matched(line, start)
    return _entry_of_object(line[start:]) if matched is None else _entry_of(*matched)


def read_table(line: bytes) -> tuple[str, Mapping[int, tuple[int, int]]]:
    """Return the address of the listener in an entry of ApiVersions, and the lowest and highest version by API key.

    Both are empty if the entry is in none of Kafka's forms.
    """
    matched = _matched(line, line.find(ENTRY) + len(ENTRY))
    if matched is None:
        return "", {}
    rows = (tuple(map(int, filter(None, row))) for row in _TABLE_ROW.findall(line))
    table = {key: (lowest, highest) for key, lowest, highest in rows}
    return matched[1]["listener"].decode(errors="replace"), table


def _matched(line: bytes, start: int) -> tuple[re.Match[bytes], re.Match[bytes]] | None:
    """Return the beginning and the end of an entry in one of Kafka's forms; None if it has another."""
    for head_form, tail_form, mark in _FORMS:
        head = head_form.match(line, start)
        # Names in a request or response may contain anything, but the connection comes after both.
        tail = tail_form.match(line, max(line.rfind(mark), 0)) if head is not None else None
        if head is not None and tail is not None:
            return head, tail
    return None


def _entry_of(head: re.Match[bytes], tail: re.Match[bytes]) -> LoggedRequest | None:
    own = head.groupdict()
    if own.get("forwarded") == b"true":
        return None
    return _request(
        head["api"],
        head["version"],
        tail["host"],
        head["client"],
        tail["principal"],
        # An entry of ApiVersions names the software in its request only; the connection has its name from then on.
        own.get("own_name") or tail["name"],
        own.get("own_release") or tail["release"],
        is_json=head.re is _HEAD_JSON,
    )


@lru_cache(maxsize=MAX_REMEMBERED)
def _request(api: bytes, version: bytes, host: bytes, *texts: bytes | None, is_json: bool) -> LoggedRequest:
    """Return the request described by the parts of an entry.

    The texts are the client id, the principal, and the software's name and version.
    """
    client, principal, name, release = (_text(each, is_json=is_json) for each in texts)
    return LoggedRequest(
        api_key=_api_key(api.decode()),
        api_version=int(version),
        client_id=client,
        address=_address(host.decode(errors="replace")),
        principal=principal,
        software_name=_known(name),
        software_version=_known(release),
    )


def _entry_of_object(text: bytes) -> LoggedRequest | None:
    """Read an entry in JSON whose fields come in another order than in the releases that we know."""
    entry = read_foreign_json(text.decode(errors="replace"), may_go_on=True)
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
            software_version=_known(request.get("clientSoftwareVersion") or software.get("softwareVersion")),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"the entry has no usable {error}") from error


def _unwrapped(line: bytes) -> bytes:
    """Return the message in a line that is an object in JSON."""
    for text in _strings(read_foreign_json(line.decode(errors="replace"))):
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
        return read_foreign_json(text, control_characters=True) or None
    return None if text in ("", _NULL) else text


def _api_key(name: str) -> int:
    if name in API_KEYS_BY_NAME:
        return API_KEYS_BY_NAME[name]
    return int(name)


def _known(text: str | None) -> str | None:
    return None if text in (None, "", UNKNOWN_SOFTWARE) else text


def _address(host: str) -> str:
    """Return a host as everything else writes it: IPv6 in its short form, and without the name of an interface."""
    try:
        return str(ip_address(host.strip("[]").partition("%")[0]))
    except ValueError:
        return host
