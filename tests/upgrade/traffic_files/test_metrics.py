"""Pages of metrics are read whatever an exporter names them; others are refused."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests, UnusableSource
from upgrade.prediction.outcomes import PredictedOutcome
from upgrade.prediction.prediction import predict
from upgrade.prediction.releases import release_named
from upgrade.request_kinds import BROKERS_LEFT_OUT
from upgrade.traffic_files import metrics
from upgrade.traffic_files.metrics import LIMITS, read_metrics
from upgrade.traffic_files.metrics_pages import CountedRequest, read_page

# As apache-kafka-3.9.2 shows them.
PAGE = b"""\
# HELP kafka_network_RequestMetrics_Count Attribute exposed for management
# TYPE kafka_network_RequestMetrics_Count untyped
kafka_network_RequestMetrics_Count{clientSoftwareName="old",clientSoftwareVersion="0.1",\
name="DeprecatedRequestsPerSec",request="ListOffsets",version="0"} 1.0
kafka_network_RequestMetrics_Count{clientSoftwareName="unknown",clientSoftwareVersion="unknown",\
name="DeprecatedRequestsPerSec",request="DescribeConfigs",version="0"} 2.0
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="ListOffsets",version="0"} 1.0
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="DescribeConfigs",version="0"} 2.0
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="ApiVersions",version="3"} 6.0
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="BrokerHeartbeat",version="1"} 13.0
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="Fetch",version="16"} 5.0
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="FetchConsumer",version="16"} 2.0
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="FetchFollower",version="16"} 3.0
kafka_network_RequestMetrics_Count{error="NONE",name="ErrorsPerSec",request="Fetch"} 5.0
kafka_network_RequestMetrics_MeanRate{name="RequestsPerSec",request="Produce",version="9"} 7.0
kafka_server_BrokerTopicMetrics_Count{name="TotalFetchRequestsPerSec",topic="t"} 2.0
jvm_memory_used_bytes{area="heap"} 1.0E8
"""
OLD = CountedRequest("ListOffsets", 0, "old", "0.1", is_deprecated=True)
UNNAMED = CountedRequest("DescribeConfigs", 0, "unknown", "unknown", is_deprecated=True)
ALL_OLD = ClientIdentity(None, "", None, "old", "0.1", is_group=True)
ALL_UNNAMED = ClientIdentity(None, "", None, "unknown", "unknown", is_group=True)
ALL = ClientIdentity(None, "", is_group=True)
BEAN = "kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec,request=ListOffsets,version=0,"
JOLOKIA = {
    "request": {"mbean": "kafka.network:name=*RequestsPerSec,type=RequestMetrics,*", "type": "read"},
    "value": {
        f"{BEAN}clientSoftwareName=old,clientSoftwareVersion=0.1": {"EventType": "requests", "Count": 1},
        "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Produce,version=9": {"Count": 4},
        "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Produce,version=10": {"MeanRate": 4.0},
    },
    "status": 200,
}


def test_page_of_the_exporter_is_read() -> None:
    """Its default rules leave Kafka's names as they are."""
    counted = read_page(PAGE)
    assert counted[OLD] == 1
    assert counted[UNNAMED] == 2
    assert counted[CountedRequest("ApiVersions", 3)] == 6
    assert len(counted) == 9


@pytest.mark.parametrize(
    "line",
    [
        'kafka_network_requestmetrics_requests_total{request="Produce",version="9"} 4',
        'kafka_network_requestmetrics_requestspersec{request="Produce",version="9",} 4.0 1700000000000',
        'KAFKA_RequestsPerSec_count{REQUEST="Produce", VERSION="9", instance="a\\"}\\\\b"} 4 # {trace="x"} 1',
        'kafka_network_requestmetrics_count{name="RequestsPerSec",request="Produce",version="9"} 4e0',
        'requests{ request="Produce" , version="9", } 4\nup{ } 1',
    ],
)
def test_rules_may_rename_a_metric(line: str) -> None:
    """The labels and the word "requests" are enough, in any case."""
    assert read_page(f"{line}\n".encode()) == {CountedRequest("Produce", 9): 4}


def test_rules_may_rename_the_labels_of_the_software() -> None:
    """Many write labels with underscores."""
    line = b'requests_deprecated{request="ListOffsets",version="0",client_software_name="old",client_software_version="0.1"} 1\n'
    assert read_page(line) == {OLD: 1}


