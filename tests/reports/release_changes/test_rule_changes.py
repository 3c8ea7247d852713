"""Which rules have other verdicts in a grid from one release to another."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.records import Verdict
from reports.release_changes.rule_changes import RuleKind, rule_changes
from tests.reports.release_changes.grids import grid_of_two_releases
from tests.reports.roll_up_tables import cell_row, clause_row, target_row, write_tables
from upgrade.planning.release_names import ends_named

ENDS = ends_named("2.3.1", "4.4.0")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("conforms", "violates", RuleKind.WORSE),
        ("conforms", "known_violation", RuleKind.WORSE),
        ("not_applicable", "violates", RuleKind.WORSE),
        ("violates", "conforms", RuleKind.BETTER),
        ("not_applicable", "conforms", RuleKind.APPLIES),
        ("conforms", "not_applicable", RuleKind.ENDS),
        ("conforms", "informational", RuleKind.OTHER),
    ],
)
def test_rules_differ_in_a_kind(before: str, after: str, kind: RuleKind, tmp_path: Path) -> None:
    """Over the listeners that both have: the controller of the newer one, which violates the rule, does not count."""
    grid = grid_of_two_releases(tmp_path, rules={"KIP-1.rule": (before, after)})
    (change,) = rule_changes(grid, *ENDS).changes
    assert (change.kind, change.before, change.after) == (kind, Verdict(before), Verdict(after))
    assert change.why == f"why {before if kind is RuleKind.BETTER else after}"


def test_rules_that_could_not_be_judged_do_not_differ(tmp_path: Path) -> None:
    rules = {"A.same": ("conforms", "conforms"), "A.unclear": ("conforms", "inconclusive")}
    found = rule_changes(grid_of_two_releases(tmp_path, rules=rules), *ENDS)
    assert (found.changes, found.compared, found.unclear) == ((), 1, 1)


def test_a_release_that_the_grid_does_not_have_is_named(tmp_path: Path) -> None:
    """Nothing is compared then."""
    grid = grid_of_two_releases(tmp_path, rules={"A.same": ("conforms", "conforms")})
    found = rule_changes(grid, *ends_named("2.3.1", "4.3.1"))
    assert found.absent == ("apache-kafka-4.3.1",)
    only_operations = grid_of_two_releases(tmp_path / "other", operations={"one-1.0.produce": ("conforms", "conforms")})
    assert rule_changes(only_operations, *ENDS).absent == (
        "apache-kafka-2.3.1",
        "apache-kafka-4.4.0",
    )


def test_what_differs_with_kraft_differs_not_with_the_release(tmp_path: Path) -> None:
    """If 3.9.2 with ZooKeeper and with KRaft differ in the same way."""
    verdicts = {
        "A.with-kraft": ("not_applicable", "conforms", "not_applicable", "conforms"),
        "A.with-release": ("not_applicable", "conforms", "conforms", "conforms"),
    }
    targets = ("apache-kafka-2.3.1", "apache-kafka-4.4.0")
    last = ("apache-kafka-3.9.2-zookeeper", "apache-kafka-3.9.2")
    write_tables(
        tmp_path,
        targets=[target_row(target, implementation="apache-kafka") for target in (*targets, *last)],
        clauses=[clause_row(clause, index) for index, clause in enumerate(verdicts)],
        cells=[
            cell_row(clause, target, verdict)
            for clause, of_clause in verdicts.items()
            for target, verdict in zip((*targets, *last), of_clause, strict=True)
        ],
        failures=[],
    )
    found = rule_changes(FoldedGrid(read_grid(tmp_path)), *ENDS)
    assert [each.clause.clause for each in found.changes] == ["A.with-release"]
    assert [each.clause.clause for each in found.with_quorum] == ["A.with-kraft"]
    assert not found.is_quorum_mixed


def test_what_differs_with_kraft_may_be_unknown(tmp_path: Path) -> None:
    """A grid without both of 3.9.2 does not show it."""
    grid = grid_of_two_releases(tmp_path, rules={"A.rule": ("not_applicable", "conforms")})
    assert rule_changes(grid, *ENDS).is_quorum_mixed
