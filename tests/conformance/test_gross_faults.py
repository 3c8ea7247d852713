"""Gross faults: a broker that gets the simplest things wrong is red there, and still judged elsewhere."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable

import pytest

from fixtures.client.patience import Patience
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker.kip_511 import has_refused_name
from reference_model.faults.broker.registry import replace_reaction, replace_response, succeeds
from tests.conformance.in_memory_runs import broker_with, outcomes, properties_of_a_run
from wire.api_keys import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame

CLAUSE_ID = re.compile(r"[A-Z]+(?:-\d+)?\.[a-z0-9-]*[a-z0-9]")
V0 = "KIP-35.v0-always-served"
ECHOED = "PROTOCOL.correlation-id-echoed"
SERVED = "KIP-35.every-advertised-version-served"
IN_V0 = "KIP-511.unsupported-version-answered-in-v0"
HALF_CLOSE = "PROTOCOL.half-close-answers-complete"
IN_ORDER = "PROTOCOL.answers-in-order"
VARINTS = "KIP-482.varint-limits"
AGREES = "MODEL.agrees-with-reference"
MODEL = (AGREES, "MODEL.sequence-agrees")
REFUSED = ("KIP-35.negative-version-gives-35", "KIP-35.unknown-version-gives-35")
IDS_OF_CLUSTER = (
    "KIP-1242.both-match",
    "KIP-1242.neither-given",
    "KIP-1242.older-versions-unchecked",
    "KIP-1242.only-one-given",
)


def _change_ids(change: Callable[[bytes], bytes]) -> Tampering:
    def act(context: RequestContext) -> None:
        if context.answer:
            own = context.answer[SIZE_BYTES : SIZE_BYTES + 4]
            context.answer = encode_frame(change(own) + context.answer[SIZE_BYTES + 4 :])

    return Tampering(stage=Stage.ANSWER, act=act)


def _close_on(versions: Callable[[int], bool]) -> Tampering:
    def act(context: RequestContext) -> None:
        header = context.header
        if header and header.api_key == API_VERSIONS_KEY and versions(header.api_version):
            replace_reaction(context, outcome=Outcome.CLOSED)

    return Tampering(stage=Stage.REACTION, act=act)


def _change_answer(change: Callable[[bytes], bytes]) -> Tampering:
    def act(context: RequestContext) -> None:
        if context.answer:
            context.answer = change(context.answer)

    return Tampering(stage=Stage.ANSWER, act=act)


def _respond_with(**changes: object) -> Tampering:
    def act(context: RequestContext) -> None:
        if context.response is not None:
            replace_response(context, **changes)

    return Tampering(stage=Stage.RESPONSE, act=act)


def _in_layout(layout: int, only: Callable[[int], bool]) -> Tampering:
    def act(context: RequestContext) -> None:
        if context.response is not None and only(context.reaction.response_version):
            context.answer = context.encode_answer(layout=layout)

    return Tampering(stage=Stage.ANSWER, act=act)


def _flexible_header() -> Tampering:
    def act(context: RequestContext) -> None:
        if context.response is not None and context.reaction.response_version >= 3:
            context.answer = context.encode_answer(header_version=1)

    return Tampering(stage=Stage.ANSWER, act=act)


def _close_on_refused_names() -> Tampering:
    def act(context: RequestContext) -> None:
        if context.reaction.error_code is ErrorCode.INVALID_REQUEST and has_refused_name(context):
            replace_reaction(context, outcome=Outcome.CLOSED)

    return Tampering(stage=Stage.REACTION, act=act)


def _close_on_second_table() -> Tampering:
    def act(context: RequestContext) -> None:
        if succeeds(context):
            if context.connection.memory.get("served"):
                replace_reaction(context, outcome=Outcome.CLOSED)
            context.connection.memory["served"] = True

    return Tampering(stage=Stage.REACTION, act=act)


FAULTS: dict[str, tuple[Tampering, set[str], int]] = {
    "ids-have-16-bits": (_change_ids(lambda own: bytes(2) + own[2:]), {AGREES, ECHOED}, 0),
    "ids-are-zero": (_change_ids(lambda own: bytes(4)), {*MODEL, ECHOED}, 3),
    "v0-closes": (_close_on(lambda version: version == 0), {*MODEL, V0}, 25),
    "only-v3": (
        _close_on(lambda version: version != 3),
        {*MODEL, *REFUSED, V0, SERVED, VARINTS},
        38,
    ),
    "only-v0": (
        _close_on(lambda version: version != 0),
        {*MODEL, *REFUSED, SERVED, VARINTS, IN_ORDER, "KIP-482.tag-order-in-requests"},
        41,
    ),
    "every-version-closes": (_close_on(lambda version: True), {*MODEL, V0}, 62),
    "a-surplus-byte": (
        _change_answer(lambda sent: encode_frame(sent[SIZE_BYTES:] + b"\0")),
        {*MODEL, "PROTOCOL.size-prefix-exact", SERVED, IN_V0},
        4,
    ),
    "a-byte-short": (
        _change_answer(lambda sent: encode_frame(sent[SIZE_BYTES:-1])),
        {*MODEL, V0},
        56,
    ),
    "sizes-one-too-small": (
        _change_answer(lambda sent: (len(sent) - SIZE_BYTES - 1).to_bytes(4) + sent[SIZE_BYTES:]),
        {*MODEL, *IDS_OF_CLUSTER, V0, HALF_CLOSE, IN_ORDER},
        57,
    ),
    "sizes-one-too-large": (
        _change_answer(lambda sent: (len(sent) - SIZE_BYTES + 1).to_bytes(4) + sent[SIZE_BYTES:]),
        {*MODEL, V0, "KIP-1242.refusal-shape"},
        61,
    ),
    "sizes-that-count-themselves": (
        _change_answer(lambda sent: len(sent).to_bytes(4) + sent[SIZE_BYTES:]),
        {
            *MODEL,
            V0,
            "KIP-1242.older-versions-unchecked",
            "KIP-1242.only-one-given",
            "KIP-1242.refusal-shape",
        },
        60,
    ),
    "flexible-headers": (_flexible_header(), {AGREES, "KIP-511.response-header-fixed"}, 36),
    "refused-names-close": (_close_on_refused_names(), {*MODEL, "KIP-511.names-refused"}, 4),
    "one-table-per-connection": (
        _close_on_second_table(),
        {*MODEL, IN_ORDER, "PROTOCOL.well-formed-never-closed"},
        11,
    ),
    "sizes-little-endian": (
        _change_answer(lambda sent: sent[:SIZE_BYTES][::-1] + sent[SIZE_BYTES:]),
        {*MODEL, V0},
        62,
    ),
    "35-to-everything": (
        _respond_with(error_code=ErrorCode.UNSUPPORTED_VERSION),
        {*MODEL, V0},
        16,
    ),
    "an-empty-table": (
        _respond_with(api_keys=()),
        {
            *MODEL,
            V0,
            "KIP-35.table-lists-itself",
            "KIP-511.unsupported-version-names-range",
        },
        4,
    ),
    "v0-in-the-flexible-layout": (
        _in_layout(3, lambda layout: layout == 0),
        {AGREES, V0, IN_V0},
        19,
    ),
    "everything-in-v0": (
        _in_layout(0, lambda layout: layout > 0),
        {AGREES, SERVED, "KIP-511.v3-body-flexible"},
        22,
    ),
}
"""Each fault, with the clauses that turn red, and how many are inconclusive.