def test_what_is_no_count_is_left_out() -> None:
    """Rates, times of creation, values that are none, and other metrics with these labels count nothing."""
    lines = (
        'requests_fifteenminuterate{request="Produce",version="9"} 4',
        'requests_created{request="Produce",version="9"} 1.7e9',
        'requests{request="Produce",version="9"} NaN',
        'requests{request="Produce",version="9"} 0.0',
        'requests{request="Produce",version="-1"} 4',
        'requests{request="Produce"} 4',
        'request_bytes{request="Produce",version="9"} 4',
    )
    assert not read_page("".join(f"{each}\n" for each in lines).encode())
    bean = "kafka.network:name=RequestsPerSec,request=Produce,version=9"
    assert not read_page(json.dumps({"status": 200, "value": {bean: {"Count": True}}}).encode())


@pytest.mark.parametrize("as_list", [False, True], ids=["one", "list"])
def test_answer_of_jolokia_is_read(as_list: bool) -> None:
    """Jolokia may answer with a list, of which one answer has no beans."""
    document = [JOLOKIA, {"status": 404}] if as_list else JOLOKIA
    assert read_page(json.dumps(document).encode()) == {OLD: 1, CountedRequest("Produce", 9): 4}


def test_answer_about_one_bean_is_read() -> None:
    """Whoever asks Jolokia for one bean gets its attributes alone."""
    bean = "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Produce,version=9"
    document = {"status": 200, "request": {"mbean": bean}, "value": {"Count": 3, "MeanRate": 1.5}}
    assert read_page(json.dumps(document).encode()) == {CountedRequest("Produce", 9): 3}


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (b"<html>\n<body>\n", "line 1 is no sample of Prometheus: <html>"),
        (b"a 1\nb one\n", "line 2 is no sample of Prometheus: b one"),
        (b"a{garbage} 1\n", "line 1 is no sample of Prometheus: a{garbage} 1"),
        (b'a{b="c",garbage} 1\n', "line 1 is no sample of Prometheus"),
        (b"up 1\n# HELP " + b"a" * 65_536 + b"\n", "line 2 is longer than 65536 bytes"),
        (b"\xff\xfe\n", "it is no text in UTF-8"),
        (b"404 page not found", "line 1 is no sample of Prometheus: 404 page not found"),
        (b"<html>\n</html>", "line 1 is no sample of Prometheus: <html>"),
        (b"up 1", "is half a page of metrics"),
        (PAGE[:-20], "is half a page of metrics: it ends in the middle of a line"),
        (b'{"status": 200, "val', "or half of one: it is no JSON"),
        (b'{"error": "no"}', "it is JSON, but no answer of Jolokia"),
        (b"[" + b" " * 8 * 1024 * 1024 + b"]", "is larger than 8 MiB, too large for JSON; give the address of Jolokia"),
        (b"[1]", "it is JSON, but no answer of Jolokia"),
        (b'{"status": 403, "error": "forbidden"}', "Jolokia answered forbidden"),
        (b'{"status": 200, "value": 1}', "Jolokia answered 200"),
        (b'{"status": 200, "value": {"a:b=c": {"Count": %s}}}' % (b"9" * 400), "a Count that is too large"),
    ],
)
def test_what_is_no_page_is_refused(page: bytes, sentence: str) -> None:
    """The error says what it is instead."""
    with pytest.raises(ValueError, match=sentence):
        read_page(page)


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (b"\x1b[2Jno\n", "is no page of metrics: line 1 is no sample of Prometheus: \\x1b[2Jno"),
        (
            b"n" * 100 + b"!\n",
            f"is no page of metrics: line 1 is no sample of Prometheus: {'n' * 39}…",
        ),
        (b'{"status": 403, "error": "\\u001b[2J\\nno"}', "has no metrics: Jolokia answered \\x1b[2J no"),
        (b'{"status": 403, "error": "%s"}' % (b"n" * 300), f"has no metrics: Jolokia answered {'n' * 199}…"),
    ],
    ids=["line", "long line", "error", "long error"],
)
def test_quoted_text_is_printable_and_cut(page: bytes, sentence: str) -> None:
    """A terminal would act on control characters."""
    with pytest.raises(ValueError, match="no") as refused:
        read_page(page)
    assert str(refused.value) == sentence


