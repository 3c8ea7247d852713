"""Access to GitHub through its command line client `gh`, which every hosted runner has and which handles the token."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from reports.suite_command import CannotWork


def gh(*arguments: str) -> str:
    """Run `gh` and return what it printed.

    Raises:
        CannotWork: it is missing or failed; the message has its error output.
    """
    try:
        finished = subprocess.run(
            ["gh", *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except FileNotFoundError as error:
        raise CannotWork("gh is not installed") from error
    if finished.returncode != 0:
        raise CannotWork(f"gh {arguments[0]} failed: {finished.stderr.strip()}")
    return finished.stdout


def gh_json(*arguments: str) -> Any:
    """Run `gh` and parse its output as JSON."""
    return json.loads(gh(*arguments))
