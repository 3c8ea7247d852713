"""docs/COMPATIBILITY.md as a function of its data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from clauses.catalogue import Level
from clauses.operations import OPERATIONS
from reports.wording.escaping import markdown_text
from reports.wording.markdown_table import markdown_table
from reports.wording.verdict_labels import CRASHES, counted, some_of
from workflows.compatibility.data import (
    Compatibility,
    Counts,
    Finding,
    JudgedVersion,
    LineStep,
    TriedClient,
    counts_of,
)
from workflows.oldest_versions.document import DOCUMENT as OLDEST_VERSIONS
from workflows.oldest_versions.document import TITLE, short_table
from workflows.oldest_versions.results import Oldest

DOCUMENT = "COMPATIBILITY.md"
FINDINGS = "findings"
MAX_BYTES = 30_000
_MAX_NEW = 4
_MAX_WORST = 100
_MAX_TITLES = range(100, 20, -10)
_SUBJECT = re.compile(r"^The (?:client|target) ")
_WORKS = "✓"
_WORDS = {_WORKS: "work", "–": "unsupported", "✕": "violate", "?": "not judged"}


def document(data: Compatibility, oldest: Sequence[Oldest] = ()) -> str:
    """Return the document in Markdown; the more defects there are, the shorter are their titles in it.

    Args:
        data: what a grid has.
        oldest: the oldest versions that work, measured apart from the grid.
    """
    *longer, shortest = _MAX_TITLES
    texts = (_document(data, oldest, longest) for longest in longer)
    fitting = (text for text in texts if len(text.encode()) <= MAX_BYTES)
    return next(fitting, None) or _document(data, oldest, shortest)


def _document(data: Compatibility, oldest: Sequence[Oldest], longest_title: int) -> str:
    paragraphs = [
        "# Compatibility",
        *_opening(data),
        "## Products and their bugs",
        *_products(data),
        "## Clients with releases of Apache Kafka",
        *_operations(data),
        *_oldest_versions(oldest),
        "## From one line of Apache Kafka to the next",
        *_steps(data),
        "## Every defect",
        *_defects(data, longest_title),
    ]
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
        "Generated; a test fails if it does not follow from [compatibility.json](compatibility.json). A smoke run sends few examples: it "
        "proves what it found, and not that there is no more. To make it again:"
    )
    tier = made.tiers[0] if made.tiers else "smoke"
    yield f"""\
