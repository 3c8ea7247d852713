"""Renders a page in a text browser."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.programs import require_program


def dump_in_w3m(page: Path, *options: str) -> str:
    """Return a page as w3m shows it, 160 columns wide."""
    return subprocess.run(
        [require_program("w3m"), "-dump", "-cols", "160", *options, "-T", "text/html", page],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
