"""The summary fits into a pull request comment, and shows the worst first.

Its length is bounded, and details are folded.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.document.markdown_form import MAX_COMMENT_BYTES
from reports.exports.summary_markdown import summary_markdown
from reports.grid.addresses import SUMMARY
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import summarise
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_tables
from tests.reports.exports.grids import CLAUSE, EXPECTED_TAGS, HOSTILE, NEW, RenderedTags, newer_grid
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables


def _summary(folder: Path, max_bytes: int = MAX_COMMENT_BYTES, pages: str | None = "") -> str:
    folded = FoldedGrid(read_grid(folder))
    failures = read_history_tables(folder).failures or ()
    summary = summarise(folded, folder / "index.html")
    return summary_markdown(folded, summary, failures, pages=pages, max_bytes=max_bytes)


def test_sentence_is_the_page_s_and_violations_come_first(small: Path) -> None:
    """The summary has the sentence, violations with their level, then known ones, folded, and relative links."""
    text = (small / SUMMARY).read_text(encoding="utf-8")
    assert text.splitlines()[2] == r"**✕ 1 of 2 brokers breaks MUST rules: 1 MUST \+ 1 SHOULD, 2 bugs.**"
    assert text.index("✕ violates MUST") < text.index("✕ violates SHOULD") < text.index("⚑ known: 1")
    rendered = RenderedTags(text)
    assert set(rendered.tags) <= EXPECTED_TAGS
    assert rendered.tags.count("details") == text.count("</details>") == 2
    assert all(link.startswith("../") for link in rendered.links)
    assert all((small / "exports" / link).resolve().is_relative_to(small) for link in rendered.links)


def test_run_without_pages_has_no_links(small: Path) -> None:
    """If no pages are published, the summary has no links."""
    assert RenderedTags(_summary(small, pages=None)).links == []


@pytest.fixture(scope="module")
def everything_violated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid of 60 clauses, all violated on 20 targets, each with its bytes."""
    clauses = [f"KIP-1.clause-{number}" for number in range(60)]
    targets = [f"apache-kafka-4.{number}.0" for number in range(20)]
    pairs = [(clause, target) for clause in clauses for target in targets]
    signatures = [f"{number:016x}" for number in range(len(pairs))]
    return write_tables(
        tmp_path_factory.mktemp("summary") / "grid",
        targets=[target_row(target) for target in targets],
        clauses=[clause_row(clause, index) for index, clause in enumerate(clauses)],
        cells=[
            cell_row(*pair, "violates", failures=[signature]) for pair, signature in zip(pairs, signatures, strict=True)
        ],
        failures=[
            failure_row(signature, *pair, message=HOSTILE * 5)
            for pair, signature in zip(pairs, signatures, strict=True)
        ],
    )


@pytest.mark.parametrize("max_bytes", [MAX_COMMENT_BYTES, 3_000])
def test_summary_is_bounded_and_says_what_is_missing(max_bytes: int, everything_violated: Path) -> None:
    """However many violations there are, the summary fits, closes its HTML and counts what it leaves out."""
    text = _summary(everything_violated, max_bytes)
    assert len(text.encode()) <= max_bytes
    assert text.count("<details>") == text.count("</details>")
    assert "Left out for lack of space: " in text
    assert "**✕ 20 of 20 brokers break MUST rules: 1,200 MUST.**" in text


@pytest.mark.parametrize("verdict", ["inconclusive", "known_violation"])
def test_texts_of_other_verdicts_do_not_act(verdict: str, tmp_path: Path) -> None:
    """Whoever named the target, and whatever it said."""
    reasons = {"reason": HOSTILE, "known_violation": HOSTILE}
    folder = write_tables(
        tmp_path / "grid",
        targets=[target_row(HOSTILE)],
        clauses=[clause_row("KIP-1.clause")],
        cells=[cell_row("KIP-1.clause", HOSTILE, verdict, **reasons)],
    )
    rendered = RenderedTags(_summary(folder, pages=None))
    assert "li" in rendered.tags
    assert set(rendered.tags) <= EXPECTED_TAGS
    assert rendered.links == []


def test_what_is_newer_than_the_set_comes_last(tmp_path: Path) -> None:
    folded = FoldedGrid(read_grid(newer_grid(tmp_path / "grid")))
    text = summary_markdown(folded, summarise(folded, tmp_path), (), pages=None)
    assert "Newer than the set of clauses, fails nothing: 1" in text
    assert f"{CLAUSE} on {NEW}, plaintext" in text
