"""Text of an issue about a bug, and the violations to open issues from.

There is one entry per clause and product, for all its listeners.

Texts are Markdown: what was seen, the bytes, and everything that a reader needs to see it again. The script is
complete or left out, because a part of one does not run. An issue has at most 65,536 characters.

The product answers for an entry: an operation's entry is the client's, and names the releases that it was tried with.
The key of an entry depends only on clause and product. The entry's body contains it, so that no issue is opened twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from clauses.catalogue import Level
from reports.document.blocks import (
    Block,
    CodeBlock,
    Hyperlink,
    Piece,
    Quote,
    Section,
    Sentence,
    Strong,
)
from reports.document.markdown_form import markdown_of
from reports.grid import addresses
from reports.grid.bugs import Bug
from reports.grid.grid_view import FoldedCell, FoldedGrid, ListenerCell
from reports.grid.history_tables import failures_by_run, leaves_open, stored_facts
from reports.grid.products import OwnCell, Product, products_of
from reports.records import (
    FACTS_FILE,
    GATING_LEVELS,
    OPERATION,
    REPRODUCER_FILE,
    VIOLATED_VERDICTS,
    WORST_FIRST,
    Verdict,
    gates,
)
from reports.run.failures import READS_FACTS
from reports.run.replay_command import replay_command
from reports.tables.cell_rows import GridClause
from reports.tables.failure_rows import KeptFailure
from reports.wording.escaping import cut, one_line
from reports.wording.verdict_labels import CRASHES

MAX_SCRIPT_BYTES = 52 * 1024
"""Leaves room in an issue for everything else."""
_MAX_SEEN = 200
_MAX_DUMP_LINES = 60
_MAX_DUMP_BYTES = 8 * 1024
_MAX_LINE = 120
_MAX_TITLE = 200
_DATA_OF_SCRIPTS = ("steps", "play")
_LEVELS = (*GATING_LEVELS, *(level for level in Level if not gates(level)))
_MAX_NAME = 100
_IN_JSON = (
    *("key", "role", "clause", "target", "releases", "level"),
    *("verdict", "listeners", "title", "seen", "link", "body"),
)
Chosen = Callable[[FoldedCell], bool]
Failures = Mapping[tuple[str, str], KeptFailure]


def first_line(failure: KeptFailure) -> str:
    """Return the first line of a failure's message, with unprintable characters escaped, cut to a maximum length."""
    return cut(one_line(failure.message.partition("\n")[0]), _MAX_SEEN)


def issue_title(product: Product, bug: Bug) -> str:
    """Return the title of an issue about a bug: plain text on one line."""
    sources = dict.fromkeys(clause.source for clause in bug.clauses)
    where = "" if bug.first.is_operation else f" ({', '.join(sources)})"
    return cut(one_line(f"{product.name}: {bug.title}{where}"), _MAX_TITLE)


def issue_body(bug: Bug, *, suite: str, pages: str, with_script: bool = True) -> str:
    """Return the body of an issue about a bug, for the tracker of the product.

    Args:
        bug: the bug.
        suite: what found it, and when, in words.
        pages: the address at which the site is published, with a slash at its end; empty if it is not published.
        with_script: whether the script is a part of it, if it fits; otherwise a link to it is.
    """
    first = bug.first
    blocks: list[Block] = [Sentence(each.statement) for each in bug.clauses[:1]]
    blocks += [Sentence(first.clause.meaning)] if first.clause.meaning else []
    blocks += [Sentence(f"Source: {first.clause.location}")]
    if len(bug.clauses) > 1:
        rules = ", ".join(f"{each.clause} ({each.level})" for each in bug.clauses)
        blocks += [Sentence(f"Rules that it breaks: {rules}")]
    if first.is_operation:
        blocks += [Sentence(f"Seen with: {', '.join(bug.targets)}")]
    if first.failure is not None:
        blocks += evidence_of(first.failure)
        blocks += _script(first.failure) if with_script else _script_elsewhere(first.failure, pages)
    full_record: tuple[Piece, ...] = (" ", Hyperlink("Full record", f"{pages}{first.page}")) if pages else ()
    blocks += [Sentence((f"Found by {suite}.", *full_record))]
    return markdown_of(*blocks)


def evidence_of(failure: KeptFailure, max_lines: int = _MAX_DUMP_LINES) -> Iterator[Block]:
    """Yield what was seen and the bytes of a failure."""
    yield Sentence(f"Seen: {first_line(failure)}")
    details = [one_line(line) for line in failure.message.splitlines()[1:3] if line.strip()]
    if failure.property.startswith("test_operation") and details:
        yield Sentence(" ".join(details))
    if driver := driver_of(failure):
        yield Sentence("What the client runs:")
        yield CodeBlock(driver)
    if failure.hex_dump:
        yield CodeBlock(_first_lines(failure.hex_dump, max_lines), "text")


