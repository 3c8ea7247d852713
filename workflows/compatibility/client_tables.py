"""Tables of what works with which release.

That is the oldest versions of libraries, and the operations of clients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from clauses.operations import OPERATIONS
from reference_model.profiles.profile import release_order
from reports.wording.escaping import markdown_text
from reports.wording.markdown_table import markdown_table
from reports.wording.verdict_labels import some_of
from workflows.compatibility.data import (
    BROKEN,
    UNJUDGED,
    UNSUPPORTED,
    WORKS,
    Compatibility,
    TriedClient,
    is_dotted,
)
from workflows.oldest_versions.document import DOCUMENT as OLDEST_VERSIONS
from workflows.oldest_versions.document import in_short
from workflows.oldest_versions.limits import limits_of
from workflows.oldest_versions.results import TRIED, Oldest

CLIENTS_DOCUMENT = "clients-with-releases.md"
_MAX_NAMED = 2
_SYMBOLS = (
    f"{BROKEN} stands for one that hangs, ends with an error that does not say what the broker lacks, or sends what the broker does not list; "
    f"{UNJUDGED} for one that could not be judged."
)


def client_sections(data: Compatibility, oldest: Sequence[Oldest]) -> Iterator[str]:
    """Yield the paragraphs about clients and releases.

    Args:
        data: what a grid has.
        oldest: the oldest versions that work, measured apart from the grid.
    """
    if not data.clients and not oldest:
        yield "No operation was tried."
    if oldest:
        yield from _oldest_versions(data, oldest)
    if data.clients:
        yield from _operations(data)


def _oldest_versions(data: Compatibility, oldest: Sequence[Oldest]) -> Iterator[str]:
    releases = sorted({_release(each) for each in oldest}, key=release_order)
    limits = limits_of([each for each in oldest if _release(each) == releases[-1]], oldest)
    searched = {each.library for each in oldest}
    others = sorted({each.family for each in data.products if each.role == "client"} - searched, key=str.lower)
    lines = [
        f"**Fails with {releases[-1]}**: {'; '.join(limits.failing) or 'no version that was tried'}. Apache Kafka supports no Java client before 2.1 "
        "with 4.0 and newer (KIP-896)."
    ]
    for words, found in (
        ("Fails with an older release as well, so that this one is not the reason", limits.elsewhere),
        ("No limit found, the oldest version that can be tried here works", limits.not_found),
        ("Not certain", limits.unclear),
    ):
        if found:
            lines.append(f"**{words}**: {'; '.join(map(markdown_text, found))}.")
    if others:
        lines.append(f"**Not searched**: {', '.join(map(markdown_text, others))}.")
    yield "\n".join(f"- {line}" for line in lines)
    yield (
        f"The oldest version of each library that works ({_measured(oldest)}): {', '.join(TRIED[:-1])} and {TRIED[-1]} do, as far as the suite's driver has them. Versions between two that were tried were not. "
        f"Empty: not searched with that release; the next table has the versions that were tried with it. [All versions that were tried, and their errors]({OLDEST_VERSIONS})."
    )
    rows = []
    for library in sorted(searched, key=str.lower):
        cells = {_release(each): in_short(each) for each in oldest if each.library == library}
        rows.append((markdown_text(library), *(cells.get(each, "") for each in releases)))
    yield "\n".join(markdown_table(("library", *releases), rows))


def _operations(data: Compatibility) -> Iterator[str]:
    yield (
        f"Each client did up to {len(_tried(data))} operations with a running broker. ✓ 17: client and release have 17 of them, and all work. 16 of 17: one does not. {BROKEN} all 17: none works. {_SYMBOLS} "
        f"What the client or the release lacks does not count. Neighbouring releases whose cells read the same share a column. [All operations]({CLIENTS_DOCUMENT})."
    )
    clients = _by_library(data)
    columns = _joined(data.releases, [[_named_sum(client, index) for client in clients] for index in _indexes(data)])
    rows = zip((markdown_text(client.client) for client in clients), *columns.values(), strict=True)
    yield "\n".join(markdown_table(("client", *columns), rows))
    yield (
        "Your version is not here? Between two that work it probably works as well, but that was not tried. To try it: "
        "`kafka-conformance matrix --operations apache-kafka-3.9.2 --client confluent-kafka==2.3.0`. That starts the release, which needs Java or a container engine."
    )


def clients_document(data: Compatibility) -> str:
    """Return in Markdown what each client cannot do with each release."""
    paragraphs = [
        "# Operations of clients, by release",
        "For operators and client authors: for each client, the operations that do not work with every release. Releases with which it does the same share a column. "
        f"{UNSUPPORTED}: the client or the release lacks it, and the client says so. {_SYMBOLS} [What each operation does](operations.md). "
        "[The short table](COMPATIBILITY.md#which-client-works-with-which-release).",
        f"Tried with {', '.join(data.releases)}: {', '.join(_tried(data))}."
        if data.clients
        else "No operation was tried.",
    ]
    for client in _by_library(data):
        paragraphs += [f"## {markdown_text(client.client)}", _client_table(client, data)]
    return "\n\n".join(paragraphs) + "\n"


def _client_table(client: TriedClient, data: Compatibility) -> str:
    alike: dict[str, list[str]] = {}
    for operation, symbols in client.operations.items():
        if set(symbols) - {WORKS}:
            alike.setdefault(symbols, []).append(operation)
    columns = _joined(
        data.releases, [[_sum(client, index), *(symbols[index] for symbols in alike)] for index in _indexes(data)]
    )
    names = ("**all that both have**", *(", ".join(operations) for operations in alike.values()))
    return "\n".join(markdown_table(("operation", *columns), zip(names, *columns.values(), strict=True)))


def _indexes(data: Compatibility) -> range:
    return range(len(data.releases))


def _joined(releases: Sequence[str], columns: Sequence[Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Return columns by their releases, "2.4.1 to 2.8.2": those next to each other with the same cells share one."""
    groups = (list(group) for _, group in groupby(range(len(releases)), lambda index: columns[index]))
    return {
        releases[first] if first == last else f"{releases[first]} to {releases[last]}": columns[first]
        for first, *_, last in ((group[0], *group) for group in groups)
    }


