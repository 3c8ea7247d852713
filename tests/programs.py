"""What some tests need of the machine, and no Python package installs."""

from __future__ import annotations

import os
import shutil

import pytest

from fixtures.cleanup.confinement import OLDEST_VERSION, landlock_version

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


needs_landlock = pytest.mark.skipif(
    landlock_version() < OLDEST_VERSION,
    reason="this machine has no Landlock; it needs Linux 5.19 or newer with this security module",
)