def driver_of(failure: KeptFailure) -> str:
    """Return the lines of a client's driver that try an operation; empty if none are stored."""
    return _stored(failure, "driver")


def reported_of(failure: KeptFailure) -> str:
    """Return status and address of the reports about a failure that exist already; empty if none is known."""
    return _stored(failure, "reported")


def _stored(failure: KeptFailure, name: str) -> str:
    value = stored_facts(failure).get(name, "")
    return value if isinstance(value, str) else ""


def _script(failure: KeptFailure) -> Iterator[Block]:
    """Yield how a failure is seen again: the complete script, if there is one and it fits, and the command."""
    files = script_files(failure)
    size = sum(len(content.encode()) for _, content in files)
    if files and size <= MAX_SCRIPT_BYTES:
        blocks: list[Block] = []
        for name, content in files:
            blocks += [Sentence(f"{name}:")] if len(files) > 1 else []
            blocks += [CodeBlock(content, "python" if name.endswith(".py") else "json")]
        title = "A script that reproduces it, using only Python"
        yield Section(title=title, blocks=tuple(blocks), is_folded=True)
    elif files:
        yield Sentence(
            f"The script that reproduces it has {size:,} bytes, too many for this text; it is next to the full record."
        )
    yield from _judged_again(failure)


def _script_elsewhere(failure: KeptFailure, pages: str) -> Iterator[Block]:
    """Yield where the files of the script are, instead of the script."""
    names = [name for name, _ in script_files(failure)]
    if names:
        pieces: list[Piece] = ["A script that reproduces it, using only Python: "]
        for name in names:
            address = f"{pages}{addresses.failure_file(failure.signature, name)}"
            pieces += [Hyperlink(name, address) if pages else name, " and "]
        yield Sentence((*pieces[:-1], "." if pages else ", attached."))
    yield from _judged_again(failure)


def _judged_again(failure: KeptFailure) -> Iterator[Block]:
    yield Sentence("To judge it again, if you have the run folder:")
    yield CodeBlock(stored_replay_command(failure), "sh")


def script_files(failure: KeptFailure) -> Sequence[tuple[str, str]]:
    """Return the files that reproduce a failure, by name: the script, and what it reads; none if there is no script."""
    if not failure.reproducer:
        return []
    files = [(REPRODUCER_FILE, failure.reproducer)]
    if READS_FACTS in failure.reproducer:
        facts = stored_facts(failure)
        needed = {name: facts[name] for name in _DATA_OF_SCRIPTS if name in facts}
        if not needed:
            return []
        files.append((FACTS_FILE, json.dumps(needed)))
    return files


def stored_replay_command(failure: KeptFailure) -> str:
    """Return the command that judges a stored failure again, in the run folder as `judge` keeps it."""
    return replay_command(f"runs/{failure.run_id}/failures/{failure.signature}", stored_facts(failure))


def marker(key: str) -> str:
    """Return a key for the hidden comment in a body, escaped so that nothing in it ends the comment."""
    return key.replace("--", "-%2D").replace(">", "%3E")


