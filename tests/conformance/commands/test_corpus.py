"""`corpus pin` replaces its file completely or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands.corpus import PINNED_FILE, corpus
from conformance.corpus.entries import CorpusEntry, format_entry, load_corpus

commands_corpus = sys.modules["conformance.commands.corpus"]
ENTRIES = tuple(CorpusEntry(name=name, origin="o", data=name.encode()) for name in ("a", "b"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a corpus with a pinned file; the source now pins two examples."""
    monkeypatch.setattr(commands_corpus, "CORPUS_FOLDER", tmp_path)
    monkeypatch.setattr(commands_corpus, "pinned_entries", lambda: ENTRIES)
    (tmp_path / PINNED_FILE).write_text(
        format_entry(CorpusEntry(name="old", origin="o", data=b"old"))
    )
    return tmp_path


def test_pinned_examples_that_others_store_are_left_out(folder: Path) -> None:
    """Entries that are no longer pinned are removed, and bytes that another file has are not added."""
    (folder / "found.toml").write_text(format_entry(CorpusEntry(name="x", origin="o", data=b"a")))
    result = CliRunner().invoke(corpus, ["pin"])
    assert result.exit_code == 0, result.output
    assert [entry.name for entry in load_corpus(folder)] == ["x", "b"]
    assert {path.name for path in folder.iterdir()} == {"found.toml", PINNED_FILE}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("no TOML", id="broken"),
        pytest.param(
            format_entry(CorpusEntry(name="a", origin="o", data=b"other")), id="same-name"
        ),
    ],
)
def test_wrong_corpus_keeps_its_pinned_file(folder: Path, other: str) -> None:
    """If another file is wrong, the pinned file is unchanged."""
    (folder / "found.toml").write_text(other)
    before = (folder / PINNED_FILE).read_bytes()
    result = CliRunner().invoke(corpus, ["pin"])
    assert result.exit_code == 4, result.output
    assert (folder / PINNED_FILE).read_bytes() == before
