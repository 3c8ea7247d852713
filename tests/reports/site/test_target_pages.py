"""Tests of the pages of products, clauses, targets and cells.

The page of a product lists its bugs, each with text for its tracker. Pages of clauses, targets and cells show all that
is known.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reports.grid import addresses
from reports.site.build import build_site, read_tables
from reports.site.clause_pages import write_clauses
from reports.site.target_pages import write_targets
from tests.reports.roll_up_tables import (
    REFUSED_REQUEST,
    cell_row,
    clause_row,
    failure_row,
    run_row,
    target_row,
    write_tables,
)
from tests.reports.site.parsed_pages import all_of, heads_of, parse, text_of
from tests.reports.site.sites import (
    HOSTILE,
    KEYS,
    KNOWN_SIGNATURE,
    MIDDLE,
    NAMES,
    NEW,
    OLD,
    ORDER,
    cells_with,
    write_small_pages,
    write_small_tables,
)

RELEASE, CLUSTER, CLIENT = "apache-kafka-2.3.1", "kafka-cluster-4.4.0", "some-lib-2.1"
SHARE, WORKS = f"{CLIENT}.share-group", f"{CLIENT}.produce"
OPERATIONS_RUN = "20261121T150000Z-0a0b0c0d"
BROKEN, HANGS = "a" * 16, "b" * 16
REPORTED = "fixed in 2.4 (https://issues.example/browse/KAFKA-1)"
SENT = {"connection": 0, "data": REFUSED_REQUEST.hex()}
PAGES = "https://pages.example/kafka/"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that breaks a rule, and a client that hangs with it and with a cluster that was not judged itself."""
    folder = tmp_path_factory.mktemp("products")
    of_operations = {"run_id": OPERATIONS_RUN}
    write_tables(
        folder,
        runs=[
            run_row(),
            run_row(tier="smoke", clause_set="0.1", highest_load=3.5, load_at_start=0.2, **of_operations),
        ],
        targets=[
            target_row(RELEASE),
            target_row(RELEASE, listener="ssl"),
            target_row(RELEASE, role="operation", **of_operations),
            target_row(CLUSTER, role="operation", launcher="cluster", **of_operations),
        ],
        clauses=[
            clause_row("C.must"),
            clause_row("C.other", 1),
            *(clause_row(row, 2, role="operation", source=CLIENT) for row in (SHARE, WORKS)),
        ],
        cells=[
            cell_row("C.must", RELEASE, "violates", failures=[BROKEN]),
            cell_row("C.must", RELEASE, listener="ssl"),
            *(
                cell_row("C.other", RELEASE, "not_applicable", reason="no v3", listener=listener)
                for listener in ("plaintext", "ssl")
            ),
            *(cell_row(SHARE, each, "violates", failures=[HANGS], **of_operations) for each in (RELEASE, CLUSTER)),
            cell_row(WORKS, RELEASE, **of_operations),
        ],
        failures=[
            failure_row(BROKEN, "C.must", RELEASE, facts=json.dumps({"reported": REPORTED, "sent": [SENT]})),
            *(
                failure_row(
                    *(HANGS, SHARE, each),
                    property="test_operation_works_or_is_refused",
                    message="the operation neither succeeds nor fails: it hangs\n6 connections, no result",
                    reproducer="",
                    example="{}",
                    facts=json.dumps({"driver": "def share_group(given):\n    consume()"}),
                    **of_operations,
                )
                for each in (RELEASE, CLUSTER)
            ),
        ],
    )
    build_site(*read_tables(folder, pages=PAGES), folder)
    return folder


def _text(site: Path, target: str) -> str:
    return text_of(parse(site / addresses.target_page(target)))


def test_release_answers_for_its_own_rules_alone(site: Path) -> None:
    text = _text(site, RELEASE)
    assert "✕ violates 1 MUST, 1 bug" in text
    assert "hangs" not in text
    assert "Reported fixed in 2.4 (KAFKA-1)" in text
    assert "some-lib 2.1 works 1, violates 1" in text
    assert OPERATIONS_RUN not in text
    assert "Every rule on every listener" in text
    # A reason that all listeners share is stated once.
    assert text.count("no v3") == 1


