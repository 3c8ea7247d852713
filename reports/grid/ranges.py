"""Range statements: the releases in which an implementation keeps each clause.

The releases are sorted, and neighbours with the same verdict for the same reason are one span. A statement starts with
the spans in which the clause holds, and ends where they end; "since" is only said of a span that reaches the newest
release::

    in every release judged (0.10.0.1 to 4.4.0)
    since 2.4.0; not applicable before
    in 0.10.0.1 to 3.6.2, since 4.1.1; known violation in 3.7.2 to 4.0.2 (The new coordinator is switched off by
    default)
    works in 4.4.0; violates in 2.3.1; not tried in 3.9.2 to 4.3.1

A release that the grid has, but in which the clause was not tried, ends a span. It is named if it lies between releases
that were tried, because the verdict changes somewhere there, or may do so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from reports.grid.grid_tables import GridRange
from reports.records import OPERATION, SOUND_VERDICTS, Verdict
from reports.tables.cell_rows import GridCell
from reports.tables.target_rows import GridTarget
from reports.wording.verdict_labels import verdict_word

_MAX_CAUSE = 80
_MAX_SHORT = 64
_CAUSE = re.compile(r" \((?:[^()]|\([^()]*\))*\)(?=;|$)")
_LINK = re.compile(r"\s*\(https?://[^\s)]*\)")
_END_OF_CLAUSE = re.compile(r"[;:.](?=\s|$)")
_LONG_WORDS = {Verdict.KNOWN_VIOLATION: "known violation", Verdict.NOT_APPLICABLE: "not applicable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRelease:
    """One release in a range: its label, its verdict (None if the clause was not tried), and why it has it."""

    label: str
    verdict: Verdict | None
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """Neighbouring releases of one kind; `verdict` is None if they were not tried, and conforms if the clause holds."""

    verdict: Verdict | None
    cause: str
    first: str
    last: str
    is_newest: bool
    releases: int

    def __str__(self) -> str:
        if self.releases == 1:
            return self.first
        return f"since {self.first}" if self.is_newest else f"{self.first} to {self.last}"


def range_statement(releases: Sequence[JudgedRelease], *, role: str = "") -> str:
    """Return in words in which releases a clause holds.

    Args:
        releases: the oldest first; at least one of them was tried.
        role: what they were judged as; an operation is "unsupported" where it is not available.
    """
    tried = [index for index, each in enumerate(releases) if each.verdict is not None]
    spans = _spans(releases[tried[0] : tried[-1] + 1], reaches_newest=tried[-1] == len(releases) - 1)
    held = [span for span in spans if span.verdict is Verdict.CONFORMS]
    works, judged = ("works ", "tried") if role == OPERATION else ("", "judged")
    if held == spans:
        (span,) = spans
        if span.releases == 1:
            return f"{works}in {span.first}, the only release {judged}"
        return f"{works}in every release {judged} ({span.first} to {span.last})"
    if held and all(span.verdict in (None, Verdict.CONFORMS) for span in spans):
        count, every = sum(span.releases for span in held), tried[-1] - tried[0] + 1
        between = f"{spans[0].first} to {spans[-1].last}"
        return f"{works}in all {count} releases {judged} (of {every} from {between})"
    is_absent_before = bool(held) and spans[0].verdict is Verdict.NOT_APPLICABLE
    parts = [f"{works}{_spans_in_words(held)}"] if held else []
    parts += ["not applicable before"] if is_absent_before else []
    return "; ".join([*parts, *_exceptions(spans[is_absent_before:], role)])


def _spans_in_words(spans: Iterable[_Span]) -> str:
    joined = ", ".join(map(str, spans))
    return joined if joined.startswith("since ") else f"in {joined}"


def _spans(releases: Sequence[JudgedRelease], *, reaches_newest: bool) -> list[_Span]:
    groups = [list(group) for _, group in groupby(releases, key=_kind)]
    return [
        _Span(
            verdict=_kind(group[0])[0],
            cause=_kind(group[0])[1],
            first=group[0].label,
            last=group[-1].label,
            is_newest=reaches_newest and 0 < index == len(groups) - 1,
            releases=len(group),
        )
        for index, group in enumerate(groups)
    ]


def _kind(release: JudgedRelease) -> tuple[Verdict | None, str]:
    """Return what neighbours in a span share; why a clause does not apply changes nothing."""
    if release.verdict in SOUND_VERDICTS and release.verdict is not Verdict.UNEXPECTED_PASS:
        return Verdict.CONFORMS, ""
    return release.verdict, "" if release.verdict is Verdict.NOT_APPLICABLE else release.cause


def _exceptions(spans: Sequence[_Span], role: str) -> Iterator[str]:
    """Yield the spans in which the clause does not hold, grouped by verdict and cause, the oldest first."""
    grouped: dict[tuple[Verdict | None, str], list[_Span]] = {}
    for span in spans:
        if span.verdict is not Verdict.CONFORMS:
            grouped.setdefault((span.verdict, span.cause), []).append(span)
    for (verdict, cause), alike in grouped.items():
        words = "not tried" if verdict is None else _words(verdict, role)
        yield f"{words} {_spans_in_words(alike)}" + (f" ({cause})" if cause else "")


def _words(verdict: Verdict, role: str) -> str:
    """Return a verdict in words that need no table around them."""
    return _LONG_WORDS.get(verdict) or verdict_word(verdict, role)


def short_cause(text: str) -> str:
    """Return the beginning of a declaration or reason, without web addresses.

    It ends at the first full stop, colon or semicolon, and long texts are cut with an ellipsis.
    """
    plain = _LINK.sub("", text).strip()
    first = _END_OF_CLAUSE.split(plain, maxsplit=1)[0].strip()
    return first if len(first) <= _MAX_CAUSE else f"{first[: _MAX_CAUSE - 1].rstrip()}…"


def grid_ranges(cells: Iterable[GridCell], targets: Sequence[GridTarget], roles: Mapping[str, str]) -> list[GridRange]:
    """Return the range statement of each clause, implementation and listener that was judged."""
    known = {(entry.target, entry.listener): entry for entry in targets}
    operations = {clause for clause, role in roles.items() if role == OPERATION}
    # A release in which only operations were tried is no gap between those that were judged as brokers.
    families = _families(entry for entry in targets if entry.role != OPERATION)
    all_families = _families(known.values())
    cells_by_target: dict[tuple[str, str, str], dict[str, GridCell]] = {}
    for cell in cells:
        implementation = known[cell.target, cell.listener].implementation
        cells_by_target.setdefault((cell.clause, implementation, cell.listener), {})[cell.target] = cell
    return [
        _range(
            key,
            [
                _judged(label, of_target.get(target))
                for target, label in (all_families if key[0] in operations else families)[key[1:]].items()
            ],
            roles.get(key[0], ""),
        )
        for key, of_target in cells_by_target.items()
    ]


def _families(targets: Iterable[GridTarget]) -> Mapping[tuple[str, str], Mapping[str, str]]:
    """Return the targets of each implementation and listener, the oldest first, each with its name in statements."""
    families: dict[tuple[str, str], list[GridTarget]] = {}
    for entry in targets:
        families.setdefault((entry.implementation, entry.listener), []).append(entry)
    for members in families.values():
        # In reverse order a variant such as "3.9.2-zookeeper" comes before "3.9.2", which continues in the next
        # release.
        members.sort(key=lambda entry: entry.target, reverse=True)
        members.sort(key=lambda entry: (entry.release_order, entry.release))
    return {key: _labels(members) for key, members in families.items()}


def _labels(members: Sequence[GridTarget]) -> Mapping[str, str]:
    """Return the name of each target in statements: its release, or its id if several targets share that."""
    releases = [entry.release for entry in members]
    return {
        entry.target: entry.release
        if releases.count(entry.release) == 1
        # A row is about one implementation, so its name in front says nothing.
        else entry.target.removeprefix(f"{entry.implementation}-")
        for entry in members
    }


def _judged(label: str, cell: GridCell | None) -> JudgedRelease:
    if cell is None:
        return JudgedRelease(label=label, verdict=None)
    return JudgedRelease(label=label, verdict=cell.verdict, cause=short_cause(cell.why))


def _range(key: tuple[str, str, str], releases: Sequence[JudgedRelease], role: str) -> GridRange:
    held = [each.label for each in releases if each.verdict in SOUND_VERDICTS]
    clause, implementation, listener = key
    return GridRange(
        clause=clause,
        implementation=implementation,
        listener=listener,
        statement=range_statement(releases, role=OPERATION if role == OPERATION else ""),
        first_held=held[0] if held else None,
        last_held=held[-1] if held else None,
        releases=sum(each.verdict is not None for each in releases),
    )


def short_statement(statement: str) -> str:
    """Return a statement without its causes, and cut to the width of a table's column."""
    plain = _CAUSE.sub("", statement)
    return plain if len(plain) <= _MAX_SHORT else f"{plain[: _MAX_SHORT - 1].rstrip(' ,;')}…"
