"""Pages about the upgrades that are asked about most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from reference_model.profiles.profile import NEWEST_RELEASE
from reports.document.markdown_form import markdown
from reports.release_changes.sections import upgrade_report
from reports.release_changes.upgrade import upgrade_between
from upgrade.planning.release_names import ends_named

LAST_WITH_ZOOKEEPER = "3.9.2"
UPGRADES = (("2.8.2", LAST_WITH_ZOOKEEPER), ("2.8.2", NEWEST_RELEASE), (LAST_WITH_ZOOKEEPER, NEWEST_RELEASE))


def _file(before: str, after: str) -> str:
    return f"{before}-to-{after}.md"


UPGRADE_PAGES: Mapping[str, str] = {f"{before} to {after}": _file(before, after) for before, after in UPGRADES}
"""Maps what an upgrade is called to the file of its page below docs/upgrades."""


def upgrade_page(before: str, after: str) -> Iterable[str]:
    """Yield the page of an upgrade from one release to another, by the recorded tables."""
    yield markdown(upgrade_report(upgrade_between(*ends_named(before, after))))
    if LAST_WITH_ZOOKEEPER in (before, after):
        whole = next(_file(old, new) for old, new in UPGRADES if LAST_WITH_ZOOKEEPER not in (old, new))
        yield f"4.0 and newer do not run with ZooKeeper: a cluster that has it migrates to KRaft while it runs 3.9, see [the way]({whole}#on-the-way).\n"


def upgrade_pages() -> Mapping[str, Callable[[], Iterable[str]]]:
    """Return what yields each page, by its path."""
    return {f"docs/upgrades/{_file(*ends)}": partial(upgrade_page, *ends) for ends in UPGRADES}
