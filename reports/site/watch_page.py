"""The page that `watch` writes: the outcome of each application with each release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.grid import addresses
from reports.records import Verdict
from reports.site.rendering import copy_static, render_alone


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedClient:
    """One client as the page shows it.

    Attributes:
        name: its software and its client id.
        address: its host, with the user if that is known.
        requests: its requests, one text for each API.
        outcomes: for each release the outcome in words, the verdict whose colour it has, and the reasons.
        violations: what it did against the rules: clause, sentence and bytes.
    """

    name: str
    address: str
    requests: Sequence[str]
    outcomes: Sequence[tuple[str, Verdict, Sequence[str]]]
    violations: Sequence[tuple[str, str, str]]


def write_watch_page(
    out_dir: Path,
    releases: Sequence[str],
    clients: Sequence[WatchedClient],
    *,
    remarks: Sequence[str],
    rehearsed: str,
) -> None:
    """Write the page with its style sheet and script.

    Args:
        out_dir: an existing folder.
        releases: the ids of the releases.
        clients: the clients, with one outcome for each release.
        remarks: what could not be seen, and how to read the page.
        rehearsed: the release that the cluster was made to look like; empty for none.

    Raises:
        OSError: a file cannot be written.
    """
    render_alone(
        out_dir,
        addresses.HOME,
        "watch",
        releases=releases,
        clients=clients,
        remarks=remarks,
        rehearsed=rehearsed,
    )
    copy_static(out_dir)
