"""A broker with a gross fault is red there and still judged elsewhere.

A silent defect does not change the verdicts of other properties.

Waiting is simulated: in memory a silence takes no time, but uses up patience as it would over TCP.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping

import pytest

from clauses.tiers import Tier
from fixtures.client.patience import PATIENCE_S, Patience
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker import DEFECTS
from reference_model.faults.broker.kip_511 import has_refused_name
from tests.conformance.in_memory_runs import broker_with, outcomes, properties_of_a_run
from wire.api_keys import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame

CLAUSE_ID = re.compile(r"[A-Z]+(?:-\d+)?\.[a-z0-9-]*[a-z0-9]")
V0 = "KIP-35.v0-always-served"
SERVED = "KIP-35.every-advertised-version-served"
AGREES = "MODEL.agrees-with-reference"
MODEL = (AGREES, "MODEL.sequence-agrees")


def _changed(change: Callable[[bytes], bytes]) -> Callable[[RequestContext], None]:
    def act(context: RequestContext) -> None:
        if context.answer:
            context.answer = change(context.answer)

    return act


def _close_on_v0(context: RequestContext) -> None:
    header = context.header
    if header and header.api_key == API_VERSIONS_KEY and header.api_version == 0:
        context.replace_reaction(outcome=Outcome.CLOSED)


def _everything_in_v0(context: RequestContext) -> None:
    if context.response is not None and context.reaction.response_version > 0:
        context.answer = context.encode_answer(layout=0)


def _flexible_header(context: RequestContext) -> None:
    if context.response is not None and context.reaction.response_version >= 3:
        context.answer = context.encode_answer(header_version=1)


def _close_on_refused_names(context: RequestContext) -> None:
    if context.reaction.error_code is ErrorCode.INVALID_REQUEST and has_refused_name(context):
        context.replace_reaction(outcome=Outcome.CLOSED)


def _close_on_second_table(context: RequestContext) -> None:
    if context.succeeds:
        if context.connection.memory.get("served"):
            context.replace_reaction(outcome=Outcome.CLOSED)
        context.connection.memory["served"] = True


@pytest.mark.parametrize(
    ("stage", "act", "expected", "inconclusive"),
    [
        pytest.param(
            Stage.ANSWER,
            _changed(lambda sent: encode_frame(bytes(4) + sent[SIZE_BYTES + 4 :])),
            {*MODEL, "PROTOCOL.correlation-id-echoed"},
            5,
            id="ids-are-zero",
        ),
        pytest.param(Stage.REACTION, _close_on_v0, {*MODEL, V0}, 25, id="v0-closes"),
        pytest.param(
            Stage.ANSWER,
            _changed(lambda sent: encode_frame(sent[SIZE_BYTES:] + b"\0")),
            {
                *(*MODEL, "PROTOCOL.size-prefix-exact", SERVED),
                "KIP-511.unsupported-version-answered-in-v0",
            },
            6,
            id="a-surplus-byte",
        ),
        pytest.param(
            Stage.ANSWER,
            _changed(lambda sent: (len(sent) - SIZE_BYTES + 1).to_bytes(4) + sent[SIZE_BYTES:]),
            {*MODEL, V0, "KIP-1242.refusal-shape"},
            65,
            id="sizes-one-too-large",
        ),
        pytest.param(
            Stage.ANSWER,
            _flexible_header,
            {AGREES, "KIP-511.response-header-fixed"},
            38,
            id="flexible-headers",
        ),
        pytest.param(
            Stage.REACTION,
            _close_on_refused_names,
            {*MODEL, "KIP-511.names-refused"},
            4,
            id="refused-names-close",
        ),
        pytest.param(
            Stage.REACTION,
            _close_on_second_table,
            {*MODEL, "PROTOCOL.answers-in-order", "PROTOCOL.well-formed-never-closed"},
            17,
            id="one-table-per-connection",
        ),
        pytest.param(
            Stage.ANSWER,
            _everything_in_v0,
            {AGREES, SERVED, "KIP-511.v3-body-flexible"},
            25,
            id="everything-in-v0",
        ),
    ],
)
def test_a_gross_fault_is_red_at_its_clauses(
    stage: Stage, act: Callable[[RequestContext], None], expected: set[str], inconclusive: int
) -> None:
    """The red clauses are as expected, and each clause that cannot be judged names a red one.

    Here every property is tried. In a run, only V0 is judged if no table can be read.
    """
    red: set[str] = set()
    grey: dict[str, str] = {}
    broker = broker_with(Tampering(stage=stage, act=act), patience=Patience(math.inf))
    for judged, outcome in outcomes(broker, properties_of_a_run()):
        if outcome is True:
            red.update(judged.clauses)
        elif outcome:
            grey.update(dict.fromkeys(judged.clauses, str(outcome)))
    assert red == expected
    assert len(grey) == inconclusive
    for reason in grey.values():
        assert set(CLAUSE_ID.findall(reason)) & red, reason


IS_SILENT = re.compile(r"Outcome\.(SILENT|IGNORED)|keeps_open")
ELSEWHERE = "judged elsewhere"
IS_ELSEWHERE = re.compile(r"^a plain request .* \(judged by ")
"""Why a property says nothing about its clause: the silence is that of a plain request, about which another clause
is."""
SILENT = [
    name for name, defect in reversed(DEFECTS.items()) if IS_SILENT.search(inspect.getsource(defect.tampering.act))
]
"""The last registered first, which is the order in which they act: one that replaces a refusal acts after one that
needs it."""
PROPERTIES = properties_of_a_run(left_out=("stored",))


@functools.cache
def judge(*defects: str) -> Mapping[str, bool | str]:
    """Return what each property of a smoke run makes of a broker with some defects."""
    tamperings = (DEFECTS[name].tampering for name in defects)
    broker = broker_with(*tamperings, patience=Patience(PATIENCE_S[Tier.SMOKE]))
    broker.calibrate()
    broker.ask_for_table()
    return {
        judged.name: ELSEWHERE if IS_ELSEWHERE.search(str(outcome)) else outcome
        for judged, outcome in outcomes(broker, PROPERTIES)
    }


def with_outcome(outcome: bool | str, defect: str) -> frozenset[str]:
    """Return the properties that have an outcome on a broker with one defect."""
    return frozenset(name for name, found in judge(defect).items() if found == outcome)


def test_silent_defects_are_found() -> None:
    """The search through the defects finds some that answer nothing, among many others."""
    assert {"unlisted-apis-are-ignored", "a-half-closed-connection-stays-open"} < set(SILENT)
    assert len(SILENT) < len(DEFECTS) / 5


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("index", range(1, len(SILENT)), ids=SILENT[1:])
def test_two_silent_defects_add_up(index: int) -> None:
    """With a silent defect before it, exactly the properties fail that fail on either; none runs out of patience."""
    other = SILENT[index]
    for one in SILENT[:index]:
        expected: dict[str, bool | str] = {each.name: False for each in PROPERTIES}
        for outcome in (ELSEWHERE, True):
            found = with_outcome(outcome, one) | with_outcome(outcome, other)
            expected |= dict.fromkeys(found, outcome)
        assert judge(one, other) == expected
