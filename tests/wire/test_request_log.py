"""Entries of request logs are read in every form that releases write."""

from __future__ import annotations

import json
import re

import pytest

from tests.wire.logged_requests import ENTRIES, USER, counted
from wire import request_log
from wire.request_log import API_KEYS_BY_NAME, LoggedRequest, read_entry, read_table
from wire.request_log_counts import LogCounts

CASES = pytest.mark.parametrize(("line", "expected"), ENTRIES.values(), ids=[f"form-{each}" for each in ENTRIES])
OF_2_8 = ENTRIES["2.8"][0]
_ID = re.compile(rb'(correlation_?id"?[:=] ?)\d+', re.IGNORECASE)


@CASES
def test_each_form_is_read(line: bytes, expected: LoggedRequest) -> None:
    """An entry of each form says API, version, client id, address, user and software."""
    assert read_entry(line) == expected


@CASES
def test_what_surrounds_an_entry_does_not_matter(line: bytes, expected: LoggedRequest) -> None:
    """An entry is read after any prefix, without a suffix, with a carriage return, and in a line of JSON."""
    bare = line[line.index(request_log.ENTRY) :].removesuffix(b" (kafka.request.logger)")
    wrapped = json.dumps({"level": "DEBUG", "at": {"n": 1}, "log": line.decode() + "\n"}).encode()
    assert {read_entry(each) for each in (bare, b"broker-1 | " + bare + b"\r", wrapped)} == {expected}


@pytest.mark.parametrize("release", ["2.8", "4.4"])
def test_fields_may_come_in_another_order(release: str) -> None:
    """An entry in JSON is read whatever the order of its fields."""
    line, expected = ENTRIES[release]
    entry, _ = json.JSONDecoder().raw_decode(line[line.index(b"{") :].decode())
    turned = json.dumps(dict(reversed(entry.items())))
    assert read_entry(request_log.ENTRY + turned.encode()) == expected


@pytest.mark.parametrize("prefix", [b"{", b'{"x":1,'], ids=["known-order", "other-order"])
def test_every_text_of_an_entry_can_be_written(prefix: bytes) -> None:
    """JSON can have half of a character, which no file can: it is replaced."""
    line = ENTRIES["2.8"][0].replace(b'"clientId":"named"', rb'"clientId":"\ud800"')
    entry = read_entry(line.replace(b"{", prefix, 1))
    assert entry is not None
    assert entry.client_id == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[2026-11-27] INFO started (kafka.server.KafkaServer)", id="other"),
        pytest.param(b"Completed request:{api_key=3,api_version=0,client_id=a \\", id="broken-line"),
        pytest.param(b'Completed request:{"requestHeader":{"requestApiKey":3', id="cut"),
        pytest.param(b'Completed request:{"requestHeader":{}}', id="no-header"),
        pytest.param(b"Completed request:[]", id="no-object"),
        pytest.param(b'Completed request:{"a":' + b"[" * 10_000, id="nested"),
        pytest.param(b'{"a":' * 10_000 + b"Completed request:", id="nested-line"),
        pytest.param(b'{"log":"DEBUG","text":["Completed request:"]}', id="not-in-a-string"),
        pytest.param(ENTRIES["1.0"][0].replace(b"API_VERSIONS", b"NO_SUCH_API"), id="unknown-api"),
    ],
)
def test_what_is_no_entry_is_refused(line: bytes) -> None:
    """A line without a complete entry is refused, and counted as unreadable or as another line."""
    with pytest.raises(ValueError, match=r".+"):
        read_entry(line)
    counts = counted(line)
    assert (counts.unreadable + counts.other_lines, counts.requests) == (1, {})


