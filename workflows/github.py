"""Access to GitHub through its command line client `gh`.

Every hosted runner has it, and it handles the token.

A workflow step's outputs and the job's summary go to files that GitHub provides. Outside a workflow both go to standard
output, so that every step can be run by hand.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from reports.command_line.suite_command import CannotWork

OUTPUTS_VARIABLE = "GITHUB_OUTPUT"
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


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


def write_outputs(values: Mapping[str, str]) -> None:
    """Set a step's outputs.

    A value may contain anything: its delimiter is random, so it cannot set another output.
    """
    parts = []
    for name, value in values.items():
        end = f"end-{secrets.token_hex(16)}"
        parts.append(f"{name}<<{end}\n{value}\n{end}\n")
    _append(OUTPUTS_VARIABLE, "".join(parts))


def write_summary(markdown: str) -> None:
    """Add a text to the job's summary page."""
    _append(SUMMARY_VARIABLE, markdown.rstrip("\n") + "\n")


def _append(variable: str, text: str) -> None:
    path = os.environ.get(variable)
    if not path:
        click.echo(text, nl=False)
        return
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text)
