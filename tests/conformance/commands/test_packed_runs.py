"""Runs in packs are at hand in folders that lists can name."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.commands.packed_runs import packs_taken_in
from conformance.packs import taking_in


def test_the_folder_of_a_pack_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack that the roll-up refuses, such as one with the id of another run, is listed by its folder."""
    monkeypatch.setattr(taking_in, "take_in", lambda _, folder: folder.mkdir(parents=True))
    packs = [tmp_path / "mine.pack", tmp_path / ".hidden"]
    for pack in packs:
        pack.write_bytes(b"")
    with packs_taken_in([str(tmp_path), *map(str, packs)]) as at_hand:
        assert at_hand.roots[0] == str(tmp_path)
        assert [Path(root).name for root in at_hand.roots[1:]] == ["pack-mine.pack", "pack-.hidden"]