def test_no_text_inside_a_request_passes_for_the_connection() -> None:
    """Names in a request may look like the fields of an entry, and are not taken for them."""
    of_json = OF_2_8.replace(b'"my-app"', rb'"x\",\"connection\":\"a:1-b:2\",\"principal\":\"P"')
    of_text = ENTRIES["2.7"][0].replace(b"key=g1", b"key= from connection a:1-b:2;x,principal:P")
    found = [read_entry(each) for each in (of_json, of_text)]
    assert [(each.address, each.principal) for each in found if each] == [("127.0.0.1", USER)] * 2


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        pytest.param("User:CN=a,OU=b", "User:CN=a,OU=b", id="distinguished-name"),
        pytest.param("", None, id="none"),
    ],
)
def test_principals_may_have_commas(principal: str, expected: str | None) -> None:
    """A principal is read with its commas, in text and in JSON."""
    lines = (ENTRIES[each][0].replace(USER.encode(), principal.encode()) for each in ENTRIES)
    assert {entry.principal for entry in map(read_entry, lines) if entry} == {expected}


def test_entries_without_an_object_of_software_are_read() -> None:
    """An entry in JSON may say nothing about the software, and have a host that is a name."""
    line = OF_2_8[: OF_2_8.index(b',"clientInformation"')] + b"}"
    line = line.replace(b"127.0.0.1:58800", b"app.example:58800")
    line = line.replace(b'"clientSoftwareName":"my-app","clientSoftwareVersion":"1.2.3"', b"")
    expected = LoggedRequest(18, 3, "named", "app.example", USER)
    other_order = line.replace(b'{"isForwarded":false,', b'{"x":1,')
    strange = other_order.replace(b"127.0.0.1:45663-app.example:58800-3", b"app.example")
    assert [read_entry(each) for each in (line, other_order, strange)] == [expected] * 3


@pytest.mark.parametrize("release", ["1.0", "2.8"])
def test_a_client_id_may_look_like_an_entry(release: str) -> None:
    """Clients whose ids contain parts of an entry are counted apart, as reading each line finds them."""
    text = (
        "two, correlationId=1) -- ",
        'two", "correlationId":1,"request":',
        'two", "correlationId":2,"x',
    )
    lines = []
    for each in text:
        name = json.dumps(each)[1:-1] if release == "2.8" else each
        lines.append(ENTRIES[release][0].replace(b"named", name.encode()))
    lines.append(ENTRIES[release][0].replace(b"127.0.0.1:", b"a-b-c-d:"))
    counts = LogCounts()
    for _ in range(2):
        counts.count(lines)
    assert counts.requests == {read_entry(line): 2 for line in lines}


def test_the_names_of_apis_are_those_of_their_keys() -> None:
    """The names in text entries have the keys that entries of later releases say next to the name."""
    assert [API_KEYS_BY_NAME[each] for each in ("PRODUCE", "API_VERSIONS", "ALTER_ISR")] == [
        0,
        18,
        56,
    ]
    assert API_KEYS_BY_NAME["ELECT_PREFERRED_LEADERS"] == API_KEYS_BY_NAME["ELECT_LEADERS"] == 43


def test_an_entry_in_no_form_of_kafkas_has_no_table() -> None:
    assert read_table(b"something else") == ("", {})


@pytest.mark.parametrize("release", ENTRIES)
def test_a_correlation_id_makes_no_difference(release: str) -> None:
    """Lines that differ in their correlation ids only count as the same request."""
    lines = [_ID.sub(rb"\g<1>%d" % number, ENTRIES[release][0]) for number in (0, 1, 5, 10)]
    assert len(set(lines)) == len(lines)
    assert list(counted(*lines).requests.values()) == [len(lines)]


def test_a_client_id_may_look_like_a_correlation_id() -> None:
    """Clients that differ in their id alone are counted apart, also if the id has the text before the correlation
    id."""
    lines = [ENTRIES["1.0"][0].replace(b"named", b"a, correlationId=" + name) for name in (b"x", b"y")]
    assert counted(*lines).requests == {read_entry(line): 1 for line in lines}
    assert len(counted(*lines).requests) == 2
