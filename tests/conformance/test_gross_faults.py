"""Gross faults: a broker that gets the simplest things wrong is red there, and still judged elsewhere."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.client.patience import Patience
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker.registry import replace_reaction, replace_response
from tests.conformance.in_memory_runs import broker_with, outcomes, properties_of_a_run
from wire.api_keys import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame

EXPECTED = Path(__file__).with_name("gross_faults.json")
"""The exact red and inconclusive clauses of each fault."""
CLAUSE_ID = re.compile(r"[A-Z]+(?:-\d+)?\.[a-z0-9-]*[a-z0-9]")
V0 = "KIP-35.v0-always-served"
ECHOED = "PROTOCOL.correlation-id-echoed"
EXACT = "PROTOCOL.size-prefix-exact"
LISTS_ITSELF = "KIP-35.table-lists-itself"
SERVED = "KIP-35.every-advertised-version-served"


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


FAULTS: dict[str, tuple[Tampering, set[str]]] = {
    "ids-have-16-bits": (_change_ids(lambda own: bytes(2) + own[2:]), {ECHOED}),
    "ids-are-zero": (_change_ids(lambda own: bytes(4)), {ECHOED}),
    "ids-are-swapped": (_change_ids(lambda own: own[::-1]), {ECHOED}),
    "ids-count-on": (
        _change_ids(lambda own: ((int.from_bytes(own) + 1) % 2**32).to_bytes(4)),
        {ECHOED},
    ),
    "v0-closes": (_close_on(lambda version: version == 0), {V0}),
    "only-v3": (_close_on(lambda version: version != 3), {V0}),
    "only-v0": (_close_on(lambda version: version != 0), {SERVED}),
    "every-version-closes": (_close_on(lambda version: True), {V0}),
    "a-surplus-byte": (
        _change_answer(lambda sent: encode_frame(sent[SIZE_BYTES:] + b"\0")),
        {EXACT},
    ),
    "a-byte-short": (_change_answer(lambda sent: encode_frame(sent[SIZE_BYTES:-1])), {V0}),
    "sizes-one-too-small": (
        _change_answer(lambda sent: (len(sent) - SIZE_BYTES - 1).to_bytes(4) + sent[SIZE_BYTES:]),
        {V0},
    ),
    "sizes-little-endian": (
        _change_answer(lambda sent: sent[:SIZE_BYTES][::-1] + sent[SIZE_BYTES:]),
        {V0},
    ),
    "35-to-everything": (_respond_with(error_code=ErrorCode.UNSUPPORTED_VERSION), {V0}),
    "42-to-everything": (_respond_with(error_code=ErrorCode.INVALID_REQUEST), {V0}),
    "an-empty-table": (_respond_with(api_keys=()), {V0, LISTS_ITSELF}),
    "v0-in-the-flexible-layout": (_in_layout(3, lambda layout: layout == 0), {V0}),
    "everything-in-v0": (_in_layout(0, lambda layout: layout > 0), {"KIP-511.v3-body-flexible"}),
}
"""Each fault, with clauses that must turn red whatever else it causes."""


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


@pytest.mark.parametrize("name", FAULTS)
def test_a_gross_fault_is_red_at_its_clauses(name: str) -> None:
    """The red clauses are as expected, and each clause that cannot be judged names a red one."""
    red, grey = _judged(name)
    assert FAULTS[name][1] <= red
    expected = json.loads(EXPECTED.read_text())[name]
    assert {"red": sorted(red), "inconclusive": sorted(grey)} == expected
    for reason in grey.values():
        assert set(CLAUSE_ID.findall(reason)) & red, reason
