"""docs/COMPATIBILITY.md as a function of its data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from clauses.operations import OPERATIONS
from reference_model.profiles.profile import release_order
from reports.wording.escaping import markdown_text
from reports.wording.markdown_table import markdown_table
from reports.wording.verdict_labels import CRASHES, counted, some_of
from workflows.compatibility.data import (
    Compatibility,
    Counts,
    JudgedVersion,
    LineStep,
    TriedClient,
    Undecided,
    counts_of,
    is_dotted,
)
from workflows.compatibility.release_lines import ReleaseLines, release_lines
from workflows.oldest_versions.document import DOCUMENT as OLDEST_VERSIONS
from workflows.oldest_versions.document import in_short
from workflows.oldest_versions.results import Oldest

DOCUMENT = "COMPATIBILITY.md"
CLIENTS_DOCUMENT = "clients-with-releases.md"
FINDINGS = "findings"
MAX_BYTES = 30_000
_MAX_NEW = 4
_MAX_WORST = 100
_MAX_NAMED = 6
_WORKS = "✓"
_WORDS = {_WORKS: "work", "–": "unsupported", "✕": "violate", "?": "not judged"}
_LEGEND = (
    "✓: all operations that were tried work; 16/18: so many of them. – so many are unsupported by client or broker and fail with an error "
    "that says so, ✕ violate KIP-97, ? could not be judged."
)


def document(data: Compatibility, oldest: Sequence[Oldest] = ()) -> str:
    """Return the document in Markdown.

    Args:
        data: what a grid has.
        oldest: the oldest versions that work, measured apart from the grid.
    """
    paragraphs = [
        "# Compatibility",
        *_opening(data),
        "## Products and their bugs",
        *_products(data),
        "## Which client works with which release",
        *_clients(data, oldest),
        "## The lines of Apache Kafka",
        *_lines(data, release_lines()),
        "## What could not be judged",
        *_undecided(data),
    ]
    return "\n\n".join(paragraphs) + "\n"


def clients_document(data: Compatibility) -> str:
    """Return in Markdown what each client cannot do with each release."""
    rows = (row for client in data.clients for row in _client_rows(client, len(data.releases)))
    paragraphs = [
        "# Operations of clients, by release",
        f"For operators and client authors: which operations do not work with a release, below the client. {_LEGEND} Generated from "
        f"[compatibility.json](compatibility.json), as [COMPATIBILITY.md]({DOCUMENT}), which has the short table. [What each operation does](operations.md).",
        f"Tried: {', '.join(_tried(data))}." if data.clients else "No operation was tried.",
    ]
    if data.clients:
        paragraphs.append("\n".join(markdown_table(("client", *data.releases), rows)))
    return "\n\n".join(paragraphs) + "\n"


def families_of(data: Compatibility) -> Mapping[str, Sequence[JudgedVersion]]:
    """Return the versions of each product, the newest first."""
    families: dict[str, list[JudgedVersion]] = {}
    for product in data.products:
        families.setdefault(product.family, []).append(product)
    return families


def _opening(data: Compatibility) -> Iterator[str]:
    made = data.made
    roles = Counter(product.role for product in data.products)
    judged = " and ".join(counted(number, role) for role, number in roles.items())
    commits = (
        f"at commit `{made.commits[0][:8]}`"
        if len(made.commits) == 1
        else f"at {counted(len(made.commits), 'different commit')}"
    )
    tiers = " and ".join(made.tiers)
    undeclared = [finding for finding in data.findings if not finding.declared]
    yield (
        f"{made.date}: {judged}, judged by {counted(made.runs, 'run')} of the tier {tiers} with version {made.version} of the suite {commits}. "
        f"{counted(len(undeclared), 'defect')} found; {counted(made.undecided, 'MUST cell')} could not be judged."
    )
    yield (
        "Each number leads to the bytes and to a script that shows them. A green cell says that the suite found nothing with the examples that "
        "it sent. Generated; a test fails if it does not follow from [compatibility.json](compatibility.json), which has "
        "[a schema and a promise](exports.md#compatibilityjson). To make it again:"
    )
    tier = made.tiers[0] if made.tiers else "smoke"
    yield f"""\
