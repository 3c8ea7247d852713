"""In captured bytes, only what responses prove counts as a request."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from dpkt import pcap, pcapng

from tests.upgrade.traffic_files.captured_traffic import (
    BROKER,
    CLIENT,
    TABLE,
    Conversation,
    Turn,
    asking,
    exchanged,
    link_packet,
    network_packet,
    request,
    response,
)
from tests.upgrade.traffic_files.test_captures import SEEN, WHOLE, kinds, read
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests, UnusableSource
from upgrade.traffic_files import captured_connection, captures
from upgrade.traffic_files.captured_requests import (
    CapturedRequest,
    begins_with_request,
    is_tls,
    read_request,
    read_table,
    response_at,
)
from upgrade.traffic_files.captures import LIMITS, read_captures
from upgrade.traffic_files.tcp_packets import Segment
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import encode
from wire.frames import SIZE_BYTES, encode_frame
from wire.headers import RequestHeader


def payload(key: int, version: int, client_id: bytes = b"\0\4shop", *, rest: bytes = b"") -> bytes:
    """Return a request without its size, with these bytes as length and text of the client id."""
    return struct.pack(">hhi", key, version, 7) + client_id + rest


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(payload(3, 1), (3, 1, 7, "shop"), id="usual"),
        pytest.param(payload(3, 1, b"\xff\xff"), (3, 1, 7, None), id="null-client-id"),
        pytest.param(payload(3, 1, b"\0\0"), (3, 1, 7, None), id="empty-client-id"),
        pytest.param(payload(7, 0, b""), (7, 0, 7, None), id="no-client-id-in-that-version"),
        pytest.param(payload(7, 1, b""), None, id="no-client-id"),
        pytest.param(payload(-1, 1), None, id="negative-key"),
        pytest.param(payload(3, -1), None, id="negative-version"),
        pytest.param(payload(3, 1, b"\xff\xfe"), None, id="negative-length"),
        pytest.param(payload(3, 1, b"\0\5shop"), None, id="client-id-cut"),
        pytest.param(payload(3, 1, b"\0\1\xff"), None, id="client-id-no-text"),
        pytest.param(payload(3, 1)[:7], None, id="too-short"),
    ],
)
def test_the_fields_of_a_header_decide(data: bytes, expected: tuple[int, int, int, str | None] | None) -> None:
    """Each field is one that a client could have sent, or the bytes are no request."""
    found = read_request(data, strictly=False)
    assert found == (None if expected is None else CapturedRequest(*expected))


@pytest.mark.parametrize(
    ("key", "version", "is_request"),
    [(0, 18, True), (0, 19, False), (4, 20, True), (4, 26, False), (999, 0, False)],
)
def test_apis_and_versions_are_ones_that_kafka_has_or_will_have_soon(key: int, version: int, is_request: bool) -> None:
    """Where bytes may be anything, an unknown API, or a version that is far too new, makes them no request."""
    data = payload(key, version)
    assert (read_request(data, strictly=True) is not None) is is_request
    assert read_request(data, strictly=False) is not None


@pytest.mark.parametrize("version", [3, 5, 9])
def test_the_software_is_read_in_newer_versions_too(version: int) -> None:
    """The fields that name the software stay where they are."""
    header = RequestHeader(request_api_key=18, request_api_version=version, correlation_id=7, client_id="shop")
    body = ApiVersionsRequest(client_software_name="my-app", client_software_version="1.2.3")
    body_version = min(version, NEWEST_VERSION)
    found = read_request(encode(header, version=2) + encode(body, version=body_version), strictly=False)
    assert found is not None
    assert found.software == ("my-app", "1.2.3")


def test_a_body_that_cannot_be_read_names_no_software() -> None:
    """The request counts all the same."""
    found = read_request(payload(18, 3, rest=b"\0\x7f"), strictly=False)
    assert found == CapturedRequest(18, 3, 7, "shop")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(request(3, 1, 1), True, id="usual"),
        pytest.param(request(3, 1, 1)[:11], False, id="header-cut"),
        pytest.param(request(3, 1, 1, "a\nb"), False, id="unprintable-client-id"),
        pytest.param(struct.pack(">i", 7) + payload(3, 1), False, id="size-too-small"),
        pytest.param(struct.pack(">i", 2**30) + payload(3, 1), False, id="size-too-large"),
        pytest.param(struct.pack(">i", 10) + payload(3, 1), False, id="client-id-over-the-end"),
    ],
)
def test_a_segment_begins_with_a_request_or_not(data: bytes, expected: bool) -> None:
    """After a hole, reading goes on only at what can be nothing else."""
    assert begins_with_request(data) is expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (encode_frame(struct.pack(">i", 7)), 7),
        (struct.pack(">ii", 3, 7), None),
        (struct.pack(">ii", 2**30 + 1, 7), None),
        (struct.pack(">ii", 2**30, -7), -7),
        (struct.pack(">ii", 100, 7)[:7], None),
    ],
)
def test_a_segment_begins_with_a_response_or_not(data: bytes, expected: int | None) -> None:
    """A response has a size and a correlation id."""
    assert response_at(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x16\3\1\2", True),
        (b"\x17\3\3\0", True),
        (b"\x16\2\1\2", False),
        (b"\x13\3\1\2", False),
        (b"\x18\3\1", False),
        (b"\x16\3\5", False),
        (b"\x16\3", False),
    ],
)
def test_tls_is_recognized(data: bytes, expected: bool) -> None:
    """A record of TLS has its type and version in the first three bytes."""
    assert is_tls(data) is expected


def test_a_table_is_read_in_the_version_of_its_answer() -> None:
    """A broker that does not know the version answers in v0; what does not end with the response is no table."""
    whole = asking(1)[1][SIZE_BYTES:]
    assert read_table(whole, 3) == TABLE
    assert read_table(whole + b"\0", 3) == {}
    refused = struct.pack(">ihihhh", 1, 35, 1, 18, 0, 3)
    assert read_table(refused, 4) == {18: (0, 3)}
    assert read_table(refused, 99) == {18: (0, 3)}
    assert read_table(b"\0", 0) == {}


SHOP = ClientIdentity("shop", "10.0.0.7")
FRAME_BYTES = 400
"""So that each frame is one segment."""
REST = (b"", b"\0\0\x10\0" + bytes(40))
"""The end of a response whose beginning is missing; it looks like the beginning of a longer one."""


def _asked(*numbers: int) -> list[Turn]:
    return [(request(3, 9, number), b"") for number in numbers]


def _answered(*numbers: int) -> list[Turn]:
    return [(b"", response(number)) for number in numbers]


@pytest.mark.parametrize(
    ("turns", "missing", "counted", "left_out"),
    [
        pytest.param([*_asked(1, 2, 3), *_answered(1, 3)], 3, 0, 2, id="a-response-from-before"),
        pytest.param([*_asked(1, 2, 3, 4), *_answered(3, 4)], 3, 2, 1, id="both-from-after"),
        pytest.param([*_asked(1, 2, 3), *_answered(3, 3)], 3, 0, 2, id="one-response-twice"),
        pytest.param(
            [exchanged(0), exchanged(1), *_asked(2, 3), *_answered(2)],
            6,
            2,
            1,
            id="none-from-after",
        ),
    ],
)
def test_responses_prove_what_follows_a_hole(turns: list[Turn], missing: int, counted: int, left_out: int) -> None:
    """After a missing request, two responses to requests from after it are needed; what came before proves nothing."""
    segments = Conversation().turns(*turns, segment_bytes=FRAME_BYTES).segments
    assert segments.pop(missing).data
    observed, text = read(segments)
    assert kinds(observed)[3, 9] == counted
    (sentence,) = text
    assert sentence.startswith("requests left out because no response")
    assert sentence.endswith(f": {left_out}")


@pytest.mark.parametrize(
    ("turns", "counted"),
    [
        pytest.param([exchanged(1)], 0, id="one-response"),
        pytest.param([exchanged(1), exchanged(2)], 2, id="two-responses"),
        pytest.param([(request(3, 9, 1), response(1) * 2)], 0, id="one-response-twice"),
        pytest.param([*_asked(1), REST, *_answered(1), exchanged(2)], 2, id="rest-of-a-response"),
        pytest.param([exchanged(1), (request(30_000, 1, 2), response(2)), exchanged(3)], 0, id="no-such-api"),
    ],
)
def test_a_capture_from_the_middle_needs_two_responses(turns: list[Turn], counted: int) -> None:
    """If the beginning of a connection is missing, requests count from the second right response on."""
    segments = Conversation().turns(*turns, segment_bytes=FRAME_BYTES).segments[2:]
    assert kinds(read(segments)[0]) == ({(3, 9): counted} if counted else {})


def test_a_payload_may_look_like_tls() -> None:
    """A segment inside a request that begins like a record of TLS does not make the connection an encrypted one."""
    body = bytes(32) + b"\x16\x03\x01" + bytes(10)
    turns = [exchanged(0), (request(3, 9, 1, body=body), response(1)), exchanged(2)]
    segments = Conversation().turns(*turns, segment_bytes=50).segments
    assert [each.data[:3] for each in segments].count(b"\x16\x03\x01") == 1
    observed, text = read(segments)
    assert (kinds(observed), text) == ({(3, 9): 3}, [])


def test_whether_a_client_asks_is_unknown_after_a_hole() -> None:
    """A missing segment may have been ApiVersions, so the client is not said never to ask; it had not begun before."""
    turns = [exchanged(number) for number in range(4)]
    segments = Conversation().turns(*turns, segment_bytes=FRAME_BYTES).segments
    assert segments.pop(2).data
    observed, text = read(segments)
    assert (observed.clients, observed.asks(SHOP), text) == ((SHOP,), None, [])


def test_a_half_closed_connection_is_read_on() -> None:
    """A client may end its direction before the response comes."""
    half_closed = Conversation().turns(*_asked(1))
    half_closed.add(CLIENT, ends=True)
    half_closed.turns(*_answered(1))
    half_closed.add(BROKER, ends=True)
    assert kinds(read(half_closed.segments)[0]) == {(3, 9): 1}


def test_a_late_answer_to_the_opening_changes_nothing() -> None:
    """A SYN of the broker that is captured after data belongs to the same connection."""
    opening, answer, *rest = WHOLE.segments
    assert kinds(read([opening, rest[0], answer, *rest[1:]])[0]) == SEEN


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(Conversation(CLIENT._replace(port=1)).turns(*_asked(1)).segments[2:], id="middle"),
        pytest.param(
            Conversation(CLIENT._replace(port=1)).turns((request(9999, 0, 1), b"")).segments,
            id="no-such-api",
        ),
    ],
)  # fmt: skip
def test_an_unproved_request_counts_only_from_the_beginning(
    refused: list[Segment],
) -> None:
    """Bytes to a known broker that no response proves are a request only if a connection began with them."""
    observed, text = read([*refused, *WHOLE.segments])
    assert kinds(observed) == SEEN
    assert len(text) == 1


def test_the_longest_table_is_kept() -> None:
    """The table of a refused ApiVersions request, on the same connection or another one, does not replace the full
    one."""
    short = bytes.fromhex("0023 00000001 0012 0000 0003")
    refused = (asking(1)[0], response(1, short))
    segments = Conversation().turns(asking(0), refused).closed().segments
    segments += Conversation(CLIENT._replace(port=1)).turns(refused).closed().segments
    observed, _ = read(segments)
    assert (kinds(observed), observed.tables) == ({(18, 3): 3}, {str(BROKER): TABLE})


def test_requests_without_responses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of writes that get no response only the last ones are remembered, and a response to one of those proves all."""
    monkeypatch.setattr(captured_connection, "MAX_OUTSTANDING", 2)
    turns = [*_asked(*range(5)), *_answered(3)]
    segments = Conversation().turns(*turns, segment_bytes=FRAME_BYTES).segments
    assert kinds(read(segments)[0]) == {(3, 9): 5}


