"""Checks a page with axe in a real browser, and renders one in a text browser."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

from tests.programs import require_program

SIZES: Mapping[str, ViewportSize] = {
    "desktop": {"width": 1500, "height": 1000},
    "phone": {"width": 320, "height": 640},
}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def faults_of(page: Page) -> list[str]:
    """Return a page's faults against WCAG 2 A and AA, and whether it is wider than its window."""
    # Elements that passed are not described, because a large table has thousands. Axe would load the style sheets
    # again, which no browser allows for files.
    options = {"runOnly": RULES, "resultTypes": ["violations"], "preload": False}
    found = Axe().run(page, options=options).response
    faults = [
        f"{fault['id']} at {node['target']}: {node.get('failureSummary', '')[:200]}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        faults.append("wider than the window")
    return faults


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
