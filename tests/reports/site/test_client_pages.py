"""Tests of the pages of clients: groups by language, and correct wording.

The wording fits a client, which begins an exchange.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from reference_model.clients.scripts.steps import steps_of
from reports.grid import addresses
from reports.run.hex_dump import conversation_text
from reports.run.recorded_conversation import conversation_with_client
from reports.run.stored_conversation import read_dump
from reports.site.failure_pages import outline
from strategies.api_versions import build_request
from tests.reference_model.clients.recordings import asked, opened, recorded
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row
from tests.reports.site.parsed_pages import all_of, heads_of, parse, text_of
from tests.reports.site.sites import CLIENT_SIGNATURE, site_tables, write_small_site
from wire.frames import encode_frame

FALLS_BACK = "KIP-35.client-falls-back-on-35"
LANGUAGES = {
    "some-lib-2.10.0": "Rust",
    "some-lib-2.9.0": "Rust",
    "a-lib-1.0": "Rust",
    "kafka-clients-4.4.0": "Java",
    "z-lib-1.0": "Go",
}
VIOLATES, ALSO = "some-lib-2.10.0", "some-lib-2.9.0"
REFUSAL = encode_frame(bytes.fromhex("00000007 0023 00000001 0012 0000 0005"))


def looping(times: int) -> str:
    """Return the dump of a client that asks the same again and again, and is then closed."""
    request = replace(asked(3, response=REFUSAL), data=build_request(version=3).data)
    requests = [replace(request, at_ms=index) for index in range(times)]
    connection = opened(closed_ms=99, closed_by="broker", requests=times)
    return conversation_text(conversation_with_client(steps_of(recorded(*requests, connections=[connection]))))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small site with clients of three languages."""
    tables = site_tables()
    neighbour = {
        "signature": CLIENT_SIGNATURE,
        "target": "z-lib-1.0",
        "listener": "plaintext",
        "outcome": "answer",
        "verdict": "conforms",
        "answer_sha256": "ab" * 32,
        "release_order": [1, 0],
        "error_code": 0,
    }
    return write_small_site(
        tmp_path_factory.mktemp("clients"),
        targets=[
            *tables["targets"],
            *(target_row(client, role="client", language=language) for client, language in LANGUAGES.items()),
        ],
        clauses=[*tables["clauses"], clause_row(FALLS_BACK, 4, role="client")],
        cells=[
            *tables["cells"],
            *(cell_row(FALLS_BACK, client) for client in LANGUAGES if "some" not in client),
            cell_row(FALLS_BACK, VIOLATES, "violates", failures=[CLIENT_SIGNATURE]),
            cell_row(FALLS_BACK, ALSO, "inconclusive", reason="it fails with a healthy broker"),
        ],
        failures=[
            *tables["failures"],
            failure_row(CLIENT_SIGNATURE, FALLS_BACK, VIOLATES, hex_dump=looping(3)),
        ],
        neighbours=[neighbour, {**neighbour, "target": "a-lib-1.0", "answer_sha256": "cd" * 32}],
    )


@pytest.fixture(scope="module")
def failure_page(site: Path) -> Element:
    """The page of the client's failure."""
    return parse(site / addresses.failure_page(CLIENT_SIGNATURE))


def test_columns_are_grouped_by_language_then_library_newest_first(site: Path) -> None:
    """The columns of clients go by language, library and, from the newest, version; each group names its language."""
    page = parse(site / "clients.html")
    (clients,) = all_of(page, "table")
    assert heads_of(clients, "colgroup") == [
        "z-lib (Go)",
        "kafka-clients (Java)",
        "a-lib (Rust)",
        "some-lib (Rust)",
    ]
    assert heads_of(clients, "col")[1:] == [
        "Holds in some-lib",
        *("1.0", "4.4.0", "1.0"),
        *("2.10.0", "2.9.0"),
    ]
    assert "Library" in [text_of(each) for each in all_of(page, "legend")]


def test_markdown_has_a_table_for_each_role(site: Path) -> None:
    """grid.md has the clients in a table of their own."""
    lines = (site / "grid.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("## ")] == ["## Brokers", "## Clients"]
    (head,) = (line for line in lines if "| z-lib 1.0 |" in line)
    assert "Kafka" not in head


def test_cell_page_speaks_of_versions(site: Path) -> None:
    """The page of a client's cell names neighbouring versions, and what other clients did."""
    page = parse(site / addresses.cell_page(FALLS_BACK, VIOLATES, "plaintext"))
    titles = [text_of(head) for head in all_of(page, "h2")]
    assert "Neighbouring versions" in titles
    assert "what other clients did" in text_of(page)
    assert "release" not in text_of(next(all_of(page, "main"))).replace("releases as", "")


def test_failure_page_says_what_the_client_did(failure_page: Element) -> None:
    """The requests are listed in order, equal ones once, and no reference broker is compared."""
    titles = [text_of(head) for head in all_of(failure_page, "h2")]
    assert "What the client did" in titles
    assert "Other clients under the same script" in titles
    (events,) = all_of(failure_page, "ol", class_="events")
    answered = "Connection 0: ApiVersions v3, broker answered with UNSUPPORTED_VERSION (35)"
    assert [text_of(item) for item in all_of(events, "li")] == [
        f"{answered} 2 times",
        f"{answered}, broker closed",
    ]
    assert "reference broker" not in text_of(failure_page)
    assert "The script plays the broker." in text_of(failure_page)


def test_bytes_go_from_the_client_to_the_broker(failure_page: Element) -> None:
    """An arrow to the right marks what the client sent."""
    captions = [text_of(caption) for caption in all_of(failure_page, "caption")]
    assert captions[0].startswith("1 → Connection 0: client sent")
    assert captions[1].startswith("2 ← Connection 0: broker answered with UNSUPPORTED_VERSION (35)")


def test_other_clients_are_grouped_by_verdict(failure_page: Element) -> None:
    """Clients differ in their bytes whatever they do, so only the verdict counts."""
    text = text_of(failure_page)
    assert "a-lib 1.0, z-lib 1.0" in text or "z-lib 1.0, a-lib 1.0" in text
    assert "bytes abababab" not in text


def test_outline_of_what_cannot_be_read_is_kept() -> None:
    """Parts without a request are listed as they are, also from a damaged dump."""
    text = "connection 0: broker closed\nconnection 1: client sent\n       0  00  request_api_key = x"
    assert outline(read_dump(text)) == [
        ("Connection 0: broker closed", 1),
        ("Connection 1: client sent", 1),
    ]


def test_versions_of_a_library_have_a_page_together(site: Path) -> None:
    """The grid, the page of each version and the search lead to it, and it leads to the bug of each version."""
    address = addresses.product_page("some-lib")
    page = parse(site / address)
    assert "some-lib, all versions" in text_of(page)
    heads = heads_of(page, "col")
    assert heads[:3] == ["Bug", "2.9.0", "2.10.0"]
    links = [link.get("href") for link in all_of(page, "a")]
    assert f"../{addresses.target_page(VIOLATES)}#bug-1" in links
    for other in ("clients.html", addresses.target_page(VIOLATES), addresses.SEARCH):
        assert address in (site / other).read_text(encoding="utf-8"), other
    # A library with one version has none; a release of Apache Kafka is flaky here.
    pages = {path.name for path in (site / "products").iterdir()}
    assert pages == {"some-lib.html", "apache-kafka.html"}