def test_kinds_of_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one connection only so many kinds of requests are counted; the others are said to be left out."""
    monkeypatch.setattr(captured_connection, "MAX_KINDS", 2)
    turns = [exchanged(number, api_version=number) for number in range(4)]
    observed, text = read(Conversation().turns(*turns).segments)
    assert (len(kinds(observed)), [each.rpartition(": ")[2] for each in text]) == (2, ["2"])


def test_the_one_that_is_silent_for_longest_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many connections, one that still sends stays open, however old it is."""
    monkeypatch.setattr(captures, "MAX_CONNECTIONS", 2)
    first, second, third = (Conversation(CLIENT._replace(port=port)).turns(exchanged(0)).segments for port in (1, 2, 3))
    reader = captures._CaptureReader(ObservedRequests())
    for each in [*first[:-1], *second, first[-1], *third]:
        reader.receive(each)
    ports = sorted(end.port for ends in reader._open for end in ends if end.host == CLIENT.host)
    assert ports == [1, 3]


def _interfaces(path: Path, *link_types: int) -> Path:
    """Write a capture in which the packets of `WHOLE` are from several interfaces in turn."""
    descriptions = [pcapng.InterfaceDescriptionBlockLE(linktype=each) for each in link_types]
    with path.open("wb") as file:
        writer = pcapng.Writer(file, idb=descriptions)
        for number, segment in enumerate(WHOLE.segments):
            interface = number % len(link_types)
            packet = link_packet(network_packet(segment), link_types[interface])
            block = pcapng.EnhancedPacketBlockLE(iface_id=interface, pkt_data=packet)
            writer.writepkt(block, ts=float(number))
    return path