def test_client_answers_for_its_operations(site: Path) -> None:
    """A client of which only operations were tried has a page, with each release, and the run's load."""
    text = _text(site, CLIENT)
    assert "✕ violates 1 MUST, 1 bug" in text
    assert "share-group hangs, with Apache Kafka 2.3.1; kafka-cluster 4.4.0" in text
    assert "6 connections, no result" in text
    assert "share-group with Apache Kafka 2.3.1" in text
    assert f"{OPERATIONS_RUN}, 2026-11-21 14:30 UTC, smoke tier, set 0.1 of clauses, load at most 3.5 on 2 CPUs" in text
    page = parse(site / addresses.target_page(CLIENT))
    table = next(each for each in all_of(page, "table"))
    rows = [text_of(row) for row in all_of(table, "tr")]
    assert rows == [
        "Operation Apache Kafka 2.3.1 kafka-cluster 4.4.0",
        "produce ✓ works",
        "share-group ✕ violates 1 ✕ violates 1",
    ]


def test_measured_needs_are_on_the_pages_of_client_and_release(tmp_path: Path) -> None:
    """The release links to the client; one that is older than the one that was measured with says nothing."""
    hungry, new, old = "confluent-kafka-2.8.2", "apache-kafka-4.0.0", RELEASE
    write_tables(
        tmp_path,
        targets=[target_row(each, role="operation") for each in (new, old)],
        clauses=[clause_row(f"{hungry}.produce", role="operation", source=hungry)],
        cells=[cell_row(f"{hungry}.produce", each) for each in (new, old)],
    )
    build_site(*read_tables(tmp_path), tmp_path)
    client = _text(tmp_path, hungry)
    assert "Which versions it needs Measured with apache-kafka-3.9.2" in client
    assert "What clients need" not in client
    page = parse(tmp_path / addresses.target_page(new))
    assert "confluent-kafka 2.8.2 Fetch v0 to v2: without it metadata gives something up" in text_of(page)
    links = [link.get("href") for term in all_of(page, "dt") for link in all_of(term, "a")]
    assert links == [f"../{addresses.target_page(hungry)}"] * 2
    assert "What clients need" not in _text(tmp_path, old)


def test_what_was_not_judged_says_so(site: Path) -> None:
    """A cluster that operations were tried with breaks no rule of its own."""
    text = _text(site, CLUSTER)
    assert "It was not judged itself" in text
    assert "✕" not in text


def test_bug_can_be_copied_as_an_issue(site: Path) -> None:
    """The text has what is expected and seen, the bytes, the script, and links that work anywhere; a file has the
    same."""
    page = parse(site / addresses.target_page(RELEASE))
    area = next(all_of(page, "textarea"))
    text = area.text or ""
    assert "What C.must says." in text
    assert "Seen: assert NONE" in text
    assert "client_software_name = ''" in text
    assert "print('again')" in text
    assert r"kafka-conformance 0.1.0 \(0123456789ab\) on 2026-11-21, standard tier" in text
    assert f"{PAGES}failures/{BROKEN}.html" in text
    file = (site / "targets" / f"{RELEASE}-bug-1.md").read_text(encoding="utf-8")
    assert file.startswith("Apache Kafka 2.3.1: ApiVersions v3: assert NONE")
    assert file.split("\n\n", 1)[1].strip() == text.strip()


@pytest.mark.parametrize("pages", ["", PAGES])
def test_long_script_is_a_link_of_the_text(pages: str, tmp_path: Path) -> None:
    """The script of a client has about 36 kB; the text can be copied all the same, and the file has both."""
    script = "print('again')\n" + "# a line of a script\n" * 2000
    write_tables(
        tmp_path,
        targets=[target_row(CLIENT, role="client")],
        clauses=[clause_row("C.must", role="client")],
        cells=[cell_row("C.must", CLIENT, "violates", failures=[BROKEN])],
        failures=[failure_row(BROKEN, "C.must", CLIENT, reproducer=script)],
    )
    build_site(*read_tables(tmp_path, pages=pages), tmp_path)
    page = parse(tmp_path / addresses.target_page(CLIENT))
    text = next(all_of(page, "textarea")).text or ""
    assert "Seen: assert NONE" in text
    assert "print('again')" not in text
    file = f"failures/{BROKEN}/reproducer.py"
    where = f"[reproducer.py]({PAGES}{file})" if pages else "reproducer.py, attached"
    assert f"A script that reproduces it, using only Python: {where}." in text
    assert f"../{file}" in [link.get("href") for link in all_of(page, "a")]
    assert (tmp_path / file).read_text() == script
    assert "print('again')" in (tmp_path / "targets" / f"{CLIENT}-bug-1.md").read_text()


