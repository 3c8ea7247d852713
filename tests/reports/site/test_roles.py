"""Each role that is judged has a grid of its own, on a page of its own."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from reports.grid import addresses
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import summarise
from reports.grid.grid_view import FoldedGrid
from reports.records import Verdict
from tests.reports.site.parsed_pages import all_of, heads_of, parse, text_of
from tests.reports.site.sites import (
    CLAUSES,
    FALLS_BACK,
    KEYS,
    NAMED,
    NEW,
    NEW_CLIENT,
    OLD,
    OLD_CLIENT,
    ORDER,
    OTHER,
    TARGETS,
)


def _grid(site: Path, role: str) -> Element:
    (table,) = all_of(parse(site / addresses.role_page(role)), "table")
    return table


def test_each_role_has_a_grid(site_with_clients: Path) -> None:
    """Each page has the clauses and targets of one role."""
    brokers, clients = _grid(site_with_clients, "broker"), _grid(site_with_clients, "client")
    assert heads_of(clients, "row") == [
        "All rules",
        f"{KEYS} MUST",
        f"{NAMED} MUST",
        f"{FALLS_BACK} MUST",
    ]
    assert heads_of(clients, "col") == ["Rule", "Holds in librdkafka", "2.12.1", "2.4.0"]
    assert heads_of(clients, "rowgroup") == ["KIP-35", "KIP-511"]
    assert len(heads_of(brokers, "col")) == 2 + len(TARGETS)
    assert not any("client" in head for head in heads_of(brokers, "row"))
    assert heads_of(brokers, "rowgroup") == ["KIP-35", "KIP-511", "PROTOCOL"]


def test_release_may_stand_in_the_grids_of_two_roles(site_with_operations: Path) -> None:
    """Cells that judge a release as a broker and cells of client operations on it do not affect each other."""
    operations = _grid(site_with_operations, "operation")
    assert len(heads_of(_grid(site_with_operations, "broker"), "col")) == 2 + len(TARGETS)
    assert heads_of(operations, "col") == ["Operation", "Works with Apache Kafka", "4.4.0", "2.8.2"]
    assert heads_of(operations, "rowgroup") == ["librdkafka 2.12.1"]
    counts = summarise(FoldedGrid(read_grid(site_with_operations)), site_with_operations).cells
    assert sum(counts.values()) == len(CLAUSES) * len(TARGETS) + 2 * 3


@pytest.mark.parametrize("role", ["client", "operation"])
def test_role_without_data_has_no_page(role: str, small_site: Path) -> None:
    """No page links to it either."""
    address = addresses.role_page(role)
    assert not (small_site / address).exists()
    assert address not in (small_site / "index.html").read_text(encoding="utf-8")


def test_page_of_a_release_has_its_own_rules_alone(site_with_operations: Path) -> None:
    """The clients that were tried with it are named, and answer for their operations; each listener has one column."""
    page = parse(site_with_operations / addresses.target_page(NEW))
    (table,) = (
        each for each in all_of(page, "table") if list(all_of(each, "th", scope="rowgroup"))
    )
    assert heads_of(table, "rowgroup") == ["KIP-35", "KIP-511", "PROTOCOL"]
    assert "Clients tried with it" in text_of(page)
    assert heads_of(table, "col") == ["Rule", "plaintext", "ssl"]
    only_broker = parse(site_with_operations / addresses.target_page(OTHER))
    assert "librdkafka" not in text_of(only_broker)


def test_clause_does_not_apply_to_another_role(site_with_clients: Path) -> None:
    """A cell that no run planned is "not run" only on targets of the clause's role."""
    cells = {
        (cell.clause, cell.target): cell.worst
        for row in FoldedGrid(read_grid(site_with_clients)).cells.values()
        for cell in row
    }
    of_broker, of_client = cells[FALLS_BACK, NEW], cells[ORDER, NEW_CLIENT]
    assert (of_broker.verdict, of_broker.reason) == (
        Verdict.NOT_APPLICABLE,
        "does not apply to brokers",
    )
    assert (of_client.verdict, of_client.reason) == (
        Verdict.NOT_APPLICABLE,
        "does not apply to clients",
    )
    assert cells[FALLS_BACK, OLD_CLIENT].verdict is Verdict.NOT_RUN


def test_pages_of_targets_and_clauses_keep_to_their_role(site_with_clients: Path) -> None:
    """A client's page has only clauses for clients, and the page of such a clause has no broker."""
    client = parse(site_with_clients / addresses.target_page(NEW_CLIENT))
    assert "librdkafka 2.12.1" in text_of(next(all_of(client, "h1")))
    of_client = [
        text_of(head).split()[0] for head in all_of(client, "th", scope="row", class_="id")
    ]
    assert of_client == [KEYS, NAMED, FALLS_BACK]
    clause = parse(site_with_clients / addresses.clause_page(NAMED))
    heads = heads_of(clause, "row")
    assert heads == ["librdkafka 2.12.1", "librdkafka 2.4.0"]
    of_both = parse(site_with_clients / addresses.clause_page(KEYS))
    assert len(list(all_of(of_both, "th", scope="row"))) >= len(TARGETS) + 2


def test_what_does_not_apply_to_a_role_is_not_counted(site_with_clients: Path) -> None:
    """The counted cells are those of the small site and those of the clients."""
    counts = summarise(FoldedGrid(read_grid(site_with_clients)), site_with_clients).cells
    assert sum(counts.values()) == len(CLAUSES) * len(TARGETS) + 3 * 2
    assert counts[Verdict.NOT_RUN] == 3


def test_operation_has_only_neighbours_in_which_it_was_tried(site_with_operations: Path) -> None:
    """The page of a cell of an operation names the releases of its grid, and no others."""
    page = parse(
        site_with_operations / addresses.cell_page("librdkafka-2.12.1.headers", OLD, "plaintext")
    )
    neighbours = next(each for each in all_of(page, "table") if "neighbouring" in text_of(each))
    assert heads_of(neighbours, "row") == ["Apache Kafka 4.4.0", "Apache Kafka 2.8.2 this one"]