@given(st.integers(min_value=1, max_value=len(PAGE) - 1))
def test_half_a_page_is_refused_or_counts_less(size: int) -> None:
    """A page that was cut in a line is refused; one that was cut after a line never counts more."""
    cut = PAGE[:size]
    if cut.endswith(b"\n"):
        assert read_page(cut) <= read_page(PAGE)
    else:
        with pytest.raises(ValueError, match="middle of a line"):
            read_page(cut)


def observed_in(tmp_path: Path, page: bytes) -> tuple[ObservedRequests, list[str]]:
    """Return what a page in a file becomes, and the sentences about it."""
    file = tmp_path / "page"
    file.write_bytes(page)
    observed = ObservedRequests()
    return observed, read_metrics([str(file)], observed)


def test_software_and_all_programs_have_rows(tmp_path: Path) -> None:
    """What is counted with its software counts once; brokers, their fetches and ApiVersions count for no program."""
    observed, sentences = observed_in(tmp_path, PAGE)
    assert observed.requests(ALL_OLD) == {(2, 0): 1}
    assert observed.requests(ALL_UNNAMED) == {(32, 0): 2}
    assert observed.requests(ALL) == {(1, 16): 2}
    assert set(observed.clients) == {ALL, ALL_OLD, ALL_UNNAMED}
    assert {*LIMITS, BROKERS_LEFT_OUT} == set(sentences)


def test_deprecated_fetch_counts_once(tmp_path: Path) -> None:
    """Brokers count each one under the name of its sender and under that of the API."""
    labels = 'name="DeprecatedRequestsPerSec",version="3",clientSoftwareName="old",clientSoftwareVersion="0.1"'
    names = {"Fetch": 5, "FetchConsumer": 2, "FetchFollower": 3}
    page = "".join(f'a{{{labels},request="{name}"}} {times}\n' for name, times in names.items())
    observed, _ = observed_in(tmp_path, page.encode())
    assert observed.requests(ALL_OLD) == {(1, 3): 2}


ALL_LISTED = b'a{name="RequestsPerSec",request="ListOffsets",version="0"} 4\n'
DEPRECATED = b'a{name="DeprecatedRequestsPerSec",request="ListOffsets",version="0"} 4\n'
WITH_SOFTWARE = DEPRECATED.replace(b"}", b',clientSoftwareName="old",clientSoftwareVersion="0.1"}')


@pytest.mark.parametrize(
    ("page", "client"),
    [
        (ALL_LISTED + DEPRECATED, ALL),
        (DEPRECATED, ALL),
        (ALL_LISTED + DEPRECATED + WITH_SOFTWARE, ALL_OLD),
    ],
    ids=["in two metrics", "in that of deprecated ones alone", "once with its software"],
)
def test_deprecated_request_without_software_counts_once(tmp_path: Path, page: bytes, client: ClientIdentity) -> None:
    """A rule of an exporter may leave out the labels of the software."""
    observed, _ = observed_in(tmp_path, page)
    assert {each: observed.requests(each) for each in observed.clients} == {client: {(2, 0): 4}}


@pytest.mark.parametrize("new_name", [False, True], ids=["before 4.1", "since 4.1"])
def test_old_name_of_list_config_resources_counts_once(tmp_path: Path, new_name: bool) -> None:
    """Brokers with the new name count v0 under both; older ones under the old one alone."""
    names = ["ListClientMetricsResources"] + ["ListConfigResources"] * new_name
    observed, sentences = observed_in(
        tmp_path, "".join(f'requests{{request="{name}",version="0"}} 4\n' for name in names).encode()
    )
    assert observed.requests(ALL) == {(74, 0): 4}
    assert set(sentences) == set(LIMITS)


def test_pages_of_several_brokers_add_up(tmp_path: Path) -> None:
    """Each broker counts its own requests."""
    file = tmp_path / "page"
    file.write_bytes(PAGE)
    observed = ObservedRequests()
    read_metrics([str(file), str(file)], observed)
    assert observed.requests(ALL_OLD) == {(2, 0): 2}


