"""The page of a product is a list of its bugs, each with what to paste into its tracker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports.grid import addresses
from reports.site.whole_site import build_site, read_tables
from tests.reports.roll_up_tables import (
    REFUSED_REQUEST,
    cell_row,
    clause_row,
    failure_row,
    run_row,
    target_row,
    write_tables,
)
from tests.reports.site.parsed_pages import all_of, parse, text_of

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
            run_row(tier="smoke", highest_load=3.5, load_at_start=0.2, **of_operations),
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
            *(
                cell_row(SHARE, each, "violates", failures=[HANGS], **of_operations)
                for each in (RELEASE, CLUSTER)
            ),
            cell_row(WORKS, RELEASE, **of_operations),
        ],
        failures=[
            failure_row(
                BROKEN, "C.must", RELEASE, facts=json.dumps({"reported": REPORTED, "sent": [SENT]})
            ),
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
    """Its count, its bugs and its run are those of its role; clients are named without a verdict of the release."""
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
    assert f"{OPERATIONS_RUN}, 2026-11-21 14:30 UTC, smoke tier, load at most 3.5 on 2 CPUs" in text
    page = parse(site / addresses.target_page(CLIENT))
    table = next(each for each in all_of(page, "table"))
    rows = [text_of(row) for row in all_of(table, "tr")]
    assert rows == [
        "Operation Apache Kafka 2.3.1 kafka-cluster 4.4.0",
        "produce ✓ works",
        "share-group ✕ violates 1 ✕ violates 1",
    ]


def test_what_was_not_judged_says_so(site: Path) -> None:
    """A cluster that operations were tried with breaks no rule of its own."""
    text = _text(site, CLUSTER)
    assert "It was not judged itself" in text
    assert "✕" not in text


def test_bug_can_be_copied_as_an_issue(site: Path) -> None:
    """The text has what is expected and seen, the bytes, the script, and links that work anywhere; a file has the same."""
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
    """It names the client first, shows the sentence that matters and the driver's lines, and promises no script."""
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
    """There is no script of ours that plays a real broker."""
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
    """Its name lists releases, and does not say what they do."""
    text = text_of(parse(site / addresses.target_page(CLUSTER)))
    assert "cluster: several brokers, of the releases in its name" in text
    assert "several brokers" not in text_of(parse(site / addresses.target_page(RELEASE)))
