"""The property of learned machines finds and records stateful defects.

Its failures can be replayed.
"""

from __future__ import annotations

import json
from dataclasses import replace as with_changes
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from clauses import marks
from clauses.tiers import Tier
from conformance.assertions.errors import JudgedElsewhere
from conformance.brokers.test_learned_machine import learned_in_time, message, word_agrees
from conformance.commands.replay import replay
from conformance.engine.planning import is_left_out
from conformance.learning import learner
from conformance.mutation.properties import all_properties, holds
from fixtures.errors import HarnessError
from fixtures.run_size import Kind
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.listeners import SASL_PLAINTEXT
from reports.machines.learned import Learned, MachineDifference, from_json
from tests.conformance.learning.stateful_defects import STATEFUL_DEFECTS
from tests.conformance.learning.subjects_in_memory import broker_in_memory, listening, model_machine
from tests.conformance.suite_runs import run_suite
from wire.api_keys import METADATA_KEY
from wire.exchange import Outcome

PROPERTY = "test_the_machine_of_a_connection_is_that_of_the_model"
STORED = "test_stored_input_gets_an_allowed_answer"
ON_SASL = ("any-bare-token-is-taken", "metadata-is-served-before-authentication")


def _conforms(listener: str, tampering: Tampering | None) -> bool:
    return holds(all_properties()[PROPERTY], broker_in_memory(listener, tampering), {})


def test_a_healthy_broker_conforms() -> None:
    """The reference broker has the machine of its model."""
    assert _conforms("plaintext", None)


@pytest.mark.parametrize("name", ON_SASL)
def test_defects_of_authentication_are_found(name: str) -> None:
    """A defect of the steps of SASL is a violation."""
    assert not _conforms(SASL_PLAINTEXT, DEFECTS[name].tampering)


def test_a_silencing_letter_is_found() -> None:
    """A letter that silences the target is a violation, and ends the property."""

    def metadata_is_silent(context: RequestContext) -> None:
        if context.header is not None and context.header.api_key == METADATA_KEY:
            context.reaction = with_changes(context.reaction, outcome=Outcome.SILENT)

    assert not _conforms("plaintext", Tampering(stage=Stage.REACTION, act=metadata_is_silent))


def test_a_word_is_judged_alone() -> None:
    """The word of a failure is judged again without the rest of the suite."""
    defect = STATEFUL_DEFECTS["the-third-v0-closes"]
    broken = broker_in_memory(tampering=defect.tampering)
    with pytest.raises(AssertionError, match="after v0, then v0, v0: closed; the model has NONE"):
        word_agrees(broken, ("v0", "v0", "v0"))
    word_agrees(broken, ("v0", "v0"))


def test_a_message_names_the_word_and_both_outputs() -> None:
    """The message about a word of one letter has no other letters."""
    assert message(("v0",), "closed", "NONE v0 full") == "v0: closed; the model has NONE v0 full"


@pytest.mark.nightly
@pytest.mark.slow
def test_a_standard_run_states_its_bound_and_keeps_the_machine(tmp_path: Path) -> None:
    """A cell that conforms says up to where, and not that it is judged only partly."""
    target = ("--broker", "reference", "--listener", "sasl_plaintext", "-k", PROPERTY)
    output = run_suite(*target, runs=tmp_path).output
    assert "partly" not in output
    (header,) = tmp_path.glob("*/run.json")
    (cell,) = json.loads(header.read_text())["planned_cells"]
    assert cell["reason"] == ("2,323 words of 29 letters exclude every machine but the model's with up to 7 states")
    (machine,) = tmp_path.glob("*/machines/*.json")
    assert from_json(json.loads(machine.read_text())).difference is None


def test_bytes_that_a_plain_request_gets_too_are_judged_elsewhere() -> None:
    """If plain v0 is answered in another layout, the machine says nothing: another clause is violated."""

    def flexible(context: RequestContext) -> None:
        if context.response is not None and context.reaction.response_version == 0:
            context.answer = context.encode_answer(layout=3)

    with pytest.raises(JudgedElsewhere, match=r"KIP-35\.v0-always-served"):
        _conforms("plaintext", Tampering(stage=Stage.ANSWER, act=flexible))


@pytest.mark.parametrize(
    ("name", "mark", "left_out"),
    [
        pytest.param(PROPERTY, marks.STANDARD, [True, False, False], id="machine"),
        pytest.param(STORED, marks.STORED, [True, True, False], id="corpus"),
    ],
)
def test_long_properties_belong_to_later_tiers(name: str, mark: str, left_out: list[bool]) -> None:
    """A smoke run learns nothing, and only a deep one replays the corpus."""
    assert mark in {each.name for each in all_properties()[name].marks}
    marked = Mock(get_closest_marker=lambda name: name == mark)
    assert [is_left_out(marked, tier, Kind.MALFORMED) for tier in Tier] == left_out


def test_a_machine_that_cannot_be_learned_is_kept_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the target waits for too long while its machine is learned, the difference and the reason are kept."""

    def gives_up(*_: object) -> Learned:
        raise HarnessError("it kept us waiting")

    monkeypatch.setattr(learner, "learn_listener", gives_up)
    difference = MachineDifference(word=("v0",), seen=("closed",), expected=("NONE v0 full",))
    kept = learned_in_time(listening(), model_machine(), 0, difference)
    learned = from_json(json.loads(json.dumps(kept)))
    assert (learned.machine, learned.difference) == (None, difference)
    assert learned.stopped == "it kept us waiting"


@pytest.mark.slow
def test_a_failure_is_recorded_and_replayed(tmp_path: Path) -> None:
    """A deep run records the shortest word with its bytes and the machine, and `replay` judges the word again."""
    target = ("--broker", "reference+a-connection-stays-refused", "--listener", "plaintext")
    run_suite(*target, "--tier", "deep", "-k", PROPERTY, runs=tmp_path)
    (facts,) = tmp_path.glob("*/failures/*/failure.json")
    failure = json.loads(facts.read_text())
    assert failure["example"] == "{'word': ('newest+1', 'v0')}"
    assert [bytes.fromhex(step["data"])[4:8].hex() for step in failure["sent"]] == [
        "00120006",
        "00120000",
    ]
    (machine,) = tmp_path.glob("*/machines/*.json")
    learned = from_json(json.loads(machine.read_text()))
    assert learned.machine is not None
    assert (learned.listener, len(learned.machine.moves)) == ("plaintext", 3)
    result = CliRunner().invoke(replay, [str(facts.parent)])
    assert result.exit_code == 1
    assert "still fails: MODEL.sequence-agrees" in result.output
