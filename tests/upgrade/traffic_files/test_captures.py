"""A capture yields only requests that were sent, whatever is missing from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from dpkt import pcap
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.upgrade.traffic_files.captured_traffic import (
    BROKER,
    CLIENT,
    TABLE,
    Conversation,
    Turn,
    asking,
    exchanged,
    in_order,
    link_packet,
    network_packet,
    request,
    response,
    write_capture,
)
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests, UnusableSource
from upgrade.request_kinds import BROKERS_LEFT_OUT
from upgrade.traffic_files import captures
from upgrade.traffic_files.captures import LIMITS, read_captures
from upgrade.traffic_files.tcp_packets import Endpoint, Segment

SHOP = ClientIdentity("shop", "10.0.0.7", None, "librdkafka", "1.2")
TURNS = (asking(0), *(exchanged(number, size=number * 37) for number in range(1, 9)))
WHOLE = Conversation().turns(*TURNS).closed()
SEEN = {(18, 3): 1, (3, 9): 8}


def read(segments: Iterable[Segment]) -> tuple[ObservedRequests, list[str]]:
    """Return what some segments contain, and the sentences about what was left out."""
    observed = ObservedRequests()
    reader = captures._CaptureReader(observed)
    for each in segments:
        reader.receive(each)
    reader.finish()
    return observed, reader.skipped()


def kinds(observed: ObservedRequests) -> Counter[tuple[int, int]]:
    """Return how often each API and version was seen, whatever the client."""
    return sum((observed.of(each).requests for each in observed.clients), Counter())


def test_a_conversation_gives_its_requests() -> None:
    """All requests of a connection are those of one client, with the software that it named."""
    observed, left_out = read(WHOLE.segments)
    assert (observed.clients, dict(observed.requests(SHOP)), left_out) == (
        (SHOP,),
        dict(sorted(SEEN.items())),
        [],
    )
    assert (len(observed.of(SHOP).connections), observed.of(SHOP).notes) == (1, {})


LINK_TYPES = {
    "ethernet": pcap.DLT_EN10MB,
    "cooked": pcap.DLT_LINUX_SLL,
    "cooked-2": pcap.DLT_LINUX_SLL2,
    "null": pcap.DLT_NULL,
    "loopback": pcap.DLT_LOOP,
    "raw": pcap.DLT_RAW,
}


@pytest.mark.parametrize("as_pcapng", [False, True], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("hosts", [("10.0.0.7", "10.0.0.1"), ("fe80::7", "fe80::1")], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("link_type", LINK_TYPES.values(), ids=LINK_TYPES)
def test_each_kind_of_capture_is_read(
    tmp_path: Path, link_type: int, hosts: tuple[str, str], *, as_pcapng: bool
) -> None:
    """A capture is read whatever its format, its link type and the version of IP."""
    client, broker = Endpoint(hosts[0], 50_000), Endpoint(hosts[1], 9092)
    segments = Conversation(client, broker).turns(*TURNS).closed().segments
    packets = [link_packet(network_packet(each), link_type) for each in segments]
    path = write_capture(tmp_path / "a.pcap", packets, link_type, as_pcapng=as_pcapng)
    observed = ObservedRequests()
    assert read_captures([path], observed) == [*LIMITS]
    assert {each.address: kinds(observed) for each in observed.clients} == {hosts[0]: SEEN}
    assert observed.tables == {f"{hosts[1]}:9092": TABLE}
    observed.tables["controller:9093"] = {18: (0, 4)}
    assert observed.versions_of_all == TABLE


def test_packets_of_a_vlan_are_read(tmp_path: Path) -> None:
    """A tag of a VLAN does not matter, nor do padding and packets that are no TCP."""
    packets = [link_packet(network_packet(each), pcap.DLT_EN10MB, in_vlan=True) + bytes(6) for each in WHOLE.segments]
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    path = write_capture(tmp_path / "a.pcap", [arp, *packets, b"\0"], pcap.DLT_EN10MB)
    observed = ObservedRequests()
    *_, sentence = read_captures([path], observed)
    assert (kinds(observed), sentence.rpartition(": ")[2]) == (SEEN, "2")


@pytest.mark.parametrize("snaplen", [96, 128, 1000])
def test_a_capture_of_beginnings_is_enough(tmp_path: Path, snaplen: int) -> None:
    """If only the beginning of each packet was captured, the requests are read as far as their headers are in it."""
    turns = [exchanged(number, size=600) for number in range(9)]
    segments = Conversation().turns(*turns, segment_bytes=1400).closed().segments
    packets = [link_packet(network_packet(each), pcap.DLT_EN10MB) for each in segments]
    path = write_capture(tmp_path / "a.pcap", packets, pcap.DLT_EN10MB, snaplen=snaplen)
    observed = ObservedRequests()
    sentence = read_captures([path], observed)
    assert kinds(observed) == {(3, 9): 9}
    assert any("captured in part" in each for each in sentence) == (snaplen < 600)


def test_requests_that_are_cut_too_early_are_said() -> None:
    """A request whose client id was not captured is left out and counted; no client is invented for it."""
    cut = [each._replace(data=each.data[:15]) for each in WHOLE.segments]
    observed, left_out = read(cut)
    assert len(observed.clients) == 0
    assert [each.rpartition(": ")[2] for each in left_out if "client id" in each] == ["9"]


def test_a_capture_may_end_anywhere(tmp_path: Path) -> None:
    """A file that ends in the middle of a packet is read up to there."""
    packets = [link_packet(network_packet(each), pcap.DLT_RAW) for each in WHOLE.segments]
    path = write_capture(tmp_path / "a.pcap", packets, pcap.DLT_RAW)
    path.write_bytes(path.read_bytes() + bytes(7))
    observed = ObservedRequests()
    *_, sentence = read_captures([path], observed)
    assert (kinds(observed), sentence) == (SEEN, "captures that end in the middle of a packet: 1")


def test_a_connection_may_go_on_in_the_next_file(tmp_path: Path) -> None:
    """Captures that one program wrote one after the other are read as one."""
    packets = [link_packet(network_packet(each), pcap.DLT_RAW) for each in WHOLE.segments]
    paths = [
        write_capture(tmp_path / str(number), part, pcap.DLT_RAW)
        for number, part in enumerate((packets[:20], packets[20:]))
    ]
    observed = ObservedRequests()
    assert (read_captures(paths, observed), kinds(observed)) == ([*LIMITS], SEEN)


@settings(max_examples=40)
@given(
    changes=st.lists(
        st.sampled_from(["keep", "keep", "keep", "drop", "twice", "cut", "late"]),
        min_size=1,
        max_size=20,
    ),
    start=st.integers(0, 60),
    segment_bytes=st.sampled_from([7, 50, 400]),
)
def test_no_request_is_invented(changes: list[str], start: int, segment_bytes: int) -> None:
    """Whatever a capture misses, repeats, cuts or reorders, it never gives a request more often than it was sent."""
    segments = Conversation().turns(*TURNS, segment_bytes=segment_bytes).closed().segments
    captured: list[tuple[float, Segment]] = []
    for number, segment in enumerate(segments[start:]):
        change = changes[number % len(changes)]
        if change != "drop":
            position = number + 2.5 * (change == "late")
            data = segment.data[: len(segment.data) // 2] if change == "cut" else segment.data
            captured += [(position, segment._replace(data=data))] * (1 + (change == "twice"))
    observed, _ = read(each for _, each in sorted(captured, key=lambda each: each[0]))
    assert kinds(observed) <= Counter(SEEN)
    assert {each.client_id for each in observed.clients} <= {"shop"}


def _without(number: int) -> list[Segment]:
    return [each for index, each in enumerate(WHOLE.segments) if index != number]


HARMLESS: dict[str, Callable[[], list[Segment]]] = {
    "no-syn-ack": lambda: _without(1),
    "without-payload": lambda: _without(len(WHOLE.segments) - 5),
}


@pytest.mark.parametrize("segments", HARMLESS.values(), ids=HARMLESS)
def test_what_does_no_harm(segments: Callable[[], list[Segment]]) -> None:
    """A missing answer to the opening, or segment inside a payload, costs no request."""
    assert kinds(read(segments())[0]) == SEEN


def test_reading_goes_on_after_a_hole() -> None:
    """After a missing request the next segment that begins with one is found, and the requests from there on count."""
    first = next(n for n, each in enumerate(WHOLE.segments) if each.data and n > 3)
    starts = [n for n, each in enumerate(WHOLE.segments) if each.data[4:8] == b"\0\x03\0\x09"]
    assert first < starts[2]
    observed, _ = read(_without(starts[2]))
    assert kinds(observed) == {(18, 3): 1, (3, 9): 7}
    assert observed.asks(SHOP)


def test_a_capture_may_begin_in_the_middle() -> None:
    """Of a connection that had begun, requests count once two responses prove them; whether it asked is unknown."""
    turns = [exchanged(number) for number in range(5)]
    segments = Conversation().turns(*turns).segments[2:]
    observed, left_out = read(segments)
    (client,) = observed.clients
    assert (client.client_id, kinds(observed)) == ("shop", {(3, 9): 5})
    assert observed.asks(client) is None
    assert [each.rpartition(": ")[2] for each in left_out] == ["1"]
    begun = read(Conversation().turns(*turns).segments)[0]
    assert begun.asks(client) is False


def test_the_broker_is_found_by_its_frames() -> None:
    client, broker = Endpoint("10.0.0.7", 1000), Endpoint("10.0.0.1", 60_000)
    segments = Conversation(client, broker).turns(*TURNS).segments
    later = next(n for n, each in enumerate(segments) if each.source == broker and each.data)
    observed, _ = read(segments[later:])
    assert [each.address for each in observed.clients] == ["10.0.0.7"]


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n")], id="http"),
        pytest.param([(request(3, 1, 1), response(9)), (request(3, 1, 2), response(8))], id="other-ids"),
        pytest.param([(request(3, 1, 1), b"")], id="no-response"),
        pytest.param([(b"\0\0\0\x10" + bytes(16), b"\0\0\0\x04\0\0\0\x01")], id="zeros"),
    ],
)
def test_other_traffic_gives_nothing(turns: list[Turn]) -> None:
    """What no response proves to be requests gives no client, and is said."""
    observed, left_out = read(Conversation().turns(*turns).closed().segments)
    assert (len(observed.clients), len(left_out)) == (0, 1)


def test_encrypted_connections_are_said() -> None:
    """A connection with TLS is recognized, from its beginning and in its middle."""
    hello, data = b"\x16\x03\x01\x02\x00" + bytes(40), b"\x17\x03\x03\x00\x20" + bytes(32)
    beginning = Conversation().turns((hello, hello), (data, data)).closed()
    middle = Conversation().turns((data, data)).segments[2:]
    observed, left_out = read([*beginning.segments, *middle])
    assert (len(observed.clients), left_out) == (
        0,
        ["connections encrypted with TLS, which were not read: 2"],
    )


def test_a_refused_request_counts() -> None:
    """A broker that is known by other connections closed one at once: the request that it refused was sent."""
    refused = Conversation(CLIENT._replace(port=50_001)).turns((request(0, 0, 1, "old"), b"")).closed(resets=True)
    observed, left_out = read(in_order([refused, WHOLE]))
    old = ClientIdentity("old", "10.0.0.7")
    assert (observed.requests(old), left_out) == ({(0, 0): 1}, [])
    assert observed.asks(old) is False
    assert [f"{BROKER} closed" in each for each in observed.of(old).notes] == [True]


def test_brokers_are_no_clients() -> None:
    """What brokers send each other is left out, as it is upgraded with them."""
    replica = [(request(1, 4, n, "broker-2-fetcher-0"), response(n)) for n in range(3)]
    controller = [(request(18, 0, 0, "2"), response(0)), (request(6, 5, 1, "2"), response(1))]
    conversations = [
        Conversation(CLIENT._replace(port=port)).turns(*turns) for port, turns in ((1, replica), (2, controller))
    ]
    assert read(in_order([*conversations, WHOLE]))[1] == [BROKERS_LEFT_OUT]
    assert kinds(read(in_order([*conversations, WHOLE]))[0]) == SEEN


def test_tokens_are_no_requests() -> None:
    """After SaslHandshake v0 the frames have tokens: they are passed over and kept nowhere, and requests follow."""
    token = b"\0\x03secret\0password"
    turns = [
        (request(17, 0, 1, body=b"\0\x05PLAIN"), response(1)),
        (len(token).to_bytes(4) + token, bytes(4)),
        *(exchanged(number) for number in range(2, 5)),
    ]
    observed, left_out = read(Conversation().turns(*turns).closed().segments)
    assert (kinds(observed), left_out) == ({(17, 0): 1, (3, 9): 3}, [])


def test_ports_are_used_again() -> None:
    """A new connection with the same ports is another one, also if the end of the first one is missing."""
    first = Conversation().turns(*TURNS)
    observed, left_out = read(in_order([first, WHOLE]))
    assert (kinds(observed), left_out) == ({key: times * 2 for key, times in SEEN.items()}, [])


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections whose end is missing do not add up: the one that was silent for longest is read to its end."""
    monkeypatch.setattr(captures, "MAX_CONNECTIONS", 3)
    open_ones = [Conversation(CLIENT._replace(port=number)).turns(*TURNS) for number in range(1, 9)]
    reader = captures._CaptureReader(ObservedRequests())
    for segment in in_order(open_ones):
        reader.receive(segment)
        assert len(reader._open) <= 3
    assert kinds(reader._observed) == {key: times * 5 for key, times in SEEN.items()}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"no capture", "is no packet capture", id="text"),
        pytest.param(b"", "is no packet capture", id="empty"),
        pytest.param(None, "No such file", id="missing"),
        pytest.param(
            b"\xd4\xc3\xb2\xa1\x02\0\x04\0" + bytes(8) + b"\xff\xff\0\0\x69\0\0\0",
            "link type is 105",
            id="wifi",
        ),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path: Path, content: bytes | None, reason: str) -> None:
    """A file that is no capture is refused with its name and the reason."""
    path = tmp_path / "a.pcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnusableSource, match=rf"a\.pcap.*{reason}") as raised:
        read_captures([path], ObservedRequests())
    assert raised.value.exit_code == 4