<!-- not run here: it judges everything, which takes hours -->
```sh
kafka-conformance matrix '*' --tier {tier} --runs runs
kafka-conformance matrix --clients --tier {tier} --runs runs
kafka-conformance matrix --operations {" ".join(f"apache-kafka-{release}" for release in data.releases)} --tier {tier} --runs runs
kafka-conformance grid runs --out grid
python -m workflows.compatibility grid --out docs
```"""


def _products(data: Compatibility) -> Iterator[str]:
    yield (
        "The gravest first: those whose process ends, then by MUST rules that the newest judged version breaks. What is declared as known "
        "does not count here. A bug is one cause; MUST and SHOULD count the rules that it breaks. Each product links to its defects."
    )
    rows = []
    clean = []
    unknown = []
    for family, versions in families_of(data).items():
        unknown += [f"{each.family} {each.release}" for each in versions if not each.is_judged]
        by_release = _by_release([each for each in versions if each.is_judged])
        if not by_release:
            continue
        newest, *older = by_release
        counts = {release: counts_of(data, ids) for release, ids in by_release.items()}
        if any(each.bugs for each in counts.values()):
            rows.append((_gravity(counts[newest]), _product_row(_linked(data, family), newest, older, counts)))
        else:
            clean.append(_clean(_linked(data, family), list(by_release)))
    columns = ("product", "version", "bugs", "MUST", "SHOULD", "worst bug", "older versions")
    yield "\n".join(markdown_table(columns, (row for _, row in sorted(rows, key=lambda row: row[0]))))
    if clean:
        yield f"No bug was found in {'; '.join(clean)}, apart from what is declared as known."
    if unknown:
        yield f"No rule applied, or none could be judged: {'; '.join(dict.fromkeys(unknown))}."


def _by_release(versions: Sequence[JudgedVersion]) -> Mapping[str, frozenset[str]]:
    ids_by_release: dict[str, set[str]] = {}
    for version in versions:
        ids_by_release.setdefault(version.release, set()).add(version.id)
    return {release: frozenset(ids) for release, ids in ids_by_release.items()}


def _gravity(counts: Counts) -> tuple[bool, int, int, int]:
    return not counts.crashes, -counts.must, -counts.should, -len(counts.bugs)


def _linked(data: Compatibility, family: str) -> str:
    """Return the name of a product, as a link to its page if it has one."""
    folder = next((finding.product for finding in data.findings if finding.family == family), None)
    return family if folder is None else f"[{family}]({FINDINGS}/{folder}/README.md)"


def _product_row(name: str, newest: str, older: Sequence[str], counts: Mapping[str, Counts]) -> Sequence[str]:
    now = counts[newest]
    worst = _short_text(now.bugs[0].title, _MAX_WORST) if now.bugs else "none"
    if now.crashes:
        worst = f"**{CRASHES}**: {worst}"
    earlier = ", ".join(f"{release}: {len(counts[release].bugs)}" for release in older)
    numbers = map(str, (len(now.bugs), now.must, now.should))
    return name, newest, *numbers, worst, earlier


def _clean(name: str, releases: Sequence[str]) -> str:
    if len(releases) == 1:
        return f"{name} {releases[0]}"
    return f"{name} {releases[-1]} to {releases[0]} ({len(releases)} versions)"


def _short_text(text: str, longest: int) -> str:
    shortened = text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
    return markdown_text(shortened)


def _clients(data: Compatibility, oldest: Sequence[Oldest]) -> Iterator[str]:
    if not data.clients and not oldest:
        yield "No operation was tried."
        return
    yield (
        f"By the operations that each client tried with a running release. {_LEGEND} [The operations that do not work]({CLIENTS_DOCUMENT}). "
        "For what a version does that is not here, take the nearest newer one, or try it: "
        "`kafka-conformance matrix --operations apache-kafka-3.7.2 --client confluent-kafka==2.6.0`."
    )
    if oldest:
        yield (
            f'"Oldest that works" was searched by halving ({_measured(oldest)}); "≤" if the version before was not tried or could not be, so that it need not be '
            f"a limit of the broker: [the words of the clients]({OLDEST_VERSIONS})."
        )
    releases = sorted({*data.releases, *(_release(each) for each in oldest)}, key=release_order)
    rows = []
    libraries = {each.library for each in oldest} | {client.library for client in data.clients}
    for library in sorted(libraries, key=str.lower):
        found = {_release(each): in_short(each) for each in oldest if each.library == library}
        if found:
            rows.append(
                (f"**{markdown_text(library)}**: oldest that works", *(found.get(each, "") for each in releases))
            )
        own = [client for client in data.clients if client.library == library]
        for client in sorted(own, key=_order, reverse=True):
            columns = dict(zip(data.releases, _columns(client, len(data.releases)), strict=True))
            rows.append((markdown_text(client.client), *(_sum(columns.get(each, Counter())) for each in releases)))
    yield "\n".join(markdown_table(("client", *releases), rows))


def _measured(oldest: Sequence[Oldest]) -> str:
    days = sorted({each.day for each in oldest if each.day})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else "undated"


def _release(oldest: Oldest) -> str:
    return oldest.release.removeprefix("apache-kafka-")


def _order(client: TriedClient) -> tuple[int, ...]:
    """Return the sort key of a client's version; one that somebody named may have none."""
    version = client.client.removeprefix(client.library).removeprefix("-")
    return release_order(version) if is_dotted(version) else ()


