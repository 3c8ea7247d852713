"""Texts of issues, in Markdown: what was seen, the bytes, and everything that a reader needs to see it again.

The script is complete or left out, because a part of one does not run. An issue has at most 65,536 characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from reports.escaping import cut, markdown_code_block, markdown_text, one_line
from reports.grid import addresses
from reports.grid.bugs import Bug
from reports.grid.history_tables import KeptFailure
from reports.grid.products import Product
from reports.records import FACTS_FILE, REPRODUCER_FILE
from reports.run.failures import READS_FACTS
from wire.foreign_json import read_foreign_json

MOST_SCRIPT_BYTES = 52 * 1024
"""Leaves room in an issue for everything else."""
_LONGEST_SEEN = 200
_MOST_DUMP_LINES = 60
_MOST_DUMP_BYTES = 8 * 1024
_LONGEST_LINE = 120
_LONGEST_TITLE = 200
_DATA_OF_SCRIPTS = ("steps", "play")


def first_line(failure: KeptFailure) -> str:
    """Return the first line of a failure's message, with unprintable characters escaped, cut to a maximum length."""
    return cut(one_line(failure.message.partition("\n")[0]), _LONGEST_SEEN)


def issue_title(product: Product, bug: Bug) -> str:
    """Return the title of an issue about a bug: plain text on one line."""
    sources = dict.fromkeys(clause.source for clause in bug.clauses)
    where = "" if bug.first.is_operation else f" ({', '.join(sources)})"
    return cut(one_line(f"{product.name}: {bug.title}{where}"), _LONGEST_TITLE)


def issue_body(bug: Bug, *, suite: str, pages: str, with_script: bool = True) -> str:
    """Return the body of an issue about a bug, for the tracker of the product.

    Args:
        bug: the bug.
        suite: what found it, and when, in words.
        pages: the address at which the site is published, with a slash at its end; empty if it is not published.
        with_script: whether the script is a part of it, if it fits; otherwise a link to it is.
    """
    first = bug.first
    lines = [markdown_text(each.statement) for each in bug.clauses[:1]]
    lines += ["", markdown_text(first.clause.meaning)] if first.clause.meaning else []
    lines += ["", f"Source: {markdown_text(first.clause.location)}"]
    if len(bug.clauses) > 1:
        rules = ", ".join(f"{each.clause} ({each.level})" for each in bug.clauses)
        lines += ["", f"Rules that it breaks: {markdown_text(rules)}"]
    if first.is_operation:
        lines += ["", f"Seen with: {markdown_text(', '.join(bug.targets))}"]
    if first.failure is not None:
        lines += evidence_lines(first.failure)
        lines += (
            script_lines(first.failure) if with_script else _script_elsewhere(first.failure, pages)
        )
    lines += ["", f"Found by {markdown_text(suite)}."]
    if pages:
        lines[-1] += f" Full record: {_page(bug, pages)}"
    return "\n".join(lines) + "\n"


def _page(bug: Bug, pages: str) -> str:
    first = bug.first
    if first.failure is not None:
        return f"{pages}{addresses.failure_page(first.failure.signature)}"
    return f"{pages}{addresses.cell_page(first.clause.clause, first.target.target, first.listener)}"


def evidence_lines(failure: KeptFailure, most_lines: int = _MOST_DUMP_LINES) -> Iterator[str]:
    """Yield what was seen and the bytes of a failure, as Markdown."""
    yield ""
    yield f"Seen: {markdown_text(first_line(failure))}"
    details = [one_line(line) for line in failure.message.splitlines()[1:3] if line.strip()]
    if failure.property.startswith("test_operation") and details:
        yield ""
        yield markdown_text(" ".join(details))
    if driver := driver_of(failure):
        yield ""
        yield "What the client runs:"
        yield ""
        yield from markdown_code_block(driver)
    if failure.hex_dump:
        yield ""
        yield from markdown_code_block(_cut(failure.hex_dump, most_lines), "text")


def driver_of(failure: KeptFailure) -> str:
    """Return the lines of a client's driver that try an operation; empty if none are stored."""
    return _stored(failure, "driver")


def reported_of(failure: KeptFailure) -> str:
    """Return status and address of the reports about a failure that exist already; empty if none is known."""
    return _stored(failure, "reported")


def _stored(failure: KeptFailure, name: str) -> str:
    try:
        found = read_foreign_json(failure.facts).get(name, "")
    except (ValueError, AttributeError):
        return ""
    return found if isinstance(found, str) else ""


def script_lines(failure: KeptFailure) -> Iterator[str]:
    """Yield how a failure is seen again: the complete script, if there is one and it fits, and the command."""
    files = script_files(failure)
    size = sum(len(content.encode()) for _, content in files)
    if files and size <= MOST_SCRIPT_BYTES:
        yield ""
        yield "<details><summary>A script that reproduces it, using only Python</summary>"
        for name, content in files:
            if len(files) > 1:
                yield ""
                yield f"{name}:"
            yield ""
            yield from markdown_code_block(content, "python" if name.endswith(".py") else "json")
        yield ""
        yield "</details>"
    elif files:
        yield ""
        yield f"The script that reproduces it has {size:,} bytes, too many for this text; it is next to the full record."
    yield from _judged_again(failure)


def _script_elsewhere(failure: KeptFailure, pages: str) -> Iterator[str]:
    """Yield where the files of the script are, instead of the script."""
    names = [name for name, _ in script_files(failure)]
    if names:
        files = " and ".join(
            f"[{name}]({pages}{addresses.failure_file(failure.signature, name)})" if pages else name
            for name in names
        )
        yield ""
        yield (
            f"A script that reproduces it, using only Python: {files}{'' if pages else ', attached'}."
        )
    yield from _judged_again(failure)


def _judged_again(failure: KeptFailure) -> Iterator[str]:
    yield ""
    yield "To judge it again, if you have the run folder:"
    yield ""
    yield from markdown_code_block(replay_command(failure), "sh")


def script_files(failure: KeptFailure) -> Sequence[tuple[str, str]]:
    """Return the files that reproduce a failure, by name: the script, and what it reads; none if there is no script."""
    if not failure.reproducer:
        return []
    files = [(REPRODUCER_FILE, failure.reproducer)]
    if READS_FACTS in failure.reproducer:
        try:
            facts = read_foreign_json(failure.facts)
        except ValueError:
            return []
        needed = {name: facts[name] for name in _DATA_OF_SCRIPTS if name in facts}
        if not needed:
            return []
        files.append((FACTS_FILE, json.dumps(needed)))
    return files


def replay_command(failure: KeptFailure) -> str:
    """Return the command that judges a stored failure again; the suite itself chose both folder names."""
    return f"kafka-conformance replay runs/{failure.run_id}/failures/{failure.signature}"


def marker(key: str) -> str:
    """Return a key for the hidden comment in a body, escaped so that nothing in it ends the comment."""
    return key.replace("--", "-%2D").replace(">", "%3E")


def _cut(text: str, most_lines: int) -> str:
    lines = text.rstrip("\n").split("\n")
    shown: list[str] = []
    size = 0
    for line in lines[:most_lines]:
        cut = (
            line
            if len(line) <= _LONGEST_LINE
            else f"{line[:_LONGEST_LINE]} ... ({len(line)} characters)"
        )
        size += len(cut.encode()) + 1
        if size > _MOST_DUMP_BYTES:
            break
        shown.append(cut)
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"... ({left} more lines)"] if left else [])])
