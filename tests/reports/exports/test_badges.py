"""Badges: the endpoint and the picture have the same content, and the text fits."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from reports.exports.badges import Badge, badge_svg
from reports.grid.addresses import BADGE_OF_ALL, badge_of_source, badge_of_target
from tests.reports.exports.grids import HOSTILE, NEW, OLD

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("address", "label", "message", "is_error"),
    [
        (BADGE_OF_ALL, "Kafka conformance", "✕ 1 MUST + 1 SHOULD, 2 bugs", True),
        (badge_of_target(OLD), "Apache Kafka 3.9.2", "✕ 1 MUST + 1 SHOULD, 2 bugs", True),
        (badge_of_target(NEW), "Apache Kafka 4.4.0", "✓ 0, ⚑ known 1", False),
        (badge_of_source("KIP-511"), "KIP-511", "✕ 1 MUST, 1 bug", True),
        (badge_of_source("KIP-35"), "KIP-35", "✕ 1 SHOULD, 1 bug", False),
    ],
)
def test_badge_says_what_is_broken_or_that_nothing_is(
    address: str, label: str, message: str, is_error: bool, small: Path
) -> None:
    """The endpoint has the form that shields.io reads; the picture's title and texts use the same words."""
    document = json.loads((small / f"{address}.json").read_text())
    assert document["schemaVersion"] == 1
    assert (document["label"], document["message"]) == (label, message)
    assert document["isError"] is is_error
    picture = ET.parse(small / f"{address}.svg").getroot()
    assert picture.findtext(f"{SVG}title") == f"{label}: {message}"
    assert [text.text for text in picture.iter(f"{SVG}text")] == [label, message]


@pytest.mark.parametrize("label", ["i", "Apache Kafka 4.4.0", "WWWWWWWW", "日本語", ""])
def test_text_fits_its_field(label: str) -> None:
    """Each text states its length, and fits into its half with space on both sides."""
    picture = ET.fromstring(badge_svg(Badge(label=label, message="✓ conforms 9", colour="1a6e3c", is_error=False)))
    fields = list(picture.iter(f"{SVG}rect"))
    texts = list(picture.iter(f"{SVG}text"))
    assert int(picture.get("width", "0")) == sum(int(field.get("width", "0")) for field in fields)
    for field, text in zip(fields, texts, strict=True):
        left = int(text.get("x", "0")) - int(field.get("x", "0"))
        right = int(field.get("width", "0")) - left - int(text.get("textLength", "0"))
        assert left >= 5
        assert right >= 5


def test_hostile_name_is_text_in_the_picture(hostile: Path) -> None:
    """The picture stays well-formed and short, and contains no element from the name."""
    picture = ET.parse(hostile / f"{badge_of_target(HOSTILE)}.svg").getroot()
    assert {element.tag.removeprefix(SVG) for element in picture.iter()} == {*("svg", "title", "rect", "g", "text")}
    label = json.loads((hostile / f"{badge_of_target(HOSTILE)}.json").read_text())["label"]
    assert len(label) == 60
    assert label.isprintable()
