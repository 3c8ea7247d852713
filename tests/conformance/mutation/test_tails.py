"""The rare values that a standard run sends: how they are found in examples, and that every run has them."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.mutation.properties import Property, Values, all_properties
from conformance.mutation.tails import DIMENSIONS, Pipeline, values_of
from strategies.api_versions import UnservedRequest, build_request
from strategies.broken_requests import build_with_compact_client_id, build_with_old_header
from strategies.cluster_ids import Ids
from strategies.conversations import PlainToken, Reconnect, Say
from strategies.odd_frames import build_cut_short
from strategies.software_names import Software
from tests.conformance.mutation.test_score import reach
from wire.primitives import TaggedField

TAG = TaggedField(2**31, bytes(128))
CUT = build_cut_short(build_request(version=0), 12)
LIBRDKAFKA = Software("librdkafka", "2.16.0")


@pytest.mark.parametrize(
    ("example", "found"),
    [
        ({"sent": build_request(version=-3)}, ("version", -3)),
        ({"sent": build_request(version=0, correlation_id=-1)}, ("correlation id", -1)),
        ({"sent": build_request(version=0, client_id=None)}, ("client id", None)),
        ({"sent": build_request(version=3, software=LIBRDKAFKA)}, ("software", LIBRDKAFKA)),
        ({"sent": build_request(version=3, header_tags=(TAG,))}, ("tag in the header", TAG)),
        ({"sent": build_request(version=3, body_tags=(TAG,))}, ("tag in the body", TAG)),
        ({"sent": build_request(version=5, node_id=256)}, ("node id", 256)),
        ({"sent": build_request(version=3, trailing=b"abc")}, ("trailing bytes", 3)),
        ({"sent": build_with_compact_client_id(3, "a")}, ("compact client id", "a")),
        ({"refused": Software("a b", "1")}, ("software", Software("a b", "1"))),
        ({"ids": Ids("a", 7)}, ("node id", 7)),
        (
            {"drawn": UnservedRequest(distance=256)},
            ("distance above the highest version", 256),
        ),
        ({"variant": "empty", "offset": 0}, ("cluster id", "empty")),
        ({"variant": "another", "offset": 257}, ("node id", 257)),
        ({"versions": [3, 99]}, ("version", 99)),
        ({"client_id": "a", "version": 3}, ("client id", "a")),
        ({"versions": [0, 3], "ids": 1}, ("pipeline", Pipeline(2, 1))),
        ({"versions": [0, 3]}, ("requests of a connection", 2)),
        ({"version": 3, "pauses_ms": [310]}, ("pause in ms", 310)),
        ({"unused": 30, "unfinished": 0, "served": 0}, ("other connections", 30)),
        ({"versions": [], "part": None, "resets": True}, ("reset", True)),
        ({"sent": CUT}, ("cut request", CUT.data)),
        (
            {"conversation": (Say(messages=(CUT, PlainToken())),)},
            ("write", (CUT, PlainToken())),
        ),
        (
            {"conversation": (Reconnect(), Say(messages=(build_request(version=7),)))},
            ("version", 7),
        ),
    ],
)
def test_values_are_found_in_examples(example: Values, found: tuple[str, Any]) -> None:
    """Requests in lists and conversations have values, and parameters of which a property makes requests."""
    assert found in list(values_of(example))
    assert {dimension for dimension, _ in values_of(example)} <= set(DIMENSIONS)


@pytest.mark.parametrize(
    ("example", "missing"),
    [
        ({"sent": build_request(version=2, software=LIBRDKAFKA)}, "software"),
        ({"sent": build_request(version=2, header_tags=(TAG,))}, "tag in the header"),
        ({"sent": build_request(version=2, body_tags=(TAG,))}, "tag in the body"),
        ({"sent": build_request(version=4, node_id=256)}, "node id"),
        ({"sent": build_with_old_header(3)}, "client id"),
        ({"kept": 300}, "version"),
    ],
)
def test_what_a_request_does_not_carry_does_not_count(example: Values, missing: str) -> None:
    """A version has no more than its fields, and the bytes of a malformed request are not what is meant."""
    assert missing not in [dimension for dimension, _ in values_of(example)]


@pytest.mark.parametrize("judged", all_properties().values(), ids=lambda each: each.name)
def test_every_value_of_a_property_has_a_dimension_that_fits(judged: Property) -> None:
    """The conditions of the tails can be asked of all values of its pinned and drawn examples."""
    examples = [*judged.pinned]
    judged.draw(examples.append, seed=1, count=2)
    for example in examples:
        for dimension, value in values_of(example):
            assert {holds(value) for holds in DIMENSIONS[dimension].values()} <= {True, False}


def test_a_tail_is_certain_if_every_run_reaches_it() -> None:
    """Several properties make up for each other's seeds, and a pinned example for all."""
    assert reach(first={1, 2}, second={3}).is_certain
    assert reach(first={1, 2}, second={2}).reached_seeds == 2
    assert not reach(first={1, 2}, second={2}).is_certain
    assert not reach().is_certain
    assert reach(pinned=("first",)).is_certain
