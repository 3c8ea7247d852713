"""The page of the toy."""

from __future__ import annotations

from proposals import ProposalPage
from reports.site.rendering import Site


def _write(site: Site) -> None:
    (site.out_dir / PAGE.address).write_text("pong")


PAGE = ProposalPage(address="ping.html", about="how fast it is", write=_write, tables={"pings": {"count": int}})
