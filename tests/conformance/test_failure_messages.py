"""A failure's first line says where the input stood and what was wrong.

The second line says what the input was.

What is wrong with a bean or a log entry about a software has words of its own.
"""

from __future__ import annotations

import json
import math
from inspect import signature
from pathlib import Path
from typing import Any, cast

import pytest

from conformance.assertions.client_software import (
    FURTHER_VALUES,
    NO_COUNT,
    NO_ENTRY,
    NO_PROCESSOR,
    NOT_IN_THE_FIELD,
    OTHER_KEYS,
    OTHER_LISTENER,
    OTHER_SOFTWARE,
    OTHER_TYPE,
    SOFTWARE_NOT_NAMED,
    bean_problem,
)
from conformance.assertions.errors import Unjudged, violation_context
from conformance.brokers import test_software_metrics as metrics
from conformance.mutation.properties import all_properties
from conformance.mutation.subjects import broker_with
from fixtures.errors import HarnessError
from fixtures.kafka_setup.jolokia import ConnectionsBean, counts_of
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from strategies.field_values import Software
from strategies.histories import ALONE
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from strategies.odd_requests import build_with_client_id_bytes, build_with_tags

NAMED = Software("c.1", "1.0")
AS_TEXT = (
    "Completed request:RequestHeader(apiKey=METADATA, clientId=client-1) -- {{}},"
    "clientInformation:ClientInformation(softwareName={}, softwareVersion={})\n"
)
AS_JSON = (
    'Completed request:{{"requestHeader":{{"clientId":"client-1"}},'
    '"clientInformation":{{"softwareName":"{}","softwareVersion":"{}"}}}}\n'
)
OUT_OF_ORDER = build_with_tags(3, "header", (101, 100))
NOT_UTF_8 = build_with_client_id_bytes(0, b"\x00\x02\xffa")


def request_naming(name: str, version: str) -> Any:
    """Return a v3 request of a client software."""
    return build_request(version=3, software=Software(name, version))


@pytest.mark.parametrize(
    ("defect", "judged", "sent", "first_line", "value"),
    [
        (
            "dots-in-names-are-refused",
            "test_legal_name_is_accepted",
            request_naming("a.b", "1"),
            "a legal software name and version: the response has the error INVALID_REQUEST, and not NONE",
            json.dumps({"name": "a.b", "version": "1"}),
        ),
        (
            "names-are-not-checked",
            "test_illegal_name_is_refused",
            request_naming("a", "é"),
            "an illegal software version: the response has the error NONE, and not INVALID_REQUEST",
            json.dumps({"name": "a", "version": "é"}),
        ),
        (
            "names-may-begin-with-a-hyphen",
            "test_punctuation_at_an_edge_is_refused",
            request_naming("-a", "1"),
            "an illegal software name: the response has the error NONE, and not INVALID_REQUEST",
            json.dumps({"name": "-a", "version": "1"}),
        ),
        (
            "trailing-bytes-shorten-the-table",
            "test_trailing_bytes_are_ignored",
            build_request(version=0, trailing=b"\x01\x02"),
            "bytes after the body: the response differs from that without them",
            "0102",
        ),
        (
            "client-ids-have-to-be-utf-8",
            "test_odd_client_id_does_not_change_the_answer",
            NOT_UTF_8,
            "odd client id: the target closed the connection instead of answering",
            NOT_UTF_8.data.hex(),
        ),
        (
            "tags-in-headers-have-to-ascend",
            "test_tags_out_of_order_go_as_pinned",
            OUT_OF_ORDER,
            "tags out of order in the header: Apache Kafka's response is",
            OUT_OF_ORDER.data.hex(),
        ),
    ],
)
def test_a_failure_names_place_and_input(defect: str, judged: str, sent: Any, first_line: str, value: str) -> None:
    """Declarations can tell one input from another that fails in the same way."""
    broker = broker_with(defect)
    broker.begin_example()
    body = all_properties()[judged].body
    history = {"history": ALONE} if "history" in signature(body).parameters else {}
    with assumptions_outside_hypothesis(), pytest.raises(AssertionError) as failed:
        body(broker=broker, sent=sent, **history)
    first, second, *_ = str(failed.value).split("\n")
    assert first.startswith(first_line)
    assert second == value


def test_the_input_stands_between_the_first_line_and_the_details() -> None:
    """The exception keeps its type, because it decides how the failure is judged."""
    with pytest.raises(Unjudged) as failed, violation_context("a place", "an input"):
        raise Unjudged("what is wrong\nits details\nand more")
    assert str(failed.value) == "a place: what is wrong\nan input\nits details\nand more"