<!-- not run here: it judges everything, which takes hours -->
```sh
kafka-conformance matrix --tier {tier} --runs runs
kafka-conformance matrix --clients --tier {tier} --runs runs
kafka-conformance matrix --operations --tier {tier} --runs runs
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
            rows.append((_gravity(counts[newest]), _product_row(family, newest, older, counts)))
        else:
            clean.append(_clean(family, list(by_release)))
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


def _product_row(family: str, newest: str, older: Sequence[str], counts: Mapping[str, Counts]) -> Sequence[str]:
    now = counts[newest]
    worst = _short_text(now.bugs[0].title, _MAX_WORST) if now.bugs else "none"
    if now.crashes:
        worst = f"**{CRASHES}**: {worst}"
    earlier = ", ".join(f"{release}: {len(counts[release].bugs)}" for release in older)
    numbers = map(str, (len(now.bugs), now.must, now.should))
    return f"[{family}](#{_anchor(family)})", newest, *numbers, worst, earlier


def _clean(family: str, releases: Sequence[str]) -> str:
    if len(releases) == 1:
        return f"{family} {releases[0]}"
    return f"{family} {releases[-1]} to {releases[0]} ({len(releases)} versions)"


def _short_text(text: str, longest: int) -> str:
    shortened = text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
    return markdown_text(shortened)


def _anchor(family: str) -> str:
    kept = (letter for letter in family.lower() if letter.isalnum() or letter in " -_")
    return "".join(kept).replace(" ", "-")


def _operations(data: Compatibility) -> Iterator[str]:
    if not data.clients:
        yield "No operation was tried."
        return
    yield (
        "How many of the operations that were tried work (✓ n of m), are unsupported by client or broker and fail with an error that says so (–), violate KIP-97 (✕) or "
        "could not be judged (?). Below a client stand the operations that do not work with every release. "
        f"Tried: {', '.join(_tried(data))}."
    )
    rows = (row for client in data.clients for row in _client_rows(client, len(data.releases)))
    yield "\n".join(markdown_table(("client", *data.releases), rows))


def _tried(data: Compatibility) -> Sequence[str]:
    names = {name for client in data.clients for name in client.operations}
    return sorted(names, key=list(OPERATIONS).index) if names <= OPERATIONS.keys() else sorted(names)


def _sum(column: Counter[str]) -> str:
    """Return how many of the operations that were tried work, and what became of the others."""
    tried = sum(column[symbol] for symbol in _WORDS)
    if not tried:
        return ""
    others = (f"{symbol} {column[symbol]}" for symbol in _WORDS if symbol != _WORKS and column[symbol])
    return " ".join([f"{_WORKS} {column[_WORKS]} of {tried}", *others])


def _client_rows(client: TriedClient, releases: int) -> Iterator[Sequence[str]]:
    columns = [Counter(each[index] for each in client.operations.values()) for index in range(releases)]
    yield f"**{client.client}**", *map(_sum, columns)
    alike: dict[str, list[str]] = {}
    for operation, symbols in client.operations.items():
        if set(symbols) - {_WORKS}:
            alike.setdefault(symbols, []).append(operation)
    for symbols, operations in alike.items():
        yield ", ".join(operations), *symbols


def _oldest_versions(found: Sequence[Oldest]) -> Iterator[str]:
    if not found:
        return
    measured = " and ".join(sorted({each.measured for each in found}))
    yield f"## {TITLE}"
    yield (
        f'Measured by halving, {measured}. "≤": the version before was not tried, or could not be, so this need not be a limit of the broker. '
        f"[The words of the clients]({OLDEST_VERSIONS})."
    )
    yield short_table(found)


def _steps(data: Compatibility) -> Iterator[str]:
    yield (
        "What clients lose and get, by the recorded tables, and rules whose verdict changes. `kafka-conformance upgrade OLD NEW` reports "
        "any two releases, with the versions of each request."
    )
    if data.steps:
        yield "\n".join(f"- {step_sentence(step)}" for step in data.steps)


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
    return f"{step.before} → {step.after}: {'; '.join(parts) or 'no request of clients changes'}."


def _defects(data: Compatibility, longest_title: int) -> Iterator[str]:
    yield (
        "By the rule that each breaks, a MUST unless it is marked. Each links to its folder: the bytes, what the rule demands, what was seen, "
        "other rules that it breaks, and how to see it again. Numbers are those of the first version named. "
        "[findings](findings/README.md) says how to run a script."
    )
    for family, versions in families_of(data).items():
        own = [finding for finding in data.findings if finding.family == family]
        if own:
            yield f"### {family}"
            if all(finding.declared for finding in own):
                yield "Each is declared as known, with its reason and source in its folder."
            is_only_one = len({version.release for version in versions}) == 1
            yield "\n".join(_by_rule(data, own, longest_title, is_only_one=is_only_one))


def _by_rule(
    data: Compatibility, findings: Sequence[Finding], longest_title: int, *, is_only_one: bool
) -> Iterator[str]:
    """Yield a line for each rule, with the findings that break it first of all."""
    some_declared = not all(finding.declared for finding in findings)
    by_rule: dict[str, list[str]] = {}
    for finding in findings:
        notes = [] if is_only_one else [_versions(data, finding)]
        notes += ["declared"] if finding.declared and some_declared else []
        note = f" ({'; '.join(notes)})" if notes else ""
        by_rule.setdefault(_rule(data, finding), []).append(f"{_sentence(finding, longest_title)}{note}")
    for rule, sentences in by_rule.items():
        yield f"- {rule}: {'; '.join(sentences)}"


def _rule(data: Compatibility, finding: Finding) -> str:
    if finding.tried_with:
        return "Operations"
    rule = finding.clauses[0]
    level = data.levels[rule]
    return rule if level == Level.MUST else f"{rule} ({level})"


def _sentence(finding: Finding, longest_title: int) -> str:
    word = f"**{CRASHES}**: " if finding.crashes else ""
    title = _SUBJECT.sub("", finding.title)
    return f"{word}[{_short_text(title, longest_title)}]({FINDINGS}/{finding.id})"


def _versions(data: Compatibility, finding: Finding) -> str:
    """Return the versions that have a finding, the newest first."""
    releases = {product.id: product.release for product in data.products}
    return ", ".join(dict.fromkeys(releases[id_] for id_ in finding.broken))
