"""A grid with products or operations alone leaves the other part as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reports.command_line.suite_command import CannotWork
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_table
from reports.records import FACTS_FILE, OPERATION
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables
from tests.workflows.finding_grids import CLIENTS, MUST, SHARE, collected_from
from workflows.compatibility.collecting import Collected, collect
from workflows.compatibility.data import Compatibility
from workflows.compatibility.document import document
from workflows.compatibility.finding_files import write_findings


@pytest.fixture(scope="module")
def published(grid: Path) -> Compatibility:
    """What was published before, by other runs."""
    data = collected_from(grid).data
    assert data.made_products
    assert data.made_operations
    products, operations = (
        replace(made, date="2026-01-01", commits=("0" * 40,), runs=5)
        for made in (data.made_products, data.made_operations)
    )
    return replace(data, made_products=products, made_operations=operations)


def collected_again(grid: Path, published: Compatibility, role: str) -> Collected:
    """Return what is collected from the part of a grid that has one role."""
    folded = FoldedGrid(read_grid(grid))
    return collect(folded.by_role[role], read_history_table(grid, "failures") or (), before=published)


def test_operations_alone_leave_products_as_they_were(grid: Path, published: Compatibility) -> None:
    found = collected_again(grid, published, OPERATION)
    assert found.kept == {each.id for each in published.findings if not each.tried_with}
    assert found.data.findings == published.findings
    assert found.data.products == published.products
    assert found.data.undecided == published.undecided
    assert found.data.levels == published.levels
    assert found.data.made_products == published.made_products
    assert found.data.made_operations != published.made_operations
    assert found.data.made.date > "2026-01-01"
    assert found.data.made.runs == 5 + (found.data.made_operations or found.data.made).runs


def test_products_alone_leave_operations_as_they_were(grid: Path, published: Compatibility) -> None:
    """Clients were not judged here, so only their operations are left of them."""
    found = collected_again(grid, published, "broker")
    (share,) = (each for each in published.findings if each.tried_with)
    assert found.kept == {share.id}
    assert share in found.data.findings
    assert CLIENTS not in found.data.levels
    assert (found.data.releases, found.data.clients) == (published.releases, published.clients)
    assert found.data.made_operations == published.made_operations
    assert [each.id for each in found.data.products if each.role == "client"] == ["libone-1.0"]


def test_parts_that_were_not_distinguished_are_not_kept(grid: Path, published: Compatibility) -> None:
    older = replace(published, made_products=None, made_operations=None)
    with pytest.raises(CannotWork, match="make it once from a grid that has both"):
        collected_again(grid, older, OPERATION)


def test_same_grid_gives_the_same_data_whatever_was_published(grid: Path, published: Compatibility) -> None:
    folded, failures = FoldedGrid(read_grid(grid)), read_history_table(grid, "failures") or ()
    assert collect(folded, failures, before=published).data == collect(folded, failures).data


def test_page_says_what_each_part_was_made_from(published: Compatibility) -> None:
    text = document(published)
    assert "- Products: 5 runs of the tier" in text
    assert "- Operations: 5 runs of the tier" in text
    assert text.count("the last on 2026-01-01, by version") == 2


def test_bytes_of_kept_findings_stay(grid: Path, published: Compatibility, tmp_path: Path) -> None:
    write_findings(collected_from(grid), tmp_path)
    stored = {path: path.read_bytes() for path in tmp_path.glob(f"*/*/{FACTS_FILE}")}
    write_findings(collected_again(grid, published, OPERATION), tmp_path)
    assert stored
    assert {path: path.read_bytes() for path in tmp_path.glob(f"*/*/{FACTS_FILE}")} == stored


def test_new_finding_never_takes_the_name_of_a_kept_one(published: Compatibility, grid: Path, tmp_path: Path) -> None:
    """An operation can fail with the words of a play."""
    before = collected_from(grid)
    message = "the client loops on one connection: 20 ApiVersions requests"
    folder = write_tables(
        tmp_path / "grid",
        targets=[target_row("apache-kafka-4.4.0", role=OPERATION)],
        clauses=[clause_row(SHARE, role=OPERATION, source="libone-1.0")],
        cells=[cell_row(SHARE, "apache-kafka-4.4.0", "violates", failures=["dd"])],
        failures=[failure_row("dd", SHARE, "apache-kafka-4.4.0", message=message, facts="{}")],
    )
    found = collect(
        FoldedGrid(read_grid(folder)),
        read_history_table(folder, "failures") or (),
        names=before.names,
        before=published,
    )
    ids = [each.id for each in found.data.findings]
    assert len(ids) == len(set(ids))
    assert f"libone/{CLIENTS}-1" in found.kept
    assert f"mybroker/{MUST}-1" in ids


def test_what_was_not_published_is_not_missed(grid: Path) -> None:
    assert not collected_from(grid).kept