class _Alive:
    """A target that runs."""

    def check_alive(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        ("", NO_ENTRY),
        ("a request of somebody else, c.1\n", NO_ENTRY),
        ("a request of client-1\n", SOFTWARE_NOT_NAMED),
        ("a request of client-1 with c.1\n", NOT_IN_THE_FIELD),
        (AS_TEXT.format("c.1", "1.0"), ""),
        (AS_JSON.format("c.1", "1.0"), ""),
        (AS_TEXT.format("c.1", "unknown"), OTHER_SOFTWARE),
        (AS_JSON.format("c.10", "1.0"), OTHER_SOFTWARE),
    ],
)
def test_a_missing_log_entry_is_another_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, problem: str
) -> None:
    """A log without the request's entry is not excused as one that does not name the software."""
    monkeypatch.setattr(metrics, "SLOWEST_LOG_S", 0)
    path = tmp_path / "requests.log"
    path.write_text(log)
    broker = cast("Broker", _Alive())
    found = metrics.log_problem(broker, path, "client-1", NAMED)
    assert found.partition("\n")[0] == problem


SOFTWARE = "kafka.server:clientSoftwareName=a,clientSoftwareVersion=1"
ONE = {"connections": 1}


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ("listener=SSL,networkProcessor=2,type=socket-server-metrics", ""),
        ("networkProcessor=2,type=socket-server-metrics", OTHER_KEYS),
        ("listener=SSL,type=socket-server-metrics", OTHER_KEYS),
        ("listener=SSL,networkProcessor=2", OTHER_KEYS),
        ("listener=SSL,networkProcessor=2,port=1,type=socket-server-metrics", OTHER_KEYS),
        ("listener=PLAINTEXT,networkProcessor=2,type=socket-server-metrics", OTHER_LISTENER),
        ("listener=SSL,networkProcessor=first,type=socket-server-metrics", NO_PROCESSOR),
        ("listener=SSL,networkProcessor=2,type=socket-metrics", OTHER_TYPE),
    ],
)
def test_bean_has_the_name_of_the_kip(rest: str, problem: str) -> None:
    """A bean with another name is a violation, which shows the name."""
    bean = f"{SOFTWARE},{rest}"
    found = bean_problem(ConnectionsBean(bean=bean, attributes=ONE), "ssl")
    assert found == (f"{problem}\n{bean} {ONE}" if problem else "")


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"connections": 1}, ""),
        ({"connections": 0.0}, ""),
        ({}, NO_COUNT),
        ({"connection-count": 1}, NO_COUNT),
        ({"connections": 1.5}, NO_COUNT),
        ({"connections": "1"}, NO_COUNT),
        ({"connections": True}, NO_COUNT),
        ({"connections": math.nan}, NO_COUNT),
        ({"connections": {"current": 1, "highest": 1}}, NO_COUNT),
        ({"connections": 1, "connections-total": 1}, FURTHER_VALUES),
    ],
)
def test_bean_has_the_single_value_of_the_kip(attributes: dict[str, Any], problem: str) -> None:
    """A bean with another value than one number of connections is a violation, which shows its values."""
    bean = f"{SOFTWARE},listener=SSL,networkProcessor=2,type=socket-server-metrics"
    found = bean_problem(ConnectionsBean(bean=bean, attributes=attributes), "ssl")
    assert found == (f"{problem}\n{bean} {attributes}" if problem else "")


def test_beans_without_a_count_are_judged_by_their_own_clause() -> None:
    """Where connections cannot be counted, a clause about something else is not violated."""
    bean = ConnectionsBean(bean=SOFTWARE, attributes={"connection-count": 1})
    with pytest.raises(HarnessError, match=r"judged by KIP-511\.connections-metric"):
        counts_of([bean], listener="ssl")


def test_gauges_are_summed_over_network_threads() -> None:
    """A gauge without a listener in its name counts for the listener that is judged; zeros are left out."""
    names = ("listener=SSL,networkProcessor=1", "listener=SSL,networkProcessor=2", "type=x")
    gauges = [ConnectionsBean(bean=f"{SOFTWARE},{name}", attributes=ONE) for name in names]
    unused = ConnectionsBean(bean=f"{SOFTWARE},listener=PLAINTEXT", attributes={"connections": 0})
    assert counts_of([*gauges, unused], listener="ssl") == {("ssl", "1"): 3}
