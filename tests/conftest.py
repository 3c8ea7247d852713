"""Which tests share a worker with `--dist loadgroup`."""

from __future__ import annotations

import pytest

SHARED = {
    "spark": "spark",
    "healthy_run": "runs of the suite",
    "defects_run": "runs of the suite",
    "every_defect_run": "runs of the suite",
}
"""Session fixtures that take long to make, with the group of all modules that use them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Make each module a group, except that the modules with a shared fixture are one group."""
    if not config.getoption("loadgroup", default=False):
        return
    groups: dict[str, str] = {}
    for item in items:
        module = item.nodeid.partition("::")[0]
        shared = [SHARED[name] for name in getattr(item, "fixturenames", ()) if name in SHARED]
        groups.setdefault(module, module)
        groups[module] = next(iter(shared), groups[module])
    for item in items:
        group = groups[item.nodeid.partition("::")[0]]
        item.add_marker(pytest.mark.xdist_group(group))
