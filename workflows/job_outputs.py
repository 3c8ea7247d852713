"""Writes a workflow step's outputs and the job's summary to the files that GitHub provides.

Outside a workflow both go to standard output, so that every step can be run by hand.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import click

OUTPUTS_VARIABLE = "GITHUB_OUTPUT"
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


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
