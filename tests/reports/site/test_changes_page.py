"""Tests of the page that shows changes of verdicts."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

from reports.records import Verdict, transition_kind
from reports.site.changes_page import Trend, nights_of, trends_of, verdicts_at_end_of
from reports.tables.history_rows import Transition
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import NAMES, write_small_site


def _change(day: int, clause: str, before: Verdict | None, after: Verdict, target: str = "a") -> Transition:
    return Transition(
        clause=clause,
        target=target,
        listener="plaintext",
        at=datetime(2026, 11, day, tzinfo=UTC),
        run_id=f"run-{day}",
        from_verdict=before,
        to_verdict=after,
        kind=transition_kind(before, after).value if before else "appeared",
    )


KEPT, BROKEN = Verdict.CONFORMS, Verdict.VIOLATES
CHANGES = [
    _change(1, "KIP-1.x", None, BROKEN),
    _change(1, "KIP-1.y", None, BROKEN),
    _change(1, "KIP-1.should", None, BROKEN),
    _change(1, "KIP-1.x", None, KEPT, "b"),
    _change(3, "KIP-1.x", BROKEN, KEPT),
    _change(5, "KIP-1.x", KEPT, Verdict.INFORMATIONAL, "b"),
]


def test_trend_counts_must_rules_day_by_day() -> None:
    must = {"KIP-1.x", "KIP-1.y"}
    (trend,) = trends_of(CHANGES, must, ["a", "b"])
    assert trend == Trend(
        target="a",
        points=((date(2026, 11, 1), 2), (date(2026, 11, 3), 1), (date(2026, 11, 5), 1)),
    )
    assert trend.text == "2 on 2026-11-01, 1 on 2026-11-05"
    assert trend.line == "2.0,2.0 60.0,10.0 118.0,10.0"


def test_nights_are_days_with_changes() -> None:
    """The newest comes first; what appeared is counted and not listed."""
    nights = nights_of(CHANGES)
    assert [(each.day.day, each.changes, each.appeared) for each in nights] == [
        (5, 1, 0),
        (3, 1, 0),
        (1, 0, 4),
    ]
    assert [title for title, _ in nights[1].kinds] == ["Fixed"]


def test_page_has_a_section_for_each_night(small_site: Path) -> None:
    """The list at its top leads to each of them."""
    page = parse(small_site / "changes.html")
    titles = [text_of(title) for title in all_of(page, "h2")]
    assert titles == ["MUST rules broken over time", "2026-11-21", "2026-11-20"]
    links = [link.get("href") for link in all_of(page, "a")]
    assert {"#night-2026-11-21", "#night-2026-11-20"} <= set(links)
    assert f"{NAMES} on Apache Kafka 4.4.0, plaintext: ✕ violates became ⚑ known" in text_of(page)


def test_grid_without_changes_has_no_such_page(tmp_path: Path) -> None:
    """Nothing links to it either."""
    (tmp_path / "changes.html").write_text("of an earlier grid")
    site = write_small_site(tmp_path, transitions=[])
    assert not (site / "changes.html").exists()
    assert "changes.html" not in (site / "index.html").read_text(encoding="utf-8")


def test_verdicts_of_an_earlier_day_follow_from_the_changes() -> None:
    """What changed later is not known yet."""
    at_first = verdicts_at_end_of(date(2026, 11, 2), CHANGES)
    assert at_first["a"]["plaintext"]["KIP-1.x"] == "violates"
    assert at_first["b"] == {"plaintext": {"KIP-1.x": "conforms"}}
    assert verdicts_at_end_of(date(2026, 11, 3), CHANGES)["a"]["plaintext"]["KIP-1.x"] == "conforms"


def test_each_night_has_its_verdicts_as_a_file(small_site: Path) -> None:
    """The page links to them, and the newest ones are those of the grid."""
    links = [link.get("href", "") for link in all_of(parse(small_site / "changes.html"), "a")]
    files = [link for link in links if link.startswith("nights/")]
    assert files == ["nights/2026-11-21/grid.json", "nights/2026-11-20/grid.json"]
    newest, before = (json.loads((small_site / file).read_text())["verdicts"] for file in files)
    assert newest["apache-kafka-4.4.0"]["plaintext"][NAMES] == "known_violation"
    assert before["apache-kafka-4.4.0"]["plaintext"][NAMES] == "violates"