def _sum(client: TriedClient, index: int) -> str:
    """Return how many of the operations work that a client and a release have; empty if none was tried."""
    column = Counter(symbols[index] for symbols in client.operations.values())
    tried = column[WORKS] + column[BROKEN] + column[UNJUDGED]
    if not tried:
        return UNSUPPORTED if column[UNSUPPORTED] else ""
    return f"{WORKS} {tried}" if column[WORKS] == tried else f"{column[WORKS]} of {tried}"


def _named_sum(client: TriedClient, index: int) -> str:
    """Return the sum and the operations that do not work; their number is enough if none works."""
    column = Counter(symbols[index] for symbols in client.operations.values())
    if column[BROKEN] and not column[WORKS] + column[UNJUDGED]:
        return f"{BROKEN} all {column[BROKEN]}"
    parts = [_sum(client, index)]
    for symbol in (BROKEN, UNJUDGED):
        names = [name for name, symbols in client.operations.items() if symbols[index] == symbol]
        if names:
            parts.append(f"{symbol} {some_of(names, _MAX_NAMED)}")
    return parts[0] if len(parts) == 1 else f"{parts[0]}: {', '.join(parts[1:])}"


def _by_library(data: Compatibility) -> Sequence[TriedClient]:
    """Return the clients by library, the newest version of each first."""
    newest_first = sorted(data.clients, key=_order, reverse=True)
    return sorted(newest_first, key=lambda client: client.library.lower())


def _order(client: TriedClient) -> tuple[int, ...]:
    """Return the sort key of a client's version; one that somebody named may have none."""
    version = client.client.removeprefix(client.library).removeprefix("-")
    return release_order(version) if is_dotted(version) else ()


def _tried(data: Compatibility) -> Sequence[str]:
    names = {name for client in data.clients for name in client.operations}
    return sorted(names, key=list(OPERATIONS).index) if names <= OPERATIONS.keys() else sorted(names)


def _measured(oldest: Sequence[Oldest]) -> str:
    days = sorted({each.day for each in oldest if each.day})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else "undated"


def _release(oldest: Oldest) -> str:
    return oldest.release.removeprefix("apache-kafka-")