Here every property is tried. In a run, only V0 is judged if no table can be read.
"""
IN_EVERY_RUN = (
    "ids-are-zero",
    "v0-closes",
    "a-surplus-byte",
    "everything-in-v0",
    "sizes-one-too-large",
    "flexible-headers",
    "refused-names-close",
    "one-table-per-connection",
)
"""One for each way in which a broker gets something wrong."""


@functools.cache
def _judged(name: str) -> tuple[set[str], dict[str, str]]:
    red: set[str] = set()
    grey: dict[str, str] = {}
    broker = broker_with(FAULTS[name][0], patience=Patience(math.inf))
    for judged, outcome in outcomes(broker, properties_of_a_run()):
        if outcome is True:
            red.update(judged.clauses)
        elif outcome:
            grey.update(dict.fromkeys(judged.clauses, str(outcome)))
    return red, grey


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in IN_EVERY_RUN else pytest.mark.slow) for name in FAULTS],
)
def test_a_gross_fault_is_red_at_its_clauses(name: str) -> None:
    """The red clauses are as expected, and each clause that cannot be judged names a red one."""
    _, expected, inconclusive = FAULTS[name]
    red, grey = _judged(name)
    assert red == expected
    assert len(grey) == inconclusive
    for reason in grey.values():
        assert set(CLAUSE_ID.findall(reason)) & red, reason