def test_failure_of_an_operation_says_what_the_client_did_and_runs(site: Path) -> None:
    page = parse(site / addresses.failure_page(HANGS))
    text = text_of(page)
    (title,) = all_of(page, "h1")
    assert text_of(title).startswith("✕ violates share-group of some-lib 2.1 with")
    assert "6 connections, no result" in text
    assert "What the client did" in text
    assert "def share_group(given): consume()" in text
    for said in ("@example", "Raised", "No script", "under the same script"):
        assert said not in text


def test_issue_about_an_operation_has_the_lines_that_the_client_runs(site: Path) -> None:
    page = parse(site / addresses.target_page(CLIENT))
    area = next(all_of(page, "textarea"))
    assert "What the client runs:" in (area.text or "")
    assert "    consume()" in (area.text or "")


def test_cell_of_an_operation_has_its_words(site: Path) -> None:
    """The page of a cell counts what works, and promises the client's code."""
    text = text_of(parse(site / addresses.cell_page(SHARE, RELEASE, "plaintext")))
    assert "100 work" in text
    assert "What the client did, and its code" in text
    assert "conform" not in text.partition("Failures")[0].replace("kafka-conformance", "").replace(
        "Kafka handshake conformance", ""
    )


def test_page_says_what_a_cluster_is(site: Path) -> None:
    text = text_of(parse(site / addresses.target_page(CLUSTER)))
    assert "cluster: several brokers, of the releases in its name" in text
    assert "several brokers" not in text_of(parse(site / addresses.target_page(RELEASE)))


def test_clause_page_has_every_cell_with_an_anchor(small_site: Path) -> None:
    """Each target and each of its listeners can be linked to."""
    page = parse(small_site / addresses.clause_page(NAMES))
    ids = {element.get("id"): text_of(element) for element in page.iter() if element.get("id")}
    assert ids[f"{NEW}-plaintext"] == "⚑ known 1"
    assert ids[f"{NEW}-ssl"] == "✓ conforms 100"
    assert ids[f"{OLD}-plaintext"] == "– n/a no v3 is advertised"
    assert NEW in ids
    assert "no such listener" in text_of(page)


def test_conforming_cell_says_what_it_leaves_out(tmp_path: Path) -> None:
    note = "2 of 10 drawn examples were run before the limit of 1 s"
    cells = cells_with(NAMES, NEW, "ssl", reason=note)
    write_small_pages(tmp_path, write_clauses, write_targets, cells=cells)
    for address in (addresses.clause_page(NAMES), addresses.target_page(NEW)):
        assert note in text_of(parse(tmp_path / address))
    page = parse(tmp_path / addresses.clause_page(NAMES))
    (cell,) = all_of(page, "td", id=f"{NEW}-ssl")
    assert text_of(cell) == f"✓ conforms 100 {note}"


def test_clause_page_says_what_it_is_and_what_was_done(small_site: Path) -> None:
    """The page has statement, meaning, ranges per listener, tests, defects and transitions."""
    text = text_of(parse(small_site / addresses.clause_page(NAMES)))
    for part in (
        HOSTILE,
        "Proposed Changes",
        "in 3.9.2; not applicable before; known violation in 4.4.0 (It is so on purpose) on plaintext",
        "4.4.0, the only release judged on ssl",
        "test_x plaintext unknown version, broken 5 500 470 20 10 0 0, 42",
        "plaintext v3 5 500 470 20 10 0 0, 42",
        "names-are-not-checked ✓ always",
        "2026-11-21 Apache Kafka 4.4.0, plaintext: ✕ violates became ⚑ known",
    ):
        assert part in text, part


def test_target_page_has_every_clause_on_every_listener(small_site: Path) -> None:
    """The page has the target's artefacts and run in addition to its verdicts."""
    page = parse(small_site / addresses.target_page(NEW))
    text = text_of(page)
    assert "Listeners plaintext, ssl" in text
    assert "1,000 examples in 10 s: 100 a second" in text
    assert "ab" * 32 in text
    heads = heads_of(page, "row")
    assert f"{KEYS} MUST" in heads