def _first_lines(text: str, max_lines: int) -> str:
    lines = text.rstrip("\n").split("\n")
    kept_lines: list[str] = []
    size = 0
    for line in lines[:max_lines]:
        cut = line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} ... ({len(line)} characters)"
        size += len(cut.encode()) + 1
        if size > _MAX_DUMP_BYTES:
            break
        kept_lines.append(cut)
    left = len(lines) - len(kept_lines)
    return "\n".join([*kept_lines, *([f"... ({left} more lines)"] if left else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolatedClause:
    """One clause that one product violates.

    Attributes:
        key: its stable name, "CLAUSE on PRODUCT"; for an operation, its row alone.
        target: the id of the product that violates it.
        role: what was judged: broker, client or operation.
        level: the clause's level, such as MUST.
        verdict: `violates` if it is that on any listener, else `flaky`.
        listeners: those that violate it.
        releases: the targets that an operation was tried with; empty if it is none.
        title: a short plain-text title for an issue.
        evidence: its first stored failure; None if none is stored.
        link: the page with the most details; empty if there are no pages.
        stated: the clause's row of the grid.
    """

    key: str
    clause: str
    target: str
    role: str
    level: str
    verdict: Verdict
    listeners: tuple[str, ...]
    releases: tuple[str, ...]
    title: str
    evidence: KeptFailure | None
    link: str
    stated: GridClause

    @property
    def body(self) -> str:
        """The body of an issue in Markdown: clause, bytes, reproducer, link and, hidden, the key."""
        return f"{markdown_of(*_body(self))}\n<!-- kafka-conformance: {marker(self.key)} -->"

    @property
    def seen(self) -> str:
        """What was seen, on one line; empty if no failure is stored."""
        return first_line(self.evidence) if self.evidence else ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The targets whose columns show it: the releases of an operation, else the product."""
        return self.releases or (self.target,)


def violations_of(
    folded: FoldedGrid,
    failures: Sequence[KeptFailure],
    *,
    pages: str | None,
    chosen: Chosen = lambda cell: True,
) -> list[ViolatedClause]:
    """List violations in the chosen cells, the worst first: by level, then by product, in the order of the grid."""
    kept = failures_by_run(failures)
    violations = [
        _violation(product, list(cells), kept, pages)
        for product in products_of(folded)
        for _, cells in groupby(
            [own for own in product.cells if _is_violated(own.cell) and chosen(own.cell)],
            key=lambda own: (own.role, own.clause.clause),
        )
    ]
    return sorted(violations, key=lambda each: _LEVELS.index(each.level) if each.level in _LEVELS else len(_LEVELS))


def _is_violated(cell: FoldedCell) -> bool:
    return any(each.verdict in VIOLATED_VERDICTS for each in cell.listeners)


def _violation(product: Product, cells: Sequence[OwnCell], kept: Failures, pages: str | None) -> ViolatedClause:
    """Return the entry of one clause: several cells of an operation, one for each release, are one entry."""
    clause, role = cells[0].clause, cells[0].role
    red = [(own, each) for own in cells for each in own.cell.listeners if each.verdict in VIOLATED_VERDICTS]
    failure = next((kept_failure for _, each in red for kept_failure in _kept_failures(each, kept)), None)
    own, listener = red[0]
    page = (
        addresses.failure_page(failure.signature)
        if failure is not None
        else addresses.cell_page(clause.clause, own.cell.target, listener.listener)
    )
    is_operation = role == OPERATION
    # Another listener may rank worse, but only those that violate the clause count here.
    verdict = min((each.verdict for _, each in red), key=WORST_FIRST.index)
    crashes = any(each.crashes for _, each in red)
    return ViolatedClause(
        key=one_line(clause.clause if is_operation else f"{clause.clause} on {product.id}"),
        clause=clause.clause,
        target=product.id,
        role=role,
        level=clause.level,
        verdict=verdict,
        listeners=tuple(dict.fromkeys(each.listener for _, each in red)),
        releases=tuple(each.cell.target for each in cells) if is_operation else (),
        title=_title(product, cells, verdict, crashes=crashes),
        evidence=failure,
        link="" if pages is None else f"{pages}{page}",
        stated=clause,
    )


def _title(product: Product, cells: Sequence[OwnCell], verdict: Verdict, *, crashes: bool) -> str:
    name = one_line(product.name)[:_MAX_NAME]
    if cells[0].role == OPERATION:
        operation = cells[0].clause.clause.rpartition(".")[2]
        fails = "fails" if verdict is Verdict.VIOLATES else "sometimes fails"
        releases = ", ".join(one_line(own.column.name) for own in cells)
        return f"{name}: {operation} {CRASHES if crashes else fails} with {releases}"[: _MAX_NAME * 2]
    words = "violates" if verdict is Verdict.VIOLATES else "sometimes violates"
    words = f"{CRASHES} and violates" if crashes else words
    return f"{name} {words} {cells[0].clause.clause}"


def _kept_failures(listener: ListenerCell, kept: Failures) -> Iterator[KeptFailure]:
    if listener.row is not None:
        for failure in listener.row.failures:
            key = (listener.row.run_id, failure.signature)
            if key in kept and not leaves_open(kept[key]):
                yield kept[key]


def _body(violation: ViolatedClause) -> Iterator[Block]:
    clause = violation.stated
    names = ", ".join([*violation.releases, *violation.listeners])
    yield Sentence((Strong(clause.clause), f" ({clause.level}) on ", Strong(violation.target), f", {names}"))
    yield Quote(clause.statement)
    yield Sentence(f"{clause.meaning} ({clause.location})")
    if violation.evidence is not None:
        yield from evidence_of(violation.evidence)
        yield from _script(violation.evidence)
    if violation.link:
        yield Sentence(Hyperlink("Full record", violation.link))


def violation_documents(violations: Sequence[ViolatedClause]) -> list[dict[str, Any]]:
    """Return violations as JSON objects."""
    return [{name: getattr(each, name) for name in _IN_JSON} for each in violations]
