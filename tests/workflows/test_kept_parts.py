"""A grid that lacks a role leaves what was published of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_table
from reports.records import FACTS_FILE, OPERATION
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables
from tests.workflows.finding_grids import CLIENTS, MUST, SHARE, collected_from
from workflows.compatibility.collecting import Collected, collect
from workflows.compatibility.data import Compatibility
from workflows.compatibility.document import document
from workflows.compatibility.finding_files import read_facts, write_findings
from workflows.compatibility.finding_texts import finding_page
from workflows.compatibility.kept_parts import ROLES


@pytest.fixture(scope="module")
def published(grid: Path) -> Compatibility:
    """What was published before, by other runs, when every rule was a SHOULD."""
    data = collected_from(grid).data
    return replace(
        data,
        made={
            role: replace(each, date="2026-01-01", version="0.0.9", commits=("0" * 40,), runs=5)
            for role, each in data.made.items()
        },
        levels=dict.fromkeys(data.levels, "SHOULD"),
    )


def collected_again(grid: Path, published: Compatibility, *roles: str) -> Collected:
    """Return what is collected from the part of a grid that has some roles."""
    whole = read_grid(grid)
    clauses = tuple(each for each in whole.clauses if each.role in roles)
    rules = {each.clause for each in clauses}
    part = replace(
        whole,
        targets=tuple(each for each in whole.targets if each.role in roles),
        clauses=clauses,
        cells=tuple(each for each in whole.cells if each.clause in rules),
    )
    return collect(FoldedGrid(part), read_history_table(grid, "failures") or (), before=published)


@pytest.mark.parametrize("role", ROLES)
def test_one_role_alone_leaves_the_others_as_they_were(role: str, grid: Path, published: Compatibility) -> None:
    found = collected_again(grid, published, role)
    again = collected_from(grid).data
    assert found.kept == {each.id for each in published.findings if each.role != role}
    assert found.data.findings == published.findings
    assert found.data.products == published.products
    assert found.data.undecided == published.undecided
    assert found.data.made == {**published.made, role: again.made[role]}
    assert (found.data.releases, found.data.clients) == (published.releases, published.clients)
    of_role = {clause for each in published.findings if each.role == role for clause in each.clauses}
    assert found.data.levels == {
        clause: again.levels[clause] if clause in of_role else "SHOULD" for clause in published.levels
    }


def test_client_whose_operations_are_not_tried_any_more_is_gone(grid: Path, published: Compatibility) -> None:
    """It was judged by its operations alone."""
    absent = replace(published.products[-1], id="gone-1.0", judged={OPERATION: True})
    before = replace(published, products=(*published.products, absent))
    assert absent not in collected_again(grid, before, OPERATION).data.products
    assert absent in collected_again(grid, before, "broker").data.products


def test_versions_of_a_product_stay_in_order(grid: Path, published: Compatibility) -> None:
    """A newer version that was only tried precedes an older one that was judged by rules."""
    newer = replace(published.products[-1], id="libone-2.0", release="2.0", judged={OPERATION: True})
    before = replace(published, products=(*published.products, newer))
    ids = [each.id for each in collected_again(grid, before, "client").data.products]
    assert [each for each in ids if each.startswith("libone")] == ["libone-2.0", "libone-1.0", "libone-0.9"]


def test_same_grid_gives_the_same_data_whatever_was_published(grid: Path, published: Compatibility) -> None:
    folded, failures = FoldedGrid(read_grid(grid)), read_history_table(grid, "failures") or ()
    assert collect(folded, failures, before=published).data == collect(folded, failures).data


def test_page_says_what_each_part_was_made_from(grid: Path, published: Compatibility) -> None:
    data = collected_again(grid, published, OPERATION).data
    text = document(data)
    assert "- Brokers and proxies: 5 runs of the tier" in text
    assert "- Clients: 5 runs of the tier" in text
    assert text.count("the last on 2026-01-01, by version 0.0.9") == 2
    assert f"\n\n2026-01-01 to {data.made[OPERATION].date}: " in text


def test_finding_names_the_version_that_found_it(grid: Path, published: Compatibility, tmp_path: Path) -> None:
    write_findings(collected_from(grid), tmp_path)
    data = collected_again(grid, published, "client").data
    found_by = {
        finding.role: finding_page(data, finding, facts).partition("Found by kafka-conformance ")[2].split(",")[0]
        for finding in data.findings
        if (facts := read_facts(tmp_path / finding.id))
    }
    assert found_by == {"broker": "0.0.9", "client": data.made["client"].version}


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
