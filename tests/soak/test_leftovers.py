"""The checks of the soak find what is planted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak import leftovers
from tests.soak.leftovers import (
    Held,
    adopting_orphans,
    held_by,
    left_files,
    left_processes,
    rise,
    running_children,
)

SERVER = "import socket, time; server = socket.create_server(('127.0.0.1', 0)); time.sleep(60)"
"""Keeps a port open; it stands for a broker that was not ended."""


def test_daemon_with_a_port_is_found_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that has left its session, and whose parent has ended."""
    monkeypatch.setattr(leftovers, "ENDING_S", 0.5)
    with adopting_orphans():
        before = running_children()
        subprocess.run(["setsid", "--fork", sys.executable, "-c", SERVER], check=True)
        (sentence,) = left_processes(before)
        assert "socket.create_server" in sentence
        assert left_processes(before) == []


def test_process_that_ends_is_not_left() -> None:
    """It has a moment for that, and needs no parent that waits for it."""
    with adopting_orphans():
        before = running_children()
        subprocess.run(["setsid", "--fork", "sleep", "0.1"], check=True)
        assert left_processes(before) == []


def test_files_are_found(tmp_path: Path) -> None:
    """Each by its name."""
    assert left_files(tmp_path) == []
    (tmp_path / "kafka-conformance-1").mkdir()
    assert left_files(tmp_path) == [f"file left: {tmp_path / 'kafka-conformance-1'}"]


@pytest.mark.parametrize(
    ("values", "sentences"),
    [
        ([100.0] * 10, []),
        ([100.0] * 14 + [300.0], []),
        ([100.0, 100.0, *range(100, 160, 10), 160.0, 160.0], ["memory rose from 100.0 to 160.0"]),
    ],
    ids=["level", "one high", "rising"],
)
def test_rise_is_found(values: list[float], sentences: list[str]) -> None:
    """One value that is high is none, if the others are not."""
    assert rise("memory", values, most=1.2) == sentences


@pytest.mark.parametrize(
    ("more", "sentences"),
    [
        ({}, []),
        ({"files": leftovers.FEW_FILES, "mib": 5.0}, []),
        ({"files": leftovers.FEW_FILES + 1}, ["files grew from 10 to 27"]),
        ({"mib": 5.5}, ["memory grew from 50.0 to 55.5 MiB"]),
        (
            {"processes": 1, "threads": 1},
            ["processes grew from 1 to 2", "threads grew from 2 to 3"],
        ),
    ],
    ids=["nothing", "little", "files", "memory", "processes"],
)
def test_growth_is_found(more: dict[str, float], sentences: list[str]) -> None:
    """Each kind by itself."""
    before = {"processes": 1, "threads": 2, "files": 10, "mib": 50.0}
    after = {name: value + more.get(name, 0) for name, value in before.items()}
    assert Held(**after).growth_from(Held(**before), most_mib=5) == sentences  # type: ignore[arg-type]


def test_open_files_are_counted() -> None:
    """As the system counts them."""
    before = held_by(os.getpid())
    pipes = [os.pipe() for _ in range(20)]
    assert held_by(os.getpid()).files == before.files + 40
    for end in (end for pipe in pipes for end in pipe):
        os.close(end)
