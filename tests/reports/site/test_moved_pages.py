"""Tests of the old addresses of pages."""

from __future__ import annotations

from pathlib import Path

from tests.reports.site.parsed_pages import all_of, parse


def test_old_addresses_lead_to_the_new_ones(small_site: Path) -> None:
    goals = {
        name: next(all_of(parse(small_site / f"{name}.html"), "meta", **{"http-equiv": "refresh"}))
        for name in ("findings", "ranges", "about", "mutation", "speed", "since")
    }
    assert {name: goal.get("content") for name, goal in goals.items()} == {
        "findings": "0; url=rules.html?state=violates",
        "ranges": "0; url=rules.html",
        "about": "0; url=why.html",
        "mutation": "0; url=why.html",
        "speed": "0; url=why.html",
        "since": "0; url=changes.html",
    }
