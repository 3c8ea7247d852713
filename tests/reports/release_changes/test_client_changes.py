"""What becomes of the clients that a grid tried with both releases."""

from __future__ import annotations

from pathlib import Path

from reports.release_changes.client_changes import client_changes
from tests.reports.release_changes.grids import grid_of_two_releases
from upgrade.planning.release_names import ends_named

ENDS = ends_named("2.3.1", "4.4.0")


def test_operations_count_if_they_were_tried_with_both(tmp_path: Path) -> None:
    """What was tried with one release only says nothing about an upgrade."""
    grid = grid_of_two_releases(
        tmp_path,
        operations={
            "one-1.0.produce": ("conforms", "conforms"),
            "one-1.0.fetch": ("conforms", "violates"),
            "one-1.0.share": ("informational", "conforms"),
            "one-1.0.acls": ("inconclusive", "conforms"),
            "one-1.0.other": ("conforms", ""),
            "two-2.0.produce": ("", "conforms"),
        },
    )
    (change,) = client_changes(grid, *ENDS)
    assert change.client == "one-1.0"
    assert (change.lost, change.gained, change.unclear) == (("fetch",), ("share",), ("acls",))
    assert change.before == "2 work, 1 unsupported, 1 not judged"
    assert change.after == "3 work, 1 fail"
    assert change.result == "✕ breaks: fetch; new: share; not judged: acls"