def test_newer_version_of_another_broker_proves_nothing(tmp_path: Path) -> None:
    """While a cluster is upgraded, a program uses less with the older brokers, and knows more."""
    old, new = tmp_path / "old", tmp_path / "new"
    for page, version in ((old, 0), (new, 7)):
        page.write_text(f'requests{{request="ListOffsets",version="{version}"}} 1\n')
    observed = ObservedRequests()
    read_metrics([str(old), str(new)], observed)
    assert predict(observed, ALL, {}, release_named("apache-kafka-4.4.0")).outcome is PredictedOutcome.CANNOT_SAY


def test_named_software_asks_for_versions(tmp_path: Path) -> None:
    """A client that asks for versions introduces itself; nothing is known of other programs."""
    observed, _ = observed_in(tmp_path, PAGE)
    assert [observed.asks(each) for each in (ALL_OLD, ALL_UNNAMED, ALL)] == [True, None, None]


@pytest.mark.parametrize(
    ("requests", "outcome"),
    [
        ([("ListOffsets", 0, 1), ("ListOffsets", 7, 1)], PredictedOutcome.BREAKS),
        ([("ListOffsets", 0, 1)], PredictedOutcome.CANNOT_SAY),
        ([("ListOffsets", 7, 1)], PredictedOutcome.SERVED),
        ([("OffsetForLeaderEpoch", 1, 1), ("WriteTxnMarkers", 0, 1), ("Produce", 9, 1)], PredictedOutcome.SERVED),
        ([("ElectPreferredLeaders", 0, 1)], PredictedOutcome.SERVED),
    ],
)
def test_each_version_of_all_programs_is_judged_by_itself(
    tmp_path: Path, requests: list[tuple[str, int, int]], outcome: PredictedOutcome
) -> None:
    """A broker that served a newer version listed it, so the program that sent the old one knows no newer one."""
    page = "".join(f'requests{{request="{name}",version="{version}"}} {n}\n' for name, version, n in requests)
    observed, _ = observed_in(tmp_path, page.encode())
    assert predict(observed, ALL, {}, release_named("apache-kafka-4.4.0")).outcome is outcome


def test_deprecated_version_has_a_newer_one(tmp_path: Path) -> None:
    """Software that sends it breaks, although no newer version was seen."""
    observed, _ = observed_in(tmp_path, PAGE)
    predicted = predict(observed, ALL_UNNAMED, {}, release_named("apache-kafka-4.0.2"))
    assert predicted.outcome is PredictedOutcome.BREAKS
    assert predicted.decisions[0].sentence == (
        "DescribeConfigs v0 is refused since 4.0; the client knows no newer one: it used v0, "
        "and the watched broker serves v1"
    )


def test_unknown_api_is_named(tmp_path: Path) -> None:
    """An API of a newer release may have the name."""
    _, sentences = observed_in(tmp_path, b'requests{request="Fly",version="0"} 4\n')
    assert sentences[-1] == "requests left out because no release of Kafka has an API of that name: Fly"
    _, sentences = observed_in(tmp_path, b'requests{request="\x1b[2J%s",version="0"} 4\n' % (b"n" * 99))
    assert sentences[-1].endswith(f": \\x1b[2J{'n' * 32}…")


def test_unknown_apis_are_one_sentence(tmp_path: Path) -> None:
    """Five of them have their names in it."""
    page = "".join(f'requests{{request="Fly{number}",version="0"}} 4\n' for number in range(99))
    _, sentences = observed_in(tmp_path, page.encode())
    assert len(sentences) == len(LIMITS) + 1
    assert sentences[-1].endswith("has an API of that name: Fly0, Fly1, Fly2, Fly3, Fly4 and 94 more")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (b"up 1\n", "counts no requests: it lacks RequestsPerSec"),
        (b"", "counts no requests"),
        (b"<html>\n", "is no page of metrics"),
        (None, "cannot read the metrics .*: No such file or directory"),
    ],
)
def test_unusable_file_is_one_sentence(tmp_path: Path, page: bytes | None, sentence: str) -> None:
    file = tmp_path / "page"
    if page is not None:
        file.write_bytes(page)
    with pytest.raises(UnusableSource, match=sentence) as refused:
        read_metrics([str(file)], ObservedRequests())
    assert refused.value.exit_code == 4
    assert "\n" not in refused.value.message


def test_large_page_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_PAGE_BYTES", 100)
    with pytest.raises(UnusableSource, match=r"is larger than 0 MiB; leave out .* grep -i RequestMetrics"):
        observed_in(tmp_path, PAGE)


