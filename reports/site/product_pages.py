"""The pages of products: the bugs of all versions of each."""

from __future__ import annotations

from reports.grid import addresses
from reports.site.rendering import Site
from reports.site.target_pages import reports_of


def write_products(site: Site) -> None:
    """Write products/<product>.html for every product of which several versions were judged and one has a bug."""
    for versions in site.versions:
        site.render(
            addresses.product_page(versions.id),
            "product",
            versions=versions,
            rows=[(bug, reports_of(bug.evidence)) for bug in versions.bugs],
        )
