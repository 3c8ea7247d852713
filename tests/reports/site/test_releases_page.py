"""Tests of the page of differences between adjacent releases."""

from __future__ import annotations

from pathlib import Path

from reports.site.releases_page import write_releases
from tests.reports.roll_up_tables import cell_row, target_row
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import (
    KEYS,
    NAMES,
    site_tables,
    write_small_pages,
)


def test_releases_say_which_bytes_changed_and_what_was_predicted(small_site: Path) -> None:
    """What else changes between the two is on their page about the upgrade."""
    page = parse(small_site / "releases.html")
    assert "closed INVALID_REQUEST ✕ no 3 00120003" in text_of(page)
    assert "upgrade/3.9.2-4.4.0.html" in {link.get("href") for link in all_of(page, "a")}
    assert f"{NAMES} ✓ conforms → ⚑ known" in text_of(parse(small_site / "upgrade" / "3.9.2-4.4.0.html"))


def test_releases_of_other_products_are_compared(tmp_path: Path) -> None:
    """Two clusters are no releases of one product."""
    products = ("noida-db", "kafka-cluster")
    tables = site_tables()
    steps = [
        {"clause": KEYS, "implementation": name, "listener": "plaintext"}
        | {"from_target": f"{name}-1.0", "to_target": f"{name}-2.0"}
        | {"from_verdict": "conforms", "to_verdict": "informational"}
        for name in products
    ]
    targets = [f"{name}-{release}" for name in products for release in ("1.0", "2.0")]
    folder = write_small_pages(
        tmp_path,
        write_releases,
        release_steps=[*tables["release_steps"], *steps],
        targets=[*tables["targets"], *map(target_row, targets)],
        cells=[*tables["cells"], *(cell_row(KEYS, target) for target in targets)],
    )
    text = text_of(parse(folder / "releases.html"))
    assert "noida-db 1.0 to noida-db 2.0" in text
    assert f"{KEYS} ✓ conforms ≈ informational plaintext" in text
    assert "kafka-cluster" not in text
    assert f"{NAMES} ✓ conforms ⚑ known" not in text


def test_inputs_that_change_several_clauses_are_one_group(small_site: Path) -> None:
    """A group of inputs is one row and counts once, with all its clauses; clauses of the grid are linked."""
    page = parse(small_site / "releases.html")
    assert "1 group of inputs changed; the profiles do not predict 1 of them" in text_of(page)
    (row,) = [row for row in all_of(page, "tr") if "00120003" in text_of(row)]
    assert f"{NAMES} KIP-9.of-another-grid plaintext" in text_of(row)
    assert [text_of(link) for link in all_of(row, "a")] == [NAMES]


def test_inputs_that_were_not_compared_are_counted(small_site: Path) -> None:
    """Releases that leave out the same inputs for the same reason are one row, linked from the top of the page."""
    page = parse(small_site / "releases.html")
    assert "Not compared everywhere: 1 group of inputs" in text_of(page)
    (row,) = [row for row in all_of(page, "tr") if "TLS cannot end" in text_of(row)]
    assert text_of(row).startswith("ssl 2 TLS cannot end only one side of the stream 3.9.2, 4.4.0 ")
    assert "a-half-frame, two-of-them" in text_of(row)