def test_target_page_says_what_was_built(small_site: Path) -> None:
    """The commit of a build and the release that it is judged like; nothing about them for a release."""
    text = text_of(parse(small_site / addresses.target_page(HOSTILE)))
    assert f"Kafka's commit {HOSTILE}" in text
    assert f"Judged like {NEW}" in text
    released = text_of(parse(small_site / addresses.target_page(NEW)))
    assert "Kafka's commit" not in released
    assert "Judged like" not in released


def test_target_page_says_how_it_started(small_site: Path) -> None:
    """The time until it was ready, and what it did until then; nothing for a target whose start was not seen."""
    text = text_of(parse(small_site / addresses.target_page(HOSTILE)))
    assert f"Ready 2.3 s after its process was started. To requests until then: {HOSTILE} (3)" in text
    assert "after its process was started" not in text_of(parse(small_site / addresses.target_page(NEW)))


def test_cell_page_has_the_expectation_and_the_failures(small_site: Path) -> None:
    """A known violation names its declaration, and leads to the bytes."""
    page = parse(small_site / addresses.cell_page(NAMES, NEW, "plaintext"))
    text = text_of(page)
    assert "Declared because It is so on purpose. (KAFKA-1)" in text
    assert "Verdict since 2026-11-21 14:30 UTC; before that ✕ violates" in text
    goals = [link.get("href") for link in all_of(page, "a", class_="card")]
    assert goals == [f"../../failures/{KNOWN_SIGNATURE}.html"]


def test_flaky_cell_says_how_often(small_site: Path) -> None:
    """The rate follows the word wherever the cell is shown; the cell's page adds its interval."""
    address = addresses.cell_page(ORDER, MIDDLE, "plaintext")
    (link,) = all_of(parse(small_site / "brokers.html"), "a", href=address)
    assert text_of(link) == "~ flaky 15%"
    assert "flaky, 15% of its repeats failed" in link.get("aria-label", "")
    assert "~ flaky 15%" in text_of(parse(small_site / addresses.clause_page(ORDER)))
    assert "~ flaky 15%" in text_of(parse(small_site / addresses.target_page(MIDDLE)))
    page = parse(small_site / address)
    assert text_of(next(all_of(page, "h1"))).startswith("~ flaky 15%")
    assert "3 of 20 repeats failed: 15 % (95 % interval 5 to 36 %)" in text_of(page)


def test_flaky_cell_says_no_rate_where_none_was_recorded(tmp_path: Path) -> None:
    """A grid folder of an older suite has no table of rates; the cell then shows only the word."""
    write_small_tables(tmp_path)
    shutil.rmtree(tmp_path / "tables" / "flakes.parquet")
    build_site(*read_tables(tmp_path), tmp_path)
    address = addresses.cell_page(ORDER, MIDDLE, "plaintext")
    (link,) = all_of(parse(tmp_path / "brokers.html"), "a", href=address)
    assert text_of(link) == "~ flaky"
    assert "%" not in link.get("aria-label", "")
    assert "repeats failed" not in text_of(parse(tmp_path / address))


def test_clause_page_begins_with_who_breaks_it(small_site: Path) -> None:
    """Each finding has its reason, and the worst comes first."""
    page = parse(small_site / addresses.clause_page(NAMES))
    (found,) = all_of(page, "ul", class_="findings")
    assert [text_of(each) for each in found] == [
        f"✕ violates {HOSTILE}: {HOSTILE}",
        "⚑ known Apache Kafka 4.4.0: It is so on purpose. (KAFKA-1)",
    ]


def test_releases_that_all_keep_a_clause_share_a_row(tmp_path: Path) -> None:
    """Links to a cell that the row stands for still lead to it."""
    releases = [f"apache-kafka-4.{minor}.0" for minor in range(3)]
    write_tables(
        tmp_path,
        targets=[target_row(release) for release in releases],
        clauses=[clause_row(KEYS, 0)],
        cells=[cell_row(KEYS, release) for release in releases],
    )
    build_site(*read_tables(tmp_path), tmp_path)
    page = parse(tmp_path / addresses.clause_page(KEYS))
    (cell,) = all_of(page, "td", class_="all")
    assert text_of(cell) == "✓ conforms 3 releases, 3 listeners in all, 300 examples."
    ids = [anchor.get("id") for anchor in cell.iter("span")]
    assert {addresses.cell_anchor(release, "plaintext") for release in releases} <= set(ids)
