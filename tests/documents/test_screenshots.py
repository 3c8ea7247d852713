"""The pictures of the documents show the site as it is now."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from reference_model.profiles.profile import APACHE_KAFKA
from reports.site.rendering import Site
from workflows.documents.screenshots import GRID, NAVIGATION, SAMPLE, pictures

ROLES = ("broker", "client", "operation")
MOST_BYTES = 100_000
PICTURES = [GRID, *sorted(SAMPLE.glob("*.png"))]


def navigation_of(path: Path) -> list[tuple[str, str]]:
    """Return the navigation that a picture shows: address and title of each entry; none if the picture does not say it."""
    with Image.open(path) as image:
        return [(address, title) for address, title in json.loads(image.info.get(NAVIGATION, "[]"))]


def navigation_now() -> list[tuple[str, str]]:
    """Return the navigation of a site with every role, as it is before the first verdict has changed."""
    column = SimpleNamespace(implementation=APACHE_KAFKA)
    folded = SimpleNamespace(by_role=dict.fromkeys(ROLES), columns=[column])
    site: Any = SimpleNamespace(folded=folded, has_changes=False)
    return list(vars(Site)["pages"].func(site))


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_picture_shows_the_navigation_of_now(path: Path) -> None:
    """`nox -s screenshots -- SITE` takes them again."""
    assert navigation_of(path) == navigation_now()


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_picture_is_small(path: Path) -> None:
    """Everyone who clones the repository loads them."""
    assert path.stat().st_size <= MOST_BYTES
    with Image.open(path) as image:
        assert image.mode == "P"


def test_every_picture_is_there() -> None:
    """No picture is left of a page that is not shown any more."""
    assert {each.path for each in pictures("p", "u", "f")} == set(PICTURES)
