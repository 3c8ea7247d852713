"""Every text read from other programs' JSON can be written.

Reading raises nothing but a ValueError.
"""

from __future__ import annotations

import json

import pytest

from wire.foreign_json import read_foreign_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(r'{"a": ["x\ud800y", 1]}', {"a": ["x\ufffdy", 1]}, id="in-a-list"),
        pytest.param(r'{"\udfff": null}', {"\ufffd": None}, id="in-a-name"),
        pytest.param('"\ud800"', "\ufffd", id="not-escaped"),
        pytest.param(r'"\ud83d\ude00"', "\N{GRINNING FACE}", id="whole-pair"),
        pytest.param(r'"\\ud800"', r"\ud800", id="escaped-backslash"),
        pytest.param("[" * 100 + "]" * 100, json.loads("[" * 100 + "]" * 100), id="depth-100"),
        pytest.param(b"[true, 1.5]", [True, 1.5], id="bytes"),
    ],
)
def test_lone_surrogates_are_replaced(text: str | bytes, value: object) -> None:
    """A whole pair is one character, and everything else stays as it is."""
    assert read_foreign_json(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "1 2",
        '"\n"',
        pytest.param("[" * 200_000, id="nested"),
        pytest.param("[" * 101 + "]" * 101, id="nested-lists"),
        pytest.param('{"":' * 101 + "1" + "}" * 101, id="nested-objects"),
        pytest.param(b'"\xff"', id="no-utf-8"),
        pytest.param(b'"\xed\xa0\x80"', id="surrogate-in-utf-8"),
        pytest.param("1" * 5000, id="long-number"),
    ],
)
def test_everything_else_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_foreign_json(text)


def test_what_follows_and_control_characters_can_be_allowed() -> None:
    """A log entry goes on after its object, and a quoted text may have control characters."""
    assert read_foreign_json(r'{"a": "\ud800"} (class)', may_go_on=True) == {"a": "\ufffd"}
    assert read_foreign_json('"a\tb"', control_characters=True) == "a\tb"