def test_each_interface_has_its_own_link_type(tmp_path: Path) -> None:
    """Packets of several interfaces in one file, and of several sections, are read with the link type of their own
    interface."""
    path = _interfaces(tmp_path / "a.pcapng", pcap.DLT_EN10MB, pcap.DLT_LINUX_SLL, pcap.DLT_RAW)
    other = _interfaces(tmp_path / "b.pcapng", pcap.DLT_RAW)
    path.write_bytes(path.read_bytes() + other.read_bytes())
    observed = ObservedRequests()
    assert read_captures([path], observed) == [*LIMITS]
    assert kinds(observed) == {key: times * 2 for key, times in SEEN.items()}


def test_an_interface_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """If packets of a second interface could not be read, the file is refused instead of read in part."""
    path = _interfaces(tmp_path / "a.pcapng", pcap.DLT_RAW, pcap.DLT_IEEE802_11)
    with pytest.raises(UnusableSource, match="link type is 105"):
        read_captures([path], ObservedRequests())


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"\6\0\0\0", id="no-length"),
        pytest.param(b"\6\0\0\0\x40\0\0\0" + bytes(20), id="cut-block"),
        pytest.param(b"\6\0\0\0\x0c\0\0\0\x0c\0\0\0", id="no-packet"),
        pytest.param(b"\6\0\0\0\4\0\0\0", id="impossible-length"),
        pytest.param(b"\6\0\0\0\x20\0\0\0\7" + bytes(23), id="no-such-interface"),
    ],
)
def test_a_file_of_interfaces_may_end_anywhere(tmp_path: Path, rest: bytes) -> None:
    """What comes before a block that is cut or damaged counts, and the end is said."""
    path = _interfaces(tmp_path / "a.pcapng", pcap.DLT_RAW)
    path.write_bytes(path.read_bytes() + rest)
    observed = ObservedRequests()
    *_, text = read_captures([path], observed)
    assert (kinds(observed), text) == (SEEN, "captures that end in the middle of a packet: 1")