Answer = Callable[[BaseHTTPRequestHandler], None]


@contextlib.contextmanager
def web_server(answer: Answer) -> Iterator[str]:
    """Serve HTTP on loopback, and yield the address."""

    class PageHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), PageHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def served(
    page: bytes, *, status: int = 200, announced: int | None = None, encoding: str = "identity", stalls: bool = False
) -> Answer:
    """Return an answer with a page, which may be shorter than it announces, and then stall until the client leaves."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(announced or len(page)))
        handler.send_header("Content-Encoding", encoding)
        handler.end_headers()
        handler.wfile.write(page)
        if stalls:
            handler.rfile.read(1)

    return answer


def test_page_is_fetched() -> None:
    """From the address that Prometheus is given."""
    observed = ObservedRequests()
    with web_server(served(PAGE)) as address:
        read_metrics([f"{address}/metrics"], observed)
    assert set(observed.clients) == {ALL, ALL_OLD, ALL_UNNAMED}


def test_jolokia_is_asked_for_requests_alone() -> None:
    """Its base address will do."""
    asked: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        served(json.dumps(JOLOKIA).encode())(handler)

    observed = ObservedRequests()
    with web_server(answer) as address:
        read_metrics([f"{address}/jolokia/"], observed)
    assert asked == ["/jolokia/read/kafka.network:type=RequestMetrics,name=*RequestsPerSec,*"]
    assert observed.requests(ALL) == {(0, 9): 4}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (served(b"", status=503), "it answered with status 503"),
        (served(PAGE, announced=len(PAGE) + 1), "the page ended too early"),
        (served(PAGE, encoding="gzip"), "it cannot be fetched"),
    ],
)
def test_unusable_address_is_one_sentence(answer: Answer, sentence: str) -> None:
    """The sentence has no password."""
    with (
        web_server(answer) as address,
        pytest.raises(UnusableSource, match=sentence) as refused,
    ):
        read_metrics([address.replace("//", "//user:secret@")], ObservedRequests())
    assert "secret" not in refused.value.message


def test_slow_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is over long before its end comes."""
    monkeypatch.setattr(metrics, "READ_LIMIT_S", 0.0)
    monkeypatch.setattr(metrics, "SILENCE_LIMIT_S", 1.0)
    answer = served(PAGE, announced=metrics.MAX_PAGE_BYTES, stalls=True)
    with web_server(answer) as address, pytest.raises(UnusableSource, match="takes longer than 0 s"):
        read_metrics([address], ObservedRequests())


@pytest.mark.parametrize("begins", [False, True], ids=["in the head", "in the page"])
def test_time_is_over_however_slowly_bytes_come(monkeypatch: pytest.MonkeyPatch, begins: bool) -> None:
    """Each byte comes before the limit for silence, also inside a line of the head."""
    monkeypatch.setattr(metrics, "READ_LIMIT_S", 0.2)
    is_over = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        if begins:
            served(b"", announced=10_000)(handler)
        with contextlib.suppress(OSError):
            while not is_over.wait(0.02):
                handler.wfile.write(b"#")

    with web_server(drip) as address:
        try:
            with pytest.raises(UnusableSource, match=r"takes longer than 0\.2 s; fetch the page into a file"):
                read_metrics([address], ObservedRequests())
        finally:
            is_over.set()


def test_page_that_stalls_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something answers there, but not to the end."""
    monkeypatch.setattr(metrics, "SILENCE_LIMIT_S", 0.05)
    answer = served(PAGE, announced=len(PAGE) + 1, stalls=True)
    sentence = r"it sent nothing for 0\.05 s in the middle of the page"
    with web_server(answer) as address, pytest.raises(UnusableSource, match=sentence):
        read_metrics([address], ObservedRequests())


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("http://127.0.0.1:1/metrics", "nothing answers there"),
        ("http://", "it is no address of a web page"),
        ("http://user:secret@[::1", "it is no address"),
    ],
)
def test_address_without_a_page_is_one_sentence(address: str, sentence: str) -> None:
    """Whether nothing listens there, or it is no address."""
    with pytest.raises(UnusableSource, match=sentence) as refused:
        read_metrics([address], ObservedRequests())
    assert "secret" not in refused.value.message
