"""Client software names: which bounds each strategy keeps, and what it reaches besides the tails in `conformance/mutation/tails.py`."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from strategies.software_names import (
    PLAIN_SOFTWARE,
    Software,
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software,
    legal_software_texts,
    software_with_one,
)
from tests.strategies.search import unmet

KAFKAS_EXPRESSION = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
TEXT_OF_THE_KIP = re.compile(r"[.\-a-zA-Z0-9]+")


@given(text=legal_software_texts())
def test_legal_text_is_one_that_kafka_accepts(text: str) -> None:
    """A legal text matches Kafka's regular expression and is not longer than a string can be."""
    assert KAFKAS_EXPRESSION.fullmatch(text)
    assert len(text.encode()) <= 32767


@given(drawn=legal_software())
def test_legal_software_is_one_that_kafka_accepts(drawn: Software) -> None:
    """Name and version of legal software match Kafka's expression, also those of well-known clients."""
    assert KAFKAS_EXPRESSION.fullmatch(drawn.name)
    assert KAFKAS_EXPRESSION.fullmatch(drawn.version)


@given(text=edge_punctuation_texts())
def test_edge_punctuation_is_what_text_and_code_differ_on(text: str) -> None:
    """A text with punctuation at an edge matches the KIP's regular expression but not Kafka's."""
    assert TEXT_OF_THE_KIP.fullmatch(text)
    assert not KAFKAS_EXPRESSION.fullmatch(text)


@given(text=illegal_software_texts())
def test_illegal_text_is_one_that_nobody_accepts(text: str) -> None:
    """An illegal text matches neither regular expression, and can be encoded as UTF-8."""
    assert not TEXT_OF_THE_KIP.fullmatch(text)
    text.encode()


def test_illegal_texts_reach() -> None:
    """Illegal texts are empty, or have control characters, symbols or letters of other scripts."""
    assert not unmet(
        illegal_software_texts(),
        {
            "empty": lambda text: text == "",
            "newline-at-the-end": lambda text: text.endswith("\n"),
            "nul": lambda text: "\0" in text,
            "underscore-inside": lambda text: "_" in text[1:-1],
            "space-at-an-edge": lambda text: text.strip() != text,
            "beyond-16-bits": lambda text: any(ord(each) > 0xFFFF for each in text),
            "foreign-letter": lambda text: not text.isascii() and text.isalnum(),
            "long": lambda text: len(text) > 8,
            "about-300": lambda text: 290 < len(text) < 310,
            "longest": lambda text: len(text.encode()) == 32767,
            "long-and-wrong-at-the-end": lambda text: len(text) > 99 and text[-1] == "\n",
            "long-and-wrong-at-the-start": lambda text: len(text) > 99 and text[0] == "_",
            "long-and-wrong-inside": lambda text: (
                len(text) > 99 and text[:9].isalnum() and text[-9:].isalnum()
            ),
        },
    )


@given(drawn=software_with_one(st.just("odd text")))
def test_exactly_one_of_name_and_version_is_odd(drawn: Software) -> None:
    """Exactly one of name and version is drawn, and the other is plain."""
    assert drawn in {("odd text", PLAIN_SOFTWARE.version), (PLAIN_SOFTWARE.name, "odd text")}
