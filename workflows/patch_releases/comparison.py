"""Compares what releases of one line list, as their jars say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from reference_model.profiles.known_apis import Range, label_of
from reference_model.profiles.profile import line_of, release_order

Listed = dict[tuple[str, int], tuple[int, int]]
"""The lowest and highest version that a jar lists, by kind of listener and API key."""


def recorded_equals(listed: Mapping[str, Listed], recorded: Collection[str]) -> dict[str, str]:
    """Return for each release that is not recorded the newest recorded one of its line that lists the same.

    The text is empty if there is none.
    """
    return {
        release: max(
            (each for each in _of_line(release, listed, recorded) if listed[each] == own),
            key=release_order,
            default="",
        )
        for release, own in listed.items()
        if release not in recorded
    }


def difference(release: str, listed: Mapping[str, Listed], recorded: Collection[str]) -> Iterator[str]:
    """Yield how a recorded release differs from the next recorded one of its line, one line per API."""
    later = [each for each in _of_line(release, listed, recorded) if release_order(each) > release_order(release)]
    if not later or release not in listed:
        return
    other = min(later, key=release_order)
    for listener, api_key in sorted(listed[release].keys() | listed[other].keys()):
        one, two = (_words(listed[each].get((listener, api_key))) for each in (release, other))
        if one != two:
            where = f" on the {listener} listener" if listener else ""
            yield f"{label_of(api_key)}{where}: {one} in {release}, {two} in {other}"


def _of_line(release: str, listed: Mapping[str, Listed], recorded: Collection[str]) -> list[str]:
    return [each for each in recorded if each in listed and line_of(each) == line_of(release)]


def _words(range_: tuple[int, int] | None) -> str:
    return "not listed" if range_ is None else str(Range(*range_))
