"""The commands that list, explain and measure."""

from __future__ import annotations

from click.testing import CliRunner

from clauses.catalogue import catalogue
from conformance.__main__ import main
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.targets import load_targets
from proposals import proposed_brokers

UNKNOWN_NAME = 4


def output_of(*arguments: str, status: int = 0) -> str:
    """Run the console script in this process and return its output."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status, result.output
    assert "\x1b" not in result.output
    return result.output


def test_targets_are_listed_one_a_line_in_groups() -> None:
    """`targets` has every file of the registry, Apache Kafka's first and the oldest first, and the reference brokers at the end."""
    listed = [line.split()[0] for line in output_of("targets").splitlines()[1:]]
    references = ["reference", *(f"reference+{name}" for name in proposed_brokers())]
    kafka = [target.id for target in load_targets() if target.implementation == "apache-kafka"]
    assert listed[: len(kafka)] == kafka
    assert [each for each in listed if each.startswith("reference")] == references
    assert sorted(listed) == sorted([*(target.id for target in load_targets()), *references])


def test_targets_that_nobody_has_tried_say_so() -> None:
    """A target that was never run is listed with the reason, and one before ApiVersions is marked."""
    notes = {line.split()[0]: line for line in output_of("targets").splitlines()}
    for target in load_targets():
        assert ("not tried: " in notes[target.id]) == bool(target.not_tried)
        assert ("older than ApiVersions" in notes[target.id]) != target.handshake


def test_planted_defects_are_listed_when_asked_for() -> None:
    """`targets --defects` ends with every reference broker, each with its defect."""
    lines = output_of("targets", "--defects").splitlines()
    listed = [line.split()[0] for line in lines]
    references = [target.id for target in reference_targets()]
    assert listed[-len(references) :] == references


def test_clauses_are_listed_one_a_line() -> None:
    """`clauses` lists every clause of the catalogue with its level and statement, unwrapped when piped."""
    lines = output_of("clauses").splitlines()[1:]
    for line, clause in zip(lines, catalogue(), strict=True):
        assert line.split()[:2] == [clause.id, clause.level.value]
        assert line.rstrip().endswith(clause.statement)


def test_clause_is_explained() -> None:
    """`explain` names a clause's source, its properties and the defects that break it."""
    output = output_of("explain", "KIP-482.tags-ascending-in-answers")
    for part in (
        "KIP-482.tags-ascending-in-answers  MUST\n",
        f"statement: {catalogue()['KIP-482.tags-ascending-in-answers'].statement}\n",
        "  test_tagged_fields.py::test_tags_in_answers_ascend: The tags of every tag section in an answer"
        " ascend, each at most once.\n",
        "  reference+tags-descend: The tags of an answer stand in descending order.\n",
    ):
        assert part in output


def test_clause_that_no_run_judges_says_why() -> None:
    """`explain` gives the reason from the catalogue, and the planted defects of a broker all the same."""
    clause = catalogue()["MODEL.release-differences-explained"]
    output = output_of("explain", clause.id)
    assert f"not judged in a run: {clause.not_tested}" in output
    assert "  reference+" in output


def test_unknown_clause_gets_the_nearest() -> None:
    """`explain` of an unknown clause suggests the nearest ones."""
    output = output_of("explain", "KIP-35.key-unique", status=UNKNOWN_NAME)
    assert "the nearest are KIP-35.keys-unique" in output


def test_unknown_defect_gets_the_nearest() -> None:
    """`mutation` of an unknown defect suggests the nearest ones."""
    output = output_of("mutation", "tags-decend", status=UNKNOWN_NAME)
    assert "nearest: reference+tags-descend" in output
