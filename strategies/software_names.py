"""Strategies for client software names and versions: legal, with punctuation at an end, and illegal.

Source: KIP-511, validation of the fields.
"""

from __future__ import annotations

import string
from typing import NamedTuple

from hypothesis import strategies as st

from strategies.header_fields import lengths_at_buffer_sizes
from strategies.weights import one_branch
from wire.headers import PLAIN_CLIENT_ID, PLAIN_SOFTWARE_VERSION
from wire.primitives import INT16_MAX

_ALPHANUMERIC = string.ascii_letters + string.digits
_LEGAL = _ALPHANUMERIC + ".-"


class Software(NamedTuple):
    """The client software name and version in ApiVersions v3 and later."""

    name: str
    version: str


PLAIN_SOFTWARE = Software(PLAIN_CLIENT_ID, PLAIN_SOFTWARE_VERSION)

KNOWN_CLIENTS = (
    Software("apache-kafka-java", "4.3.0"),
    Software("apache-kafka-java", "2.4.0"),
    Software("librdkafka", "2.16.0"),
    Software("librdkafka", "1.4.0"),
    Software("confluent-kafka-python", "2.16.1-rdkafka-2.16.0"),
    Software("confluent-kafka-javascript", "v1.6.0-librdkafka-2.12.0"),
    Software("karafka", "v2.5.0-rdkafka-ruby-v0.19.5-librdkafka-v2.8.0"),
    Software("kafka-python", "3.0.12"),
    Software("sarama", "v1.46.3"),
    Software("sarama", "dev"),
    Software("kgo", "v1.22.0"),
    Software("kgo", "unknown"),
    Software("platformatic-kafka", "1.35.0"),
    Software("kafka-ts", "unknown"),
    Software("rskafka", "0.6.0"),
)
"""Names and versions as well-known clients send them. Brokers treat some of these specially, to work round their bugs."""


def is_illegal_text(text: str) -> bool:
    """Return whether a name or version is illegal by every reading of the KIP: empty, or with another character than these."""
    return not text or any(each not in _LEGAL for each in text)


def legal_software_texts() -> st.SearchStrategy[str]:
    """Texts that a broker must accept as name or version: up to 200 characters, or as long as a buffer."""
    edge = st.sampled_from(_ALPHANUMERIC)
    marks = st.sampled_from(".-")
    short = st.text(st.sampled_from(_LEGAL), max_size=12)
    middle = short | st.builds(lambda text, count: text * count, short, st.integers(1, 16))
    return one_branch(
        st.one_of(
            edge,
            st.builds(lambda letter, count: letter * count, edge, st.integers(1, 200) | _lengths()),
            st.builds(lambda first, text, last: first + text + last, edge, middle, edge),
            st.builds(
                lambda first, mark, count, last: first + mark * count + last,
                edge,
                marks,
                st.integers(1, 3),
                edge,
            ),
        )
    )


def _lengths() -> st.SearchStrategy[int]:
    """Lengths at the sizes of buffers, up to the longest string."""
    return lengths_at_buffer_sizes(INT16_MAX)


def known_clients() -> st.SearchStrategy[Software]:
    """Name and version of a client that is in wide use."""
    return st.sampled_from(KNOWN_CLIENTS)


def legal_software() -> st.SearchStrategy[Software]:
    """Name and version that a broker must accept; those of a well-known client in a third of the examples."""
    drawn = software(legal_software_texts())
    return one_branch(st.one_of(drawn, one_branch(drawn), known_clients()))


def edge_punctuation_texts() -> st.SearchStrategy[str]:
    """Texts of legal characters that begin or end with a dot or hyphen."""
    mark = st.sampled_from(".-")
    middle = st.text(st.sampled_from(_LEGAL), max_size=8)
    return st.one_of(
        mark,
        st.builds(lambda first, text: first + text, mark, middle),
        st.builds(lambda text, last: text + last, middle, mark),
    )


def illegal_software_texts() -> st.SearchStrategy[str]:
    """The empty text, and texts of any length with a character that is not a letter, digit, dot or hyphen."""
    around = st.text(st.sampled_from(_LEGAL), max_size=6)
    common = st.sampled_from("_ /+@:,;='\"\\\n\0é")
    any_other = st.characters(codec="utf-8", exclude_characters=_LEGAL)
    # In ASCII alone, so that the length in bytes is the drawn one.
    long = st.builds(
        lambda bad, position, length: (
            "a" * (position * (length - 1) // 2)
            + bad
            + "a" * (length - 1 - position * (length - 1) // 2)
        ),
        st.sampled_from("_ +\n"),
        st.sampled_from((0, 1, 2)),
        st.integers(9, 400) | _lengths(),
    )
    return one_branch(
        st.one_of(
            st.just(""),
            one_branch(long),
            one_branch(
                st.builds(lambda a, bad, b: a + bad + b, around, common | any_other, around)
            ),
            st.builds(lambda bad, around: bad + around, st.sampled_from("_ é+"), around),
            st.builds(lambda around, bad: around + bad, around, st.sampled_from("_\n")),
        )
    )


def software(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Software]:
    """Name and version, both drawn from `texts`."""
    return st.builds(Software, texts, texts)


def software_with_one(
    texts: st.SearchStrategy[str],
) -> st.SearchStrategy[Software]:
    """Name and version: one is drawn from `texts`, the other is a plain legal one."""
    return st.one_of(
        st.builds(Software, texts, st.just(PLAIN_SOFTWARE.version)),
        st.builds(Software, st.just(PLAIN_SOFTWARE.name), texts),
    )


PLAINLY_ILLEGAL = software_with_one(st.sampled_from(("", " ", "a b", "a/b", "é")))
"""Name and version, one of which is short and illegal by any reading of the KIP."""
