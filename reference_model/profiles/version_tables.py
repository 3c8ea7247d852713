"""Tables of the versions that brokers support.

They show what is listed, which listed versions are refused, and how two tables differ.

A version that a table lists is not always served: since 4.0 a broker lists Produce from v0 on and closes the connection
on v0 to v2. What clients can use, and what two brokers have in common, is what they serve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import NamedTuple

from reference_model.profiles.known_apis import Range
from wire.api_versions import ApiVersion

Ranges = Mapping[int, Range]
"""The versions that a broker or a client supports, by API key."""


class Support(NamedTuple):
    """The versions of one API that a broker lists, and the listed versions that it refuses.

    `refused` is None if no listed version is known to be refused.
    """

    listed: Range
    refused: Range | None = None

    @property
    def served(self) -> Range | None:
        """The versions that a client can use; None if there is none."""
        return self.listed.without(self.refused)

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, *, between: str = "-") -> str:
        """Return the range as text, with what is refused of it: "0-13 (0-2 listed, refused)"."""
        text = self.listed.in_words(between=between)
        if self.refused is None:
            return text
        return f"{text} ({self.refused.in_words(between=between)} listed, refused)"


Table = Mapping[int, Support]
"""What a broker supports, by API key."""


def ranges_of(entries: Iterable[ApiVersion]) -> Ranges:
    """Return the entries of a table as ranges, by API key."""
    return {each.api_key: Range(each.min_version, each.max_version) for each in entries}


def table_of(listed: Ranges, refused: Ranges) -> Table:
    """Return a table, given what it lists and what is refused of that."""
    return {key: Support(range_, _shared(range_, refused.get(key))) for key, range_ in listed.items()}


def served_ranges(table: Table) -> Ranges:
    """Return what a table serves; an API without a version that is served is not in it."""
    served = {key: each.served for key, each in table.items()}
    return {key: range_ for key, range_ in served.items() if range_ is not None}


def intersection(tables: Sequence[Ranges]) -> Ranges:
    """Return the ranges that all tables share, by API key ascending; empty for no table."""
    return dict(sorted(reduce(_common, tables).items())) if tables else {}


def _common(one: Ranges, other: Ranges) -> Ranges:
    shared = {key: _shared(one[key], other[key]) for key in one.keys() & other.keys()}
    return {key: range_ for key, range_ in shared.items() if range_ is not None}


def _shared(one: Range, other: Range | None) -> Range | None:
    return None if other is None else one.common_with(other)


class RequestKind(StrEnum):
    """What a change of one API means for clients, the gravest first."""

    GONE = "gone"
    NOT_SERVED = "listed, refused"
    NO_COMMON = "no common version"
    RAISED = "minimum raised"
    LOWERED = "maximum lowered"
    NEW = "new"
    MORE = "further versions"
    LISTING = "only the list differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestChange:
    """An API that two tables support differently; `before` or `after` is None if a table does not list it."""

    api_key: int
    before: Support | None
    after: Support | None

    @property
    def served(self) -> tuple[Range | None, Range | None]:
        """The versions that are served before and after."""
        before, after = self.before, self.after
        return before and before.served, after and after.served

    @property
    def is_refusal_new(self) -> bool:
        """Whether the second table lists versions that are refused, which the first one serves or does not list."""
        refused = self.after and self.after.refused
        return refused is not None and refused != (self.before and self.before.refused)

    @property
    def kind(self) -> RequestKind:
        """What the change means for clients; the gravest if it means several things."""
        before, after = self.served
        if before is None and after is None:
            return RequestKind.LISTING
        if before is None:
            return RequestKind.NEW
        if after is None:
            return RequestKind.GONE if self.after is None else RequestKind.NOT_SERVED
        if self.is_refusal_new and before.common_with(after) != before:
            return RequestKind.NOT_SERVED
        if before.common_with(after) is None:
            return RequestKind.NO_COMMON
        if after.lowest > before.lowest:
            return RequestKind.RAISED
        if after.highest < before.highest:
            return RequestKind.LOWERED
        return RequestKind.LISTING if before == after else RequestKind.MORE

    @property
    def words(self) -> str:
        """What the second table serves more or less than the first, in words: "up to v18, from v4 on"."""
        before, after = self.served
        if before is None or after is None:
            return str(self.kind)
        parts = []
        if after.highest != before.highest:
            parts.append(f"{'up' if after.highest > before.highest else 'down'} to v{after.highest}")
        if after.lowest != before.lowest:
            parts.append(f"from v{after.lowest} on")
        if before.common_with(after) is None:
            parts.append(RequestKind.NO_COMMON)
        return ", ".join(parts) or RequestKind.LISTING


def request_changes(before: Table, after: Table) -> tuple[RequestChange, ...]:
    """Return the APIs that two tables support differently, by key ascending."""
    changes = (
        RequestChange(api_key=key, before=before.get(key), after=after.get(key))
        for key in sorted(before.keys() | after.keys())
    )
    return tuple(change for change in changes if change.before != change.after)
