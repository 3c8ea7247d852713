"""The home page: a sentence, three ways on, and how each target stands."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from reports.grid import addresses
from reports.site.home import write_home
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, run_row, target_row
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import HOSTILE, NEW, NEW_CLIENT, SIGNATURE, write_small_pages


@pytest.fixture(scope="module")
def home(site_with_clients: Path) -> Element:
    """The home page of brokers and clients."""
    return parse(site_with_clients / "index.html")


def _cards(home: Element, title: str) -> list[str]:
    """Return the texts of the cards below a heading."""
    for section in all_of(home, "section"):
        if text_of(next(all_of(section, "h2"))).startswith(title):
            return [text_of(card) for card in all_of(section, "li")]
    raise LookupError(title)


def test_page_says_what_it_is_and_has_three_doors(home: Element) -> None:
    """A question, a sentence, and what three kinds of readers want."""
    assert text_of(next(all_of(home, "h1"))).endswith("the rules of Kafka’s handshake?")
    (doors,) = all_of(home, "ul", class_="doors")
    goals = [(text_of(next(door.iter("b"))), door.get("href")) for door in doors.iter("a")]
    assert goals == [
        ("I upgrade Kafka", addresses.UPGRADE),
        ("My broker or client is red", "#results"),
        ("Why believe this?", addresses.WHY),
    ]


def test_who_breaks_most_comes_first(home: Element) -> None:
    """Each target has its count of rules and the first of them; the heading says how many break a MUST."""
    assert _cards(home, "Other brokers 1 of 2 break at least one MUST rule") == [
        f"{HOSTILE} ✕ 1 MUST, 1 bug ApiVersions v3: {HOSTILE}.",
        "other 1.0 ✓ conforms Keeps all of the 3 rules that apply.",
    ]
    assert _cards(home, "Clients 1 of 2 break at least one MUST rule") == [
        "librdkafka 2.12.1 ✕ 1 MUST, 1 bug Assert NONE (0) is INVALID_REQUEST (42).",
        "librdkafka 2.4.0 ? inconclusive Keeps all of the 1 rule that could be judged. 2 cells could not be judged.",
    ]
    assert addresses.target_page(NEW_CLIENT) in [link.get("href") for link in home.iter("a")]


@pytest.mark.slow
def test_releases_of_apache_kafka_share_a_card(large_site: Path) -> None:
    """The card says how many releases keep every rule, and which violations are declared."""
    page = parse(large_site / "index.html")
    (card,) = _cards(page, "Apache Kafka")
    assert card == (
        "Apache Kafka, 40 releases ⚑ known All 40 releases keep every rule that applies, "
        "except for 96 declared violations of 96 rules."
    )


def test_failing_operation_is_the_clients(tmp_path: Path) -> None:
    """A release of Apache Kafka stays clean if an operation of a client fails on it."""
    operation = "librdkafka-2.12.1.share-group"
    run = {"run_id": "20261121T150000Z-0a0b0c0d"}
    page = parse(
        write_small_pages(
            tmp_path,
            write_home,
            runs=[run_row(), run_row(**run)],
            targets=[target_row(NEW), target_row(NEW, role="operation", **run)],
            clauses=[
                clause_row("KIP-35.keys", 0),
                clause_row(operation, 1, role="operation", source="librdkafka-2.12.1"),
            ],
            cells=[
                cell_row("KIP-35.keys", NEW),
                cell_row(operation, NEW, "violates", failures=[SIGNATURE], **run),
            ],
            failures=[failure_row(SIGNATURE, operation, NEW, **run)],
            **{name: [] for name in ("transitions", "release_steps")},
        )
        / "index.html"
    )
    assert _cards(page, "Apache Kafka") == ["Apache Kafka, 1 release ✓ conforms Keeps every rule that applies."]
    (card,) = _cards(page, "Clients")
    assert card.startswith("librdkafka 2.12.1 ✕ 1 MUST, 1 bug")
    kinds = [text_of(heading).split(" ")[0] for heading in all_of(page, "h2")]
    assert kinds == ["Clients", "Apache"], "what is red comes first"


def test_operations_that_work_are_one_card_per_client(site_with_operations: Path) -> None:
    """An operation that a release is too old for has not failed."""
    page = parse(site_with_operations / "index.html")
    (card,) = _cards(page, "Clients")
    assert card == (
        "librdkafka 2.12.1 ? inconclusive 4 of 6 operations with brokers work; "
        "none breaks a rule. 1 cell could not be judged."
    )
