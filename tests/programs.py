"""Programs that some tests need, and scripts that take the place of programs.

No Python package installs the programs that are needed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fixtures.cleanup.confinement import can_confine

HOW_TO_GET = {
    "chromium": "apt-get install chromium, or its path in CHROMIUM",
    "w3m": "apt-get install w3m",
    "go": "https://go.dev/dl",
}


def require_program(name: str, *alternatives: str) -> str:
    """Return the path of a program, or of the first alternative on the PATH.

    Without any of them the test is skipped, with the way to get the program; where `CI` is set it fails instead.
    """
    paths = (shutil.which(each) for each in (name, *alternatives))
    path = next(filter(None, paths), None)
    if path is None:
        missing = f"{name} is not on the PATH; to get it: {HOW_TO_GET[name]}"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return path


def write_program(folder: Path, name: str, script: str) -> Path:
    """Write a shell script that takes the place of a program; return its path."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)
    return file


needs_landlock = pytest.mark.skipif(
    not can_confine(),
    reason="this machine has no Landlock; it needs Linux 5.19 or newer with this security module",
)
