"""Client software names: what each strategy reaches, which bounds it keeps, what it shrinks to."""

from __future__ import annotations

import re
from functools import partial
from operator import eq

from hypothesis import given
from hypothesis import strategies as st

from strategies.software_names import (
    KNOWN_CLIENTS,
    PLAIN_SOFTWARE,
    Software,
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software,
    legal_software_texts,
    software,
    software_with_one,
)
from tests.strategies.search import find_any, minimal, unmet

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


def test_well_known_clients_are_drawn() -> None:
    """Legal software is often what a well-known client sends, and is unknown software too."""
    wanted = {"-".join(known): partial(eq, known) for known in KNOWN_CLIENTS}
    names = {known.name for known in KNOWN_CLIENTS}
    assert not unmet(legal_software(), wanted)
    assert find_any(legal_software(), lambda drawn: drawn.name not in names)


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


def test_legal_texts_reach() -> None:
    """Legal texts are short or long, and contain dots and hyphens."""
    assert not unmet(
        legal_software_texts(),
        {
            "one-character": lambda text: len(text) == 1,
            "two-characters": lambda text: len(text) == 2,
            "two-dots": lambda text: ".." in text,
            "two-hyphens": lambda text: "--" in text,
            "begins-with-a-digit": lambda text: text[0].isdigit(),
            "capitals": lambda text: text.isupper(),
            "length-in-two-bytes": lambda text: len(text) >= 128,
            "long-with-a-dot": lambda text: len(text) > 20 and "." in text,
            "as-long-as-a-buffer": lambda text: len(text) == 4096,
            "longest": lambda text: len(text) == 32767,
        },
    )


def test_edge_punctuation_reaches() -> None:
    """Punctuation stands alone, at the beginning, at the end and at both ends."""
    assert not unmet(
        edge_punctuation_texts(),
        {
            "dot": lambda text: text == ".",
            "hyphen": lambda text: text == "-",
            "beginning": lambda text: text[0] in ".-" and text[-1].isalnum(),
            "end": lambda text: text[0].isalnum() and text[-1] in ".-",
            "both": lambda text: len(text) > 2 and {text[0], text[-1]} <= {*".-"},
        },
    )


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


def test_texts_shrink_to_one_character() -> None:
    """Texts shrink to a letter, a punctuation mark or nothing, unless a condition needs more."""
    assert minimal(legal_software_texts()) == "a"
    assert minimal(legal_software_texts(), lambda text: "." in text) == "a.a"
    assert minimal(edge_punctuation_texts()) == "."
    assert minimal(edge_punctuation_texts(), lambda text: len(text) > 1) == ".0"
    assert minimal(illegal_software_texts()) == ""
    assert minimal(illegal_software_texts(), lambda text: len(text) > 0) == "_"


@given(drawn=software(names=st.just("a"), versions=st.just("1")))
def test_software_takes_names_and_versions_apart(drawn: Software) -> None:
    """Name and version come from their own strategies if both are given."""
    assert drawn == Software("a", "1")


def test_software_draws_both_from_names_where_versions_are_not_given() -> None:
    """Without a strategy for versions, both name and version are drawn from the same texts."""
    drawn = find_any(
        software(names=st.sampled_from("xy")), lambda found: found.name != found.version
    )
    assert set(drawn) == {"x", "y"}


@given(drawn=software_with_one(st.just("odd text")))
def test_exactly_one_of_name_and_version_is_odd(drawn: Software) -> None:
    """Exactly one of name and version is drawn, and the other is plain."""
    assert drawn in {("odd text", PLAIN_SOFTWARE.version), (PLAIN_SOFTWARE.name, "odd text")}


def test_either_of_name_and_version_is_odd() -> None:
    """Either can be the odd one, and the smallest example has the odd text as the name."""
    texts = software_with_one(st.just("odd text"))
    assert find_any(texts, lambda found: found.version == "odd text").name == PLAIN_SOFTWARE.name
    assert minimal(texts) == Software("odd text", PLAIN_SOFTWARE.version)
