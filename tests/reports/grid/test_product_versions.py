"""One product across its versions: which version has which bug."""

from __future__ import annotations

import pytest

from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_tables
from reports.grid.product_versions import BugInVersion, ProductVersions, versions_of
from reports.grid.products import products_of
from reports.records import Verdict
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables

OLD, MIDDLE, NEW = (f"some-lib-{version}" for version in ("2.0.2", "2.8.2", "2.16.1"))
VERSIONS = (NEW, OLD, MIDDLE)
RELEASE = "apache-kafka-4.4.0"
LOOPS = "the client loops on one connection: {} ApiVersions requests in 1.2 s"
SENDS = "software some-lib 2.16.1-rdkafka-2.16.0"
SIGNATURES = {"loops-new": "a" * 16, "loops-old": "b" * 16, "aborts": "c" * 16, "hangs": "d" * 16}


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> ProductVersions:
    """Three versions of a library and one of another: two loop, the middle one aborts, the newest hangs with a
    release."""
    clients = {"role": "client", "implementation": "some-lib"}
    share = [f"{client}.share-group" for client in (OLD, NEW)]
    folder = write_tables(
        tmp_path_factory.mktemp("versions"),
        targets=[
            *(target_row(each, release=each.removeprefix("some-lib-"), **clients) for each in VERSIONS),
            target_row("lone-1.0", role="client", implementation="lone"),
            *(target_row(each, implementation="proxy", release="1.0") for each in ("proxy-1.0-to-a", "proxy-1.0-to-b")),
            target_row(RELEASE, role="operation"),
        ],
        clauses=[
            *(clause_row(f"C.{name}", at, role="client") for at, name in enumerate("xyz")),
            clause_row("C.b", 3),
            *(clause_row(row, 4, role="operation", source=row.rpartition(".")[0]) for row in share),
        ],
        cells=[
            *(
                cell_row("C.x", each, "violates", failures=[SIGNATURES[name]])
                for each, name in ((NEW, "loops-new"), (OLD, "loops-old"), (MIDDLE, "aborts"))
            ),
            cell_row("C.y", NEW),
            cell_row("C.x", "lone-1.0", "violates", failures=[SIGNATURES["aborts"]]),
            cell_row("C.b", "proxy-1.0-to-a", "violates", failures=[SIGNATURES["aborts"]]),
            cell_row("C.b", "proxy-1.0-to-b"),
            cell_row(share[0], RELEASE),
            cell_row(share[1], RELEASE, "violates", failures=[SIGNATURES["hangs"]]),
        ],
        failures=[
            failure_row(SIGNATURES["loops-new"], "C.x", NEW, message=f"{LOOPS.format(38)}\n{SENDS}"),
            failure_row(SIGNATURES["loops-old"], "C.x", OLD, message=LOOPS.format(175)),
            failure_row(SIGNATURES["aborts"], "C.x", MIDDLE, message="it aborts"),
            failure_row(SIGNATURES["hangs"], share[1], RELEASE, message="it hangs"),
        ],
    )
    failures = read_history_tables(folder).failures
    (found,) = versions_of(products_of(FoldedGrid(read_grid(folder)), failures))
    return found


def test_versions_stand_from_the_oldest_to_the_newest(versions: ProductVersions) -> None:
    """Numbers count as such; a product with one version has no such page, nor has a proxy in front of two brokers."""
    assert [product.id for product in versions.products] == [OLD, MIDDLE, NEW]
    assert versions.shorts == ("2.0.2", "2.8.2", "2.16.1")
    assert (versions.id, versions.name) == ("some-lib", "some-lib")


def test_bug_of_two_versions_is_one(versions: ProductVersions) -> None:
    """Numbers that differ from run to run are no difference; a version that breaks the rule otherwise says so."""
    loops = versions.bugs[0]
    assert loops.newest.title == f"T{LOOPS[1:].format(38)}"
    assert loops.seen_in == "2 of 3: 2.0.2 to 2.16.1"
    assert loops.versions == (
        BugInVersion(verdict=Verdict.VIOLATES, number=1),
        BugInVersion(verdict=Verdict.VIOLATES, breaks_otherwise=True),
        BugInVersion(verdict=Verdict.VIOLATES, number=1),
    )


def test_operation_is_compared_by_its_name(versions: ProductVersions) -> None:
    """Each version has rows of its own in the grid of operations; one that was not tried with any is blank."""
    (hangs,) = (bug for bug in versions.bugs if "share-group" in bug.newest.title)
    assert hangs.seen_in == "1 of 3: 2.16.1"
    assert [each.verdict for each in hangs.versions] == [
        Verdict.CONFORMS,
        None,
        Verdict.VIOLATES,
    ]


def test_carried_library_is_what_the_client_sends(versions: ProductVersions) -> None:
    """Only a failure's summary has it."""
    assert versions.carries == ("", "", "2.16.0")