def _columns(client: TriedClient, releases: int) -> Sequence[Counter[str]]:
    return [Counter(each[index] for each in client.operations.values()) for index in range(releases)]


def _tried(data: Compatibility) -> Sequence[str]:
    names = {name for client in data.clients for name in client.operations}
    return sorted(names, key=list(OPERATIONS).index) if names <= OPERATIONS.keys() else sorted(names)


def _sum(column: Counter[str]) -> str:
    """Return how many of the operations that were tried work, and what became of the others."""
    tried = sum(column[symbol] for symbol in _WORDS)
    if not tried or column[_WORKS] == tried:
        return _WORKS if tried else ""
    others = (f"{symbol} {column[symbol]}" for symbol in _WORDS if symbol != _WORKS and column[symbol])
    return " ".join([f"{column[_WORKS]}/{tried}", *others])


def _client_rows(client: TriedClient, releases: int) -> Iterator[Sequence[str]]:
    yield f"**{markdown_text(client.client)}**", *map(_sum, _columns(client, releases))
    alike: dict[str, list[str]] = {}
    for operation, symbols in client.operations.items():
        if set(symbols) - {_WORKS}:
            alike.setdefault(symbols, []).append(operation)
    for symbols, operations in alike.items():
        yield ", ".join(operations), *symbols


def _lines(data: Compatibility, known: ReleaseLines) -> Iterator[str]:
    yield (
        "What clients lose and get with each line, by the recorded tables, and the rules whose verdict changes. `kafka-conformance upgrade OLD NEW` reports "
        "any two releases, with the versions of each request and the oldest clients that are left."
    )
    yield (
        f"Vendors' numbers and the ends of their standard support as read on {known.read}, with their sources in `workflows/compatibility/release_lines.toml`; "
        "empty where none was found. Amazon MSK uses Kafka's own numbers. Apache Kafka fixes bugs in its last three lines."
    )
    columns = ("judged", "first release", "Confluent Platform", "Amazon MSK until", "changes from the line before")
    rows = []
    for step in reversed(data.steps):
        line = known.of(step.after)
        vendor = " until ".join(filter(None, (line.confluent, _day(line.confluent_ends))))
        rows.append((step.after, _day(line.released), vendor, _day(line.msk_ends), step_sentence(step)))
    yield "\n".join(markdown_table(columns, rows))


def _day(day: date | None) -> str:
    return day.isoformat() if day else ""


def _undecided(data: Compatibility) -> Iterator[str]:
    if data.undecided is None:
        yield f"{counted(data.made.undecided, 'MUST cell')}; the data is older than the list of them."
        return
    if not data.undecided:
        yield "Every MUST rule that applies to a product was judged."
        return
    yield "MUST rules without a verdict, by the reason. The site of a grid has each cell."
    by_reason: dict[str, list[str]] = {}
    for each in data.undecided:
        by_reason.setdefault(each.reason, []).append(_cell_name(each))
    rows = (
        (str(len(cells)), markdown_text(some_of(cells, _MAX_NAMED)), markdown_text(reason))
        for reason, cells in by_reason.items()
    )
    yield "\n".join(markdown_table(("cells", "rules", "reason"), rows))


def _cell_name(cell: Undecided) -> str:
    """Return "KIP-35.keys-unique of tansu-0.6.0"; of an operation "aiokafka-0.14.0.produce with apache-kafka-2.3.1"."""
    return f"{cell.clause} {f'of {cell.product}' if cell.target == cell.product else f'with {cell.target}'}"


def step_sentence(step: LineStep) -> str:
    """Return in one sentence what changes from one line to the next."""
    parts = []
    if step.drops_old_clients:
        parts.append("Kafka supports no clients older than 2.1 any more")
    if step.lost:
        parts.append(f"{counted(len(step.lost), 'request')} with fewer versions: {some_of(step.lost, _MAX_NEW)}")
    if step.new:
        parts.append(f"new: {some_of(step.new, _MAX_NEW)}")
    if step.more:
        parts.append(f"further versions of {counted(step.more, 'request')}")
    if step.moved:
        parts.append(f"{counted(step.moved, 'request')} less or more by the change to KRaft")
    if step.worse:
        parts.append(f"newly broken: {some_of(step.worse, _MAX_NEW)}")
    if step.better:
        parts.append(f"broken no more: {some_of(step.better, _MAX_NEW)}")
    return "; ".join(parts) or "no request of clients changes"
