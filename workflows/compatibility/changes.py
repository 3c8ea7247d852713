"""What changes from one compatibility.json to the next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from reports.wording.escaping import markdown_text
from workflows.compatibility.data import Compatibility, Finding

MAX_ROWS = 30


def changes_between(before: Compatibility, after: Compatibility) -> str:
    """Return in Markdown which findings, products and operations come, go or change; empty if none does."""
    old, new = _by_id(before), _by_id(after)
    judged = {
        (product.id, role) for product in after.products for role, is_judged in product.judged.items() if is_judged
    }
    gone = [old[id_] for id_ in sorted(old.keys() - new.keys())]
    kept = [(old[id_], new[id_]) for id_ in new if id_ in old]
    parts = (
        _listed(
            "New findings",
            [f"{_line(new[id_])}, in {_versions(new[id_])}" for id_ in new if id_ not in old],
            "For the owners of these products: `python -m workflows.compatibility.tracker_text docs/findings/ID` prints a text with the bytes.",
        ),
        _listed(
            "Not seen any more, although the version was judged",
            [f"{_line(each)}, in {_versions(each)}" for each in gone if _was_judged(each, judged)],
            "These are withdrawn: say so in CHANGELOG.md, and to the owner if it was reported.",
        ),
        _listed(
            "Gone with their versions, which were not judged this time",
            [f"{_line(each)}, in {_versions(each)}" for each in gone if not _was_judged(each, judged)],
        ),
        _listed(
            "In other versions than before",
            [
                f"{_line(later)}: {_versions(earlier)}; now {_versions(later)}{f'; fixed in {later.fixed}' if later.fixed else ''}"
                for earlier, later in kept
                if earlier.broken.keys() != later.broken.keys()
            ],
        ),
        _listed("Clients whose operations changed", list(_changed_clients(before, after))),
    )
    return "\n\n".join(filter(None, parts))


def _was_judged(finding: Finding, judged: Collection[tuple[str, str]]) -> bool:
    """Return whether one of its versions was judged in the role of the runs that showed it."""
    return any((version, finding.role) in judged for version in finding.broken)


def _by_id(data: Compatibility) -> Mapping[str, Finding]:
    return {finding.id: finding for finding in data.findings}


def _line(finding: Finding) -> str:
    return f"`{finding.id}`: {markdown_text(finding.title)}"


def _versions(finding: Finding) -> str:
    return markdown_text(", ".join(finding.broken))


def _listed(title: str, lines: Sequence[str], note: str = "") -> str:
    if not lines:
        return ""
    more = [f"- and {len(lines) - MAX_ROWS} more"] if len(lines) > MAX_ROWS else []
    rows = "\n".join([*(f"- {line}" for line in lines[:MAX_ROWS]), *more])
    return "\n\n".join(filter(None, (f"### {title}: {len(lines)}", rows, note)))


def _changed_clients(before: Compatibility, after: Compatibility) -> Iterator[str]:
    old, new = _cells(before), _cells(after)
    for (client, operation), by_release in new.items():
        earlier = old.get((client, operation), {})
        changed = [
            f"{release} {earlier[release]} → {symbol}"
            for release, symbol in by_release.items()
            if release in earlier and earlier[release] != symbol
        ]
        if changed:
            yield f"{markdown_text(client)}, {operation}: {', '.join(changed)}"


def _cells(data: Compatibility) -> Mapping[tuple[str, str], Mapping[str, str]]:
    return {
        (client.client, operation): dict(zip(data.releases, symbols, strict=True))
        for client in data.clients
        for operation, symbols in client.operations.items()
    }
