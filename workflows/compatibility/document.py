"""docs/COMPATIBILITY.md as a function of its data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from clauses.catalogue import Role
from reports.records import OPERATION
from reports.wording.escaping import markdown_text
from reports.wording.markdown_table import markdown_table
from reports.wording.verdict_labels import CRASHES, counted, some_of
from workflows.compatibility.client_tables import client_sections
from workflows.compatibility.data import (
    Compatibility,
    Counts,
    JudgedVersion,
    LineStep,
    Made,
    Undecided,
    counts_of,
)
from workflows.compatibility.release_lines import ReleaseLines, release_lines
from workflows.documents.upgrade_pages import UPGRADE_PAGES
from workflows.oldest_versions.results import Oldest

DOCUMENT = "COMPATIBILITY.md"
FINDINGS = "findings"
MAX_BYTES = 30_000
_PARTS = {Role.BROKER: "Brokers and proxies", Role.CLIENT: "Clients", OPERATION: "Operations"}
_MAX_NEW = 4
_MAX_WORST = 100
_MAX_NAMED = 6
_JUDGED_BY = re.compile(r"\(judged by ([A-Z0-9]+[-.][\w.-]*\w)\)")
"""In the reason of an example that says nothing about its own clause; see `assertions.errors.JudgedElsewhere`."""
_OPEN_BECAUSE = re.compile(r"the machine is too busy|it recurred in none of \d+ repeats")
"""In the reason of a failure whose repeats prove nothing; see `reports.repeats`."""


def document(data: Compatibility, oldest: Sequence[Oldest] = ()) -> str:
    """Return the document in Markdown.

    Args:
        data: what a grid has.
        oldest: the oldest versions that work, measured apart from the grid.
    """
    paragraphs = [
        "# Compatibility",
        *_opening(data),
        "## Products and their defects",
        *_products(data),
        "## Which client works with which release",
        *client_sections(data, oldest),
        "## The lines of Apache Kafka",
        *_lines(data, release_lines()),
        "## What could not be judged",
        *_undecided(data),
        "## How this page is made",
        *_made(data),
    ]
    return "\n\n".join(paragraphs) + "\n"


def families_of(data: Compatibility) -> Mapping[str, Sequence[JudgedVersion]]:
    """Return the versions of each product, the newest first."""
    families: dict[str, list[JudgedVersion]] = {}
    for product in data.products:
        families.setdefault(product.family, []).append(product)
    return families


def _opening(data: Compatibility) -> Iterator[str]:
    days = sorted({made.date for made in data.made.values()})
    versions = {(each.kind, each.family, each.release) for each in data.products}
    families = {(kind, family) for kind, family, _ in versions}
    judged = ", ".join(
        f"{counted(sum(each[0] == kind for each in versions), 'version')} of "
        f"{counted(sum(each[0] == kind for each in families), kind)}"
        for kind in dict.fromkeys(each.kind for each in data.products)
    )
    defects = sum(not finding.declared for finding in data.findings)
    hidden = sum(bool(hiding_rule(data, each)) for each in data.undecided)
    yield (
        f"{' to '.join(dict.fromkeys((days[0], days[-1])))}: {judged}. {counted(defects, 'defect')} found; {counted(len(data.undecided) - hidden, 'time')} a MUST rule could not be judged for a product"
        f"{f', and {hidden} more because the product breaks another rule first' if hidden else ''}. "
        "See also: [which client works with which release](#which-client-works-with-which-release), [what an upgrade changes](#the-lines-of-apache-kafka)."
    )
    yield (
        "A **defect** is one cause. It breaks one or more **rules**, which say MUST or SHOULD ([all rules](clauses.md)). Each product leads to its defects, "
        "and each defect to its bytes and to a script that shows it. Where none is listed, the suite found none with what it sent"
        + (
            ": in the smoke tier that is only the examples that are pinned to a rule."
            if any("smoke" in made.tiers for made in data.made.values())
            else "."
        )
    )


def _made(data: Compatibility) -> Iterator[str]:
    yield "\n".join(f"- {_PARTS[role]}: {_made_of(made)}." for role, made in data.made.items())
    yield (
        "Each of them can be made again without the others, because it takes hours. Everything here follows from "
        "[compatibility.json](compatibility.json), which has [a schema and a promise](exports.md#compatibilityjson); a test fails if it does not. To make it again:"
    )
    matrices = "\n".join(
        f"kafka-conformance matrix {_chosen(data, role)} --tier {tier} --runs runs"
        for role, made in data.made.items()
        for tier in made.tiers
    )
    yield f"""\
