"""The colours of the style sheet have enough contrast, in light and dark."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from reports.grid.addresses import STYLE_SHEET

_STYLE = files("reports.site").joinpath(STYLE_SHEET).read_text(encoding="utf-8")
_PALETTES = [
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", _STYLE, re.DOTALL)
]


def _luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_light_and_dark_name_the_same_colours() -> None:
    """No colour is missing from one palette and taken from the other by mistake."""
    light, dark = _PALETTES
    assert light.keys() == dark.keys()


@pytest.mark.parametrize("palette", _PALETTES, ids=["light", "dark"])
def test_text_and_edges_stand_out(palette: dict[str, str]) -> None:
    """Text has a contrast of 4.5 to 1 with every possible background, edges and the focus of 3 to 1."""
    for ground in ("page", "panel", "band", "here"):
        for text in ("text", "quiet", "link", "conforms", "grey"):
            assert _contrast(palette[text], palette[ground]) >= 4.5, (text, ground)
        for edge in ("edge", "focus"):
            assert _contrast(palette[edge], palette[ground]) >= 3, (edge, ground)
    for name in ("violates", "known", "doubt", "note"):
        for text in (name, "text"):
            assert _contrast(palette[text], palette[f"{name}-bg"]) >= 4.5, (text, name)


def test_nothing_is_fetched() -> None:
    """The style sheet refers to no other file and no other host."""
    assert "url(" not in _STYLE
    assert "@import" not in _STYLE
