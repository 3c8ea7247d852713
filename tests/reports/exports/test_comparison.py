"""Changes between two grids, and how they are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.document.markdown_form import MAX_COMMENT_BYTES, bounded_markdown, markdown
from reports.exports.comparison import ChangeKind, GridComparison, compare
from reports.exports.comparison_texts import comparison_report, pull_request_report, rows_of
from reports.grid.grid_reading import read_grid
from reports.grid.grid_tables import Grid
from tests.reports.exports.grids import (
    CLAUSE,
    EXPECTED_TAGS,
    HOSTILE,
    NEW,
    OLD,
    OTHER,
    RenderedTags,
)
from tests.reports.roll_up_tables import cell_row, clause_row, target_row, write_tables


def _grid(folder: Path, *cells: dict[str, Any], level: str = "MUST") -> Grid:
    targets = {(cell["target"], cell["listener"]) for cell in cells}
    write_tables(
        folder,
        targets=[target_row(target, listener=listener) for target, listener in sorted(targets)],
        clauses=[clause_row(clause, level=level) for clause in sorted({cell["clause"] for cell in cells})],
        cells=cells,
    )
    return read_grid(folder)


def _compared(tmp_path: Path, before: dict[str, Any], after: dict[str, Any], level: str = "MUST") -> GridComparison:
    return compare(
        _grid(tmp_path / "a", cell_row(CLAUSE, OLD, **before), level=level),
        _grid(tmp_path / "b", cell_row(CLAUSE, OLD, **after), level=level),
    )


@pytest.mark.parametrize(
    ("before", "after", "kind", "regressed", "no_longer_judged"),
    [
        ("conforms", "violates", ChangeKind.REGRESSED, True, False),
        ("known_violation", "violates", ChangeKind.REGRESSED, True, False),
        ("conforms", "flaky", ChangeKind.NEWLY_FLAKY, True, False),
        ("violates", "flaky", ChangeKind.NEWLY_FLAKY, True, False),
        ("violates", "conforms", ChangeKind.FIXED, False, False),
        ("known_violation", "unexpected_pass", ChangeKind.FIXED, False, False),
        ("violates", "known_violation", ChangeKind.CHANGED, False, False),
        ("conforms", "not_applicable", ChangeKind.CHANGED, False, False),
        ("conforms", "inconclusive", ChangeKind.CHANGED, False, True),
        ("conforms", "not_run", ChangeKind.CHANGED, False, True),
        ("inconclusive", "not_run", ChangeKind.CHANGED, False, False),
    ],
)
def test_change_of_a_verdict_has_one_kind(
    before: str,
    after: str,
    kind: ChangeKind,
    regressed: bool,
    no_longer_judged: bool,
    tmp_path: Path,
) -> None:
    """The kinds are those of the roll-up's transitions; only new violations are regressions."""
    comparison = _compared(tmp_path, {"verdict": before}, {"verdict": after})
    (change,) = comparison.changes
    assert change.kind is kind
    assert (bool(comparison.regressed), bool(comparison.no_longer_judged)) == (
        regressed,
        no_longer_judged,
    )


@pytest.mark.parametrize(("level", "gates"), [("MUST", 1), ("PIN", 1), ("SHOULD", 0), ("MAY", 0)])
def test_only_binding_levels_regress(level: str, gates: int, tmp_path: Path) -> None:
    """A change that would not fail a run is listed, but is not a regression."""
    comparison = _compared(tmp_path, {"verdict": "conforms"}, {"verdict": "violates"}, level)
    assert len(comparison.of_kind(ChangeKind.REGRESSED)) == 1
    assert len(comparison.regressed) == gates


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        ({"reason": "a"}, {"reason": "b"}, True),
        (
            {"verdict": "known_violation", "known_violation": "a"},
            {"verdict": "known_violation"},
            True,
        ),
        (
            {"verdict": "violates", "failures": ["f1"]},
            {"verdict": "violates", "failures": ["f2"]},
            True,
        ),
        ({"verdict": "informational", "failures": ["f1"]}, {"verdict": "informational"}, False),
        ({"examples": 100}, {"examples": 99}, False),
    ],
)
def test_same_verdict_for_another_reason_is_reported(
    before: dict[str, Any], after: dict[str, Any], differs: bool, tmp_path: Path
) -> None:
    """Reasons, declarations and the failures of undeclared violations matter; the number of examples does not."""
    kinds = [change.kind for change in _compared(tmp_path, before, after).changes]
    assert kinds == ([ChangeKind.REASON] if differs else [])


def test_nothing_changed_is_said(tmp_path: Path) -> None:
    """A grid compared with itself has no change."""
    grid = _grid(tmp_path / "a", cell_row(CLAUSE, OLD), cell_row(CLAUSE, NEW))
    assert compare(grid, grid).sentence == "✓ Nothing changed in 2 cells."


@pytest.mark.parametrize(
    ("verdict", "output"),
    [
        ("conforms", f"regressed, but judged cells are gone: {OTHER} (cells: 1 gone)."),
        ("not_run", "regressed (cells: 1 gone)."),
    ],
)
def test_judged_cell_that_is_gone_is_named(verdict: str, output: str, tmp_path: Path) -> None:
    kept = cell_row(CLAUSE, OLD)
    before = _grid(tmp_path / "a", kept, cell_row(OTHER, OLD, verdict))
    sentence = compare(before, _grid(tmp_path / "b", kept)).sentence
    assert sentence == f"✓ No binding clause {output}"


