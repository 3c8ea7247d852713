"""The old addresses of pages, each of which leads to the new one."""

from __future__ import annotations

from reports.grid import addresses
from reports.site.rendering import Site

_GOALS = {
    "findings.html": f"{addresses.RULES}?state=violates",
    "ranges.html": addresses.RULES,
    "about.html": addresses.WHY,
    "mutation.html": addresses.WHY,
    "speed.html": addresses.WHY,
}


def write_moved_pages(site: Site) -> None:
    """Write a page at each old address."""
    changes = addresses.CHANGES if site.has_changes else addresses.WHY
    for address, goal in {**_GOALS, "since.html": changes}.items():
        site.render(address, "moved", goal=goal)
