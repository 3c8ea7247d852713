"""The grid's page has the markup that a table of verdicts needs, and shows nothing unescaped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reports.grid_page import write_grid
from reports.records import Verdict
from reports.words import SYMBOLS, WORDS
from tests.reports.html_outline import Outline, outline_of
from tests.reports.roll_up_tables import (
    cell_row,
    clause_row,
    range_row,
    run_row,
    target_row,
    write_tables,
)

HOSTILE = "<script>alert(1)</script>\"'&"
SIGNATURE = "0123456789abcdef"
NEW, OLD, OTHER = "apache-kafka-4.4.0", "apache-kafka-3.9.2", "other-1.0"


def _small_grid(out_dir: Path, folder: str = "file:/nowhere") -> Path:
    return write_tables(
        out_dir,
        runs=[run_row(folder)],
        targets=[target_row(OTHER), target_row(OLD), target_row(NEW)],
        clauses=[
            clause_row("KIP-511.names", 2),
            clause_row("KIP-35.keys", 0),
            clause_row("KIP-35.order", 1, level="SHOULD"),
        ],
        cells=[
            cell_row("KIP-35.keys", NEW),
            cell_row("KIP-35.keys", OLD),
            cell_row("KIP-35.keys", OTHER, "violates", failures=[SIGNATURE]),
            cell_row("KIP-35.order", NEW, "inconclusive"),
            cell_row("KIP-35.order", OLD),
            cell_row("KIP-511.names", NEW, "known_violation", known_violation="KAFKA-1"),
            cell_row("KIP-511.names", OLD, "not_applicable", reason="no v3 is advertised"),
            cell_row("KIP-511.names", OTHER),
        ],
        ranges=[
            range_row("KIP-35.keys", "apache-kafka", "since 3.9.2, the oldest"),
            range_row("KIP-511.names", "apache-kafka", "known violation 4.4.0"),
        ],
        refused=[{"folder": "/runs/x", "refusal": "cut_off", "reason": "it was cut off"}],
    )


def _page(out_dir: Path) -> Outline:
    write_grid(out_dir)
    return outline_of((out_dir / "index.html").read_text(encoding="utf-8"))


def test_page_begins_with_the_verdict(tmp_path: Path) -> None:
    """One sentence says what matters most, in the title too."""
    page = _page(_small_grid(tmp_path))
    sentence = "✕ 1 MUST clause is violated on 1 of 3 targets."
    assert page.all("p", **{"class": "sentence"})[0].text == sentence
    assert page.all("title")[0].text.startswith(sentence)


def test_table_has_headers_in_both_directions(tmp_path: Path) -> None:
    """Sources head row groups, clauses rows, releases columns, majors column groups; runs the whole."""
    page = _page(_small_grid(tmp_path))
    table = [element.text for element in page.all("th")]
    assert [entry.text for entry in page.all("th", scope="rowgroup")] == ["KIP-35", "KIP-511"]
    groups = [entry.text for entry in page.all("th", scope="colgroup")]
    assert groups == ["Kafka 4.x", "Kafka 3.x", "other"]
    rows = [entry.text for entry in page.all("th", scope="row")][:3]
    assert rows == ["KIP-35.keysMUST", "KIP-35.orderSHOULD", "KIP-511.namesMUST"]
    columns = [text for text in table if text in ("4.4.0", "3.9.2", "1.0")]
    assert columns == ["4.4.0", "3.9.2", "1.0"]
    caption = page.all("caption")[0].text
    assert "20261121T143000Z-1a2b3c4d, 2026-11-21, suite 0.1.0, commit 0123456789ab" in caption


def test_cells_have_symbol_word_and_column(tmp_path: Path) -> None:
    """A cell never speaks by colour alone, and names its column for narrow screens."""
    page = _page(_small_grid(tmp_path))
    cells = [
        (cell.text, cell.attributes["data-label"])
        for cell in page.all("td")
        if "data-label" in cell.attributes
    ]
    assert cells[:4] == [
        ("since 3.9.2, the oldest", "Apache Kafka"),
        ("✓ conforms", "Apache Kafka 4.4.0"),
        ("✓ conforms", "Apache Kafka 3.9.2"),
        ("✕ violates 1", "other 1.0"),
    ]
    assert ("⚑ known", "Apache Kafka 4.4.0") in cells
    assert ("– n/a", "Apache Kafka 3.9.2") in cells


def test_cell_that_no_run_planned_is_not_run(tmp_path: Path) -> None:
    """Every clause has a cell for every target, planned or not."""
    page = _page(_small_grid(tmp_path))
    names = [link.attributes.get("aria-label", "") for link in page.all("a")]
    assert "KIP-35.order on other 1.0: not run, the target's latest run did not plan it" in names


def test_links_of_cells_have_full_names(tmp_path: Path) -> None:
    """A cell that is a link says clause, target, verdict and why without its table."""
    page = _page(_small_grid(tmp_path))
    names = [link.attributes.get("aria-label") for link in page.all("a")]
    assert "KIP-35.keys on other 1.0: violates, 1 distinct failure in 100 examples" in names
    assert "KIP-511.names on Apache Kafka 3.9.2: not applicable, no v3 is advertised" in names


def test_links_lead_somewhere(tmp_path: Path) -> None:
    """Every address on every page is one of its ids or a file beside it; nothing is remote."""
    failure = tmp_path / "run" / "failures" / SIGNATURE
    failure.mkdir(parents=True)
    (failure / "exchange.txt").write_text("00 12")
    out_dir = _small_grid(tmp_path / "out", (tmp_path / "run").as_uri())
    write_grid(out_dir)
    pages = sorted(out_dir.rglob("*.html"))
    assert len(pages) == 2
    for path in pages:
        page = outline_of(path.read_text(encoding="utf-8"))
        ids = {element.attributes.get("id") for element in page.elements}
        for link in page.all("a"):
            file, _, fragment = link.attributes["href"].partition("#")
            assert (path.parent / file).resolve().exists()
            assert file or fragment in ids
        assert not page.all("script")
        assert not any("src" in element.attributes for element in page.elements)
        assert "http" not in path.read_text(encoding="utf-8")


def test_refused_runs_are_listed(tmp_path: Path) -> None:
    """A folder that does not count is named with its reason."""
    page = _page(_small_grid(tmp_path))
    assert "/runs/x" in [entry.text for entry in page.all("dt")]
    assert "it was cut off" in [entry.text for entry in page.all("dd")]


def test_texts_from_runs_are_escaped(tmp_path: Path) -> None:
    """A target, clause, reason or file that carries markup shows it as text, on every page."""
    failure = tmp_path / "run" / "failures" / SIGNATURE
    failure.mkdir(parents=True)
    for name in ("exchange.txt", "example.txt", "reproducer.py"):
        (failure / name).write_text(HOSTILE)
    message = HOSTILE.replace('"', '\\"')
    (failure / "failure.json").write_text(f'{{"message": "{message}", "property_name": "<b>"}}')
    write_tables(
        tmp_path / "out",
        runs=[run_row((tmp_path / "run").as_uri(), tier=HOSTILE, suite_commit=HOSTILE)],
        targets=[target_row(HOSTILE, implementation=HOSTILE, release=HOSTILE, launcher=HOSTILE)],
        clauses=[clause_row(HOSTILE, level=HOSTILE, source=HOSTILE, statement=HOSTILE)],
        cells=[cell_row(HOSTILE, HOSTILE, "violates", failures=[SIGNATURE], reason=HOSTILE)],
        ranges=[range_row(HOSTILE, HOSTILE, HOSTILE)],
        refused=[{"folder": HOSTILE, "refusal": HOSTILE, "reason": HOSTILE}],
    )
    write_grid(tmp_path / "out")
    pages = sorted((tmp_path / "out").rglob("*.html"))
    assert len(pages) == 2
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert "<script" not in text
        assert outline_of(text).all("b") == []
    assert "<script" not in (tmp_path / "out" / "grid.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("signature", ["../../../etc", "..", ".hidden", "a/b", "", "x" * 200])
def test_signature_that_is_no_folder_name_has_no_evidence(signature: str, tmp_path: Path) -> None:
    """A signature never leads out of the folder of failures."""
    (tmp_path / "run" / "failures").mkdir(parents=True)
    write_tables(
        tmp_path / "out",
        runs=[run_row((tmp_path / "run").as_uri())],
        targets=[target_row(NEW)],
        clauses=[clause_row("C.a")],
        cells=[cell_row("C.a", NEW, "violates", failures=[signature])],
    )
    page = _page(tmp_path / "out")
    assert not (tmp_path / "out" / "evidence").exists()
    assert page.all("a", href="#C.a")


def test_links_and_large_files_are_not_copied(tmp_path: Path) -> None:
    """Evidence is small plain files, whatever a run folder holds."""
    failure = tmp_path / "run" / "failures" / SIGNATURE
    failure.mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (failure / "link.txt").symlink_to(tmp_path / "secret")
    (failure / "large.txt").write_bytes(b"x" * (1024 * 1024 + 1))
    (failure / "index.html").write_text("theirs")
    (failure / "example.txt").write_text("small")
    out_dir = _small_grid(tmp_path / "out", (tmp_path / "run").as_uri())
    write_grid(out_dir)
    evidence = out_dir / "evidence" / SIGNATURE
    assert {path.name for path in evidence.iterdir()} == {"example.txt", "index.html"}
    assert "theirs" not in (evidence / "index.html").read_text()


def test_second_rendering_leaves_no_old_evidence(tmp_path: Path) -> None:
    """Evidence of an earlier grid is gone from the folder."""
    out_dir = _small_grid(tmp_path)
    (out_dir / "evidence" / "old").mkdir(parents=True)
    write_grid(out_dir)
    assert not (out_dir / "evidence").exists()


def test_large_grid_stays_small(tmp_path: Path) -> None:
    """A page of 38 clauses and 13 targets, the size of the first release, is under 150 kB."""
    targets = [f"apache-kafka-{number}.0.0" for number in range(13)]
    clauses = [f"KIP-{number}.a-clause-with-a-longer-name" for number in range(38)]
    write_tables(
        tmp_path,
        targets=[target_row(name) for name in targets],
        clauses=[clause_row(name, place) for place, name in enumerate(clauses)],
        cells=[cell_row(clause, target) for clause in clauses for target in targets],
    )
    write_grid(tmp_path)
    assert (tmp_path / "index.html").stat().st_size < 150_000


def _luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _palettes(page: str) -> list[dict[str, str]]:
    blocks = re.findall(r":root \{(.*?)\}", page, re.DOTALL)
    return [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in blocks]


def test_text_contrast_is_enough_in_light_and_dark(tmp_path: Path) -> None:
    """Every text colour stands out 4.5 to 1 from what it can stand on, and edges 3 to 1."""
    write_grid(_small_grid(tmp_path))
    light, dark = _palettes((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert light.keys() == dark.keys()
    for palette in (light, dark):
        for ground in ("page", "panel", "band"):
            for text in ("text", "quiet", "link", "conforms", "grey"):
                assert _contrast(palette[text], palette[ground]) >= 4.5, (text, ground)
            assert _contrast(palette["edge"], palette[ground]) >= 3, ground
        for name in ("violates", "known", "doubt", "note"):
            for text in (name, "text"):
                assert _contrast(palette[text], palette[f"{name}-bg"]) >= 4.5, (text, name)


def test_every_verdict_has_symbol_word_and_style(tmp_path: Path) -> None:
    """No verdict is without its words, and no symbol or word stands for two."""
    write_grid(_small_grid(tmp_path))
    style = (tmp_path / "index.html").read_text(encoding="utf-8").partition("</style>")[0]
    assert len(set(SYMBOLS.values())) == len(set(WORDS.values())) == len(Verdict)
    for verdict in Verdict:
        assert f".{verdict.value}" in style