def test_empty_grids_are_not_compared(tmp_path: Path) -> None:
    """Nothing changed in no cell is no result."""
    empty = _grid(tmp_path / "a")
    output = "Nothing could be compared, as no cell is in both (cells: none)."
    assert compare(empty, empty).sentence.endswith(output)


def test_new_and_gone_targets_are_reported_as_a_whole(tmp_path: Path) -> None:
    """Many cells of one target are one row; listeners with the same change share a row."""
    clauses = [f"KIP-1.clause-{number}" for number in range(20)]
    before = _grid(
        tmp_path / "a",
        *(cell_row(clause, OLD) for clause in clauses),
        cell_row(CLAUSE, OLD, listener="ssl"),
        cell_row(CLAUSE, OLD),
    )
    after = _grid(
        tmp_path / "b",
        *(cell_row(clause, NEW, "violates") for clause in clauses),
        cell_row(CLAUSE, OLD, "violates", listener="ssl"),
        cell_row(CLAUSE, OLD, "violates"),
    )
    comparison = compare(before, after)
    (regressed,) = rows_of(comparison, ChangeKind.REGRESSED)
    assert regressed.listeners == ("plaintext", "ssl")
    assert regressed.step == "✓ conforms → ✕ violates"
    (new,) = rows_of(comparison, ChangeKind.NEW)
    assert (new.target, new.cells, new.why) == (NEW, 20, "20 cells, 20 violated")
    (gone,) = rows_of(comparison, ChangeKind.GONE)
    assert (gone.target, gone.cells, gone.why) == (OLD, 20, "20 cells")
    assert comparison.sentence == ("✕ 1 binding clause regressed on 1 target (cells: 2 regressed, 20 new, 20 gone).")


def test_two_releases_of_a_product_are_compared(tmp_path: Path) -> None:
    """If each grid has one that the other lacks: what is alike is compared, and no clause counts as gone or new."""
    before = _grid(tmp_path / "a", cell_row(CLAUSE, OLD), cell_row(OTHER, OLD))
    after = _grid(tmp_path / "b", cell_row(CLAUSE, NEW, "violates"), cell_row(OTHER, NEW))
    comparison = compare(before, after)
    (change,) = comparison.changes
    assert (change.kind, change.target, change.older_target) == (ChangeKind.REGRESSED, NEW, OLD)
    assert (comparison.cells, dict(comparison.releases)) == (2, {NEW: OLD})
    text = markdown(comparison_report(comparison, ("a", "b")))
    assert "apache-kafka-4.4.0 is compared with apache-kafka-3.9.2." in text


def test_several_releases_are_not_paired(tmp_path: Path) -> None:
    older = ("apache-kafka-2.3.1", "apache-kafka-2.4.1", "nafka-0.1")
    before = _grid(tmp_path / "a", *(cell_row(CLAUSE, target) for target in older))
    after = _grid(tmp_path / "b", cell_row(CLAUSE, NEW), cell_row(CLAUSE, "nafka-0.2"))
    assert compare(before, after).releases == {"nafka-0.2": "nafka-0.1"}


def test_markdown_is_bounded_and_harmless(tmp_path: Path) -> None:
    """Hundreds of changes of hostile targets fit into a comment, which contains no tag or link from them."""
    names = [f"{HOSTILE} {number}" for number in range(900)]
    before = _grid(tmp_path / "a", *(cell_row(CLAUSE, name) for name in names))
    after = _grid(tmp_path / "b", *(cell_row(CLAUSE, name, "violates") for name in names))
    report = comparison_report(compare(before, after), (HOSTILE, HOSTILE))
    text = bounded_markdown(report, level=3, max_bytes=MAX_COMMENT_BYTES)
    assert len(text.encode()) <= 65_536
    assert "Left out for lack of space: " in text
    rendered = RenderedTags(text)
    assert set(rendered.tags) <= EXPECTED_TAGS
    assert rendered.links == []


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        ("conforms", "violates", "New red: 1"),
        (None, "flaky", "New red: 1"),
        ("violates", "known_violation", "Gone: 1"),
        ("violates", None, "Gone: 1"),
        ("conforms", "inconclusive", "Changed: 1"),
        (None, "informational", "Changed: 1"),
    ],
)
def test_each_change_is_in_one_list_of_a_pull_request(
    before: str | None, after: str | None, title: str, tmp_path: Path
) -> None:
    same = cell_row(OTHER, OLD)
    grids = [
        _grid(tmp_path / name, same, *([cell_row(CLAUSE, OLD, verdict)] if verdict else []))
        for name, verdict in (("a", before), ("b", after))
    ]
    text = markdown(pull_request_report(compare(*grids), ("main", "mine")))
    assert [each for each in ("New red: 1", "Gone: 1", "Changed: 1") if each in text] == [title]
    assert CLAUSE in text
    assert "From main to mine." in text


def test_nothing_changed_has_no_lists(tmp_path: Path) -> None:
    comparison = _compared(tmp_path, {"verdict": "violates"}, {"verdict": "violates"})
    assert "Cells: 0 new red, 0 gone, 0 changed." in markdown(pull_request_report(comparison, ("main", "mine")))