<!-- not run here: it judges everything, which takes hours -->
```sh
{matrices}
kafka-conformance grid runs --out grid
python -m workflows.compatibility grid --out docs
```"""


def _chosen(data: Compatibility, role: str) -> str:
    """Return what the command that judges a role has to name."""
    if role == OPERATION:
        return f"--operations {' '.join(f'apache-kafka-{release}' for release in data.releases)}"
    return "--clients" if role == Role.CLIENT else "'*'"


def _made_of(made: Made) -> str:
    commits = (
        f"at commit `{made.commits[0][:8]}`"
        if len(made.commits) == 1
        else f"at {counted(len(made.commits), 'different commit')}"
    )
    tiers = " and ".join(made.tiers)
    return f"{counted(made.runs, 'run')} of the tier {tiers}, the last on {made.date}, by version {made.version} of the suite {commits}"


def _products(data: Compatibility) -> Iterator[str]:
    yield (
        "The gravest product first: one that crashes, then by the MUST rules that its newest judged version breaks. The gravest defect of a product is chosen alike. "
        "What is declared as known, with a reason and a source, does not count here."
    )
    rows = []
    clean = []
    unknown = []
    for family, versions in families_of(data).items():
        unknown += [_unjudged(data, each) for each in versions if not each.is_judged]
        by_release = _by_release([each for each in versions if each.is_judged])
        if not by_release:
            continue
        newest, *older = by_release
        counts = {release: counts_of(data, ids) for release, ids in by_release.items()}
        if any(each.bugs for each in counts.values()):
            name = f"{_linked(data, family)} ({versions[0].kind})"
            rows.append((_gravity(counts[newest]), _product_row(name, newest, older, counts)))
        else:
            clean.append(_clean(data, family, list(by_release)))
    columns = (
        "product",
        "newest judged",
        "defects",
        "MUST rules",
        "SHOULD rules",
        "the gravest defect",
        "defects in older versions",
    )
    yield "\n".join(markdown_table(columns, (row for _, row in sorted(rows, key=lambda row: row[0]))))
    if clean:
        yield f"No defect was found in {'; '.join(clean)}."
    if unknown:
        yield f"Nothing could be judged of {'; '.join(dict.fromkeys(unknown))}."


def _unjudged(data: Compatibility, version: JudgedVersion) -> str:
    reason = next((each.reason for each in data.undecided if each.product == version.id), "no rule applies to it")
    return f"{version.family} {version.release} ({markdown_text(reason)})"


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
    worst = "none"
    if now.bugs:
        worst = f"[{_short_text(now.bugs[0].title, _MAX_WORST)}]({FINDINGS}/{now.bugs[0].id}/README.md)"
    if now.crashes:
        worst = f"**{CRASHES}**: {worst}"
    earlier = ", ".join(f"{release}: {len(counts[release].bugs)}" for release in older)
    numbers = map(str, (len(now.bugs), now.must, now.should))
    return name, newest, *numbers, worst, earlier


def _clean(data: Compatibility, family: str, releases: Sequence[str]) -> str:
    versions = releases[0] if len(releases) == 1 else f"{releases[-1]} to {releases[0]} ({len(releases)} versions)"
    declared = sum(finding.family == family for finding in data.findings)
    known = f", apart from what is declared ({counted(declared, 'deviation')})" if declared else ""
    return f"{_linked(data, family)} {versions}{known}"


def _short_text(text: str, longest: int) -> str:
    shortened = text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
    return markdown_text(shortened)


def _lines(data: Compatibility, known: ReleaseLines) -> Iterator[str]:
    yield (
        "What clients lose and get with each line, compared with the line below it, and the rules whose verdict changes; a rule that becomes broken is declared, with its reason, on "
        "[the page of Apache Kafka](findings/apache-kafka/README.md). For an upgrade over several lines: "
        + ", ".join(f"[{name}](upgrades/{file})" for name, file in UPGRADE_PAGES.items())
        + ", or `kafka-conformance upgrade OLD NEW`. From 3.3 on the suite runs releases with KRaft, before that with ZooKeeper."
    )
    yield (
        f"The dates of vendors are the ends of their standard support, read on {known.read}, with their sources in `workflows/compatibility/release_lines.toml`; "
        "empty where none was found. Amazon MSK uses Kafka's own numbers. Apache Kafka itself fixes bugs in its last three lines."
    )
    columns = ("release", "line since", "Confluent Platform", "Amazon MSK", "changes for clients")
    rows = []
    for step in reversed(data.steps):
        line = known.of(step.after)
        vendor = " until ".join(filter(None, (line.confluent, _day(line.confluent_ends))))
        msk = f"until {_day(line.msk_ends)}" if line.msk_ends else ""
        changes = "; ".join(filter(None, (line.note, step_sentence(step))))
        rows.append((step.after, _day(line.released), vendor, msk, changes))
    yield "\n".join(markdown_table(columns, rows))


def _day(day: date | None) -> str:
    return day.isoformat() if day else ""


def _undecided(data: Compatibility) -> Iterator[str]:
    if not data.undecided:
        yield "Every MUST rule that applies to a product was judged."
        return
    hiding = {each: hiding_rule(data, each) for each in data.undecided}
    by_reason: dict[str, list[str]] = {}
    hidden: dict[tuple[str, str], list[str]] = {}
    for each, rule in hiding.items():
        if rule:
            hidden.setdefault((each.product, rule), []).append(each.clause)
        else:
            by_reason.setdefault(_cause(each), []).append(_cell_name(each))
    if by_reason:
        yield "MUST rules without a verdict, by the reason:"
        rows = (
            (str(len(cells)), markdown_text(some_of(cells, _MAX_NAMED)), markdown_text(reason))
            for reason, cells in by_reason.items()
        )
        yield "\n".join(markdown_table(("number", "rule and product", "reason"), rows))
    if hidden:
        yield "The product breaks another rule first (second column), so the same requests show nothing about these MUST rules:"
        hidden_rows = (
            (markdown_text(product), rule, f"{len(rules)}: {', '.join(rules)}")
            for (product, rule), rules in hidden.items()
        )
        yield "\n".join(markdown_table(("product", "broken rule", "rules that it hides"), hidden_rows))


def _cause(cell: Undecided) -> str:
    """Return why a cell is open; what was seen of an operation before that differs from cell to cell."""
    found = _OPEN_BECAUSE.search(cell.reason) if cell.is_operation else None
    return found[0] if found else cell.reason


def hiding_rule(data: Compatibility, cell: Undecided) -> str:
    """Return the rule that a product breaks first, so that a cell shows nothing about its own; else empty."""
    for rule in _JUDGED_BY.findall(cell.reason):
        if any(rule in finding.broken.get(cell.product, ()) for finding in data.findings):
            return str(rule)
    return ""


def _cell_name(cell: Undecided) -> str:
    """Return "KIP-35.keys-unique of tansu-0.6.0"; of an operation "aiokafka-0.14.0.produce with apache-kafka-2.3.1"."""
    return f"{cell.clause} {f'with {cell.target}' if cell.is_operation else f'of {cell.product}'}"


def step_sentence(step: LineStep) -> str:
    """Return in one sentence what changes from one line to the next."""
    parts = []
    if step.drops_old_clients:
        parts.append("Kafka supports no Java clients older than 2.1 any more")
    if step.lost:
        parts.append(f"old versions are gone of {counted(len(step.lost), 'request')}: {some_of(step.lost, _MAX_NEW)}")
    if step.new:
        parts.append(f"new: {some_of(step.new, _MAX_NEW)}")
    if step.more:
        parts.append(f"newer versions of {counted(step.more, 'request')}")
    if step.moved:
        parts.append(f"{counted(step.moved, 'request')} come or go with KRaft")
    if step.worse:
        parts.append(f"newly broken: {some_of(step.worse, _MAX_NEW)}")
    if step.better:
        parts.append(f"broken no more: {some_of(step.better, _MAX_NEW)}")
    return "; ".join(parts) or "no request of clients changes"
