"""A location names headings that its KIP has, each below the one before it.

A reader can therefore find the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from clauses.catalogue import Clause, catalogue
from proposals import proposals

NAME = "kip_headings.txt"
FILES = (
    Path(__file__).with_name(NAME),
    *(Path(str(each.folder / "tests" / NAME)) for each in proposals() if each.clauses),
)
"""Files of headings: a KIP in a line of its own, and its headings below it, indented by four spaces a level."""
INDENT = 4
_REMARK = re.compile(r"$| \(|: ")
"""What may follow the last heading: nothing, or a remark."""
_SEPARATOR = re.compile(r"; (?![^(]*\))")
"""What separates references; not inside a remark in parentheses."""


class Heading(NamedTuple):
    """A heading, and those that it is part of, the outermost first."""

    text: str
    above: tuple[str, ...]


Headings = Mapping[str, tuple[Heading, ...]]
"""By KIP, in the order of its page."""


def read_headings(text: str) -> Headings:
    """Read a file of headings."""
    found: dict[str, list[Heading]] = {}
    path: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        level, rest = divmod(len(line) - len(line.lstrip()), INDENT)
        assert rest == 0, line
        assert level <= len(path), line
        path = [*path[:level], line.strip()]
        if level:
            found[path[0]].append(Heading(path[-1], tuple(path[1:-1])))
        else:
            found[path[0]] = []
    return {kip: tuple(headings) for kip, headings in found.items()}


HEADINGS = {kip: found for path in FILES for kip, found in read_headings(path.read_text()).items()}


def problem_of(location: str, headings: Headings) -> str:
    """Return the first reference of a location that names no heading of its KIP; empty if there is none.

    A reference is "KIP-511, Public Interfaces, Metrics", perhaps with a remark: in parentheses, or after a colon.
    Levels may be left out.
    """
    for reference in _SEPARATOR.split(location):
        named = re.match(r"(KIP-\d+)(?: \(under discussion\))?(?:, (.*))?", reference)
        if named is None or named[1] not in headings or named[2] is None:
            continue
        if not any(_ends(named[2], (), headings[named[1]])):
            return reference
    return ""


def _ends(rest: str, above: tuple[str, ...], headings: tuple[Heading, ...]) -> Iterator[bool]:
    """Yield for each way to read a text as headings, each part of the one before: whether only a remark is left."""
    for each in headings:
        if rest.startswith(each.text) and set(above) <= set(each.above):
            left = rest.removeprefix(each.text)
            yield bool(_REMARK.match(left))
            if left.startswith(", "):
                yield from _ends(left.removeprefix(", "), (*each.above, each.text), headings)


@pytest.mark.parametrize("clause", tuple(catalogue()), ids=lambda clause: clause.id)
def test_location_names_headings_of_its_kip(clause: Clause) -> None:
    """A reader who looks for a heading finds it, below the one that is named before it."""
    assert problem_of(clause.location, HEADINGS) == ""


def test_every_kip_with_headings_is_named() -> None:
    """No headings are kept that no clause needs."""
    named = " ".join(clause.location for clause in catalogue())
    assert [kip for kip in HEADINGS if not re.search(rf"{kip}\b", named)] == []


SMALL = read_headings(
    """
# A comment.
KIP-1
    Public Interfaces
        Metrics
    Changes, Plan
        Broker
            Handling
        Client (Java)
            Handling
"""
)


@pytest.mark.parametrize(
    "location",
    [
        "KIP-1",
        "KIP-1 (silent; pinned from Apache Kafka)",
        "KIP-1, Public Interfaces, Metrics",
        "KIP-1, Changes, Plan",
        "KIP-1, Changes, Plan, Broker, Handling",
        "KIP-1, Changes, Plan, Client (Java), Handling (a remark; and more, Broken)",
        "KIP-1 (under discussion), Client (Java), Handling: a remark",
        "KIP-1, Changes, Plan, Handling",
        "KIP-1, Handling; KIP-1, Public Interfaces",
        "KIP-2, Anything; Protocol guide, Network",
    ],
)
def test_headings_may_have_commas_and_remarks(location: str) -> None:
    """Levels may be left out, and of KIPs without headings nothing is known."""
    assert problem_of(location, SMALL) == ""


@pytest.mark.parametrize(
    "location",
    [
        "KIP-1, Clients",
        "KIP-1, Public interfaces",
        "KIP-1, Public Interfaces, Handling",
        "KIP-1, Metrics, Public Interfaces",
        "KIP-1, Public Interfaces, for version 3",
        "KIP-1, Public Interfaces and Metrics",
        "KIP-1, Changes, Plan, Broker, Client (Java)",
    ],
)
def test_heading_that_is_not_there_is_found(location: str) -> None:
    assert problem_of(f"KIP-1, Metrics; {location}", SMALL) == location
