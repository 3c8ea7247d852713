"""What was found, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fixtures.client_processes.toolchains import OWN_PYTHON
from reports.document.blocks import CellLines, Code, Document, Sentence, Text, TextTable
from reports.document.markdown_form import markdown
from reports.wording.escaping import markdown_text
from workflows.oldest_versions.results import TRIED, Oldest, Tried, read_found

DOCUMENT = "oldest-versions.md"
TITLE = "The oldest version of each library that works"


def write_document(folder: Path) -> None:
    """Write the document that follows from the results of a folder."""
    (folder / DOCUMENT).write_text(markdown(document_of(read_found(folder))), encoding="utf-8")


def in_short(found: Oldest) -> str:
    """Return the oldest version in a cell of a Markdown table, with a note if it need not be a limit of the broker."""
    if found.unclear:
        return "not certain"
    if found.works is None:
        return "none"
    return markdown_text(f"{found.works.name}{'' if found.is_exact else ' or older'}")


def document_of(found: Sequence[Oldest]) -> Document:
    """Return the table for people."""
    libraries = " ".join(sorted({each.library for each in found}))
    options = "".join(f" --broker {each}" for each in sorted({each.release for each in found}))
    return Document(
        title=TITLE,
        blocks=(
            Sentence(
                "For operators: which version of a library still works with a release. "
                f"A version works if {', '.join(TRIED[:-1])} and {TRIED[-1]} do, and if records that the client compresses arrive compressed. The "
                f"versions are those that the registry listed; of PyPI, those with a wheel for Python {OWN_PYTHON}. Between one that "
                "fails and one that works it was searched by halving: that every version in between is like its neighbours "
                "was not tried."
            ),
            Sentence(
                "If none is older, or the one before cannot be driven, then the limit is not the release's, but that of the "
                "registry, of this machine's Python, Java, Go or Node.js, or of the suite's driver. If the one before fails "
                "with an older release as well, the newer release is not the reason."
            ),
            TextTable(
                columns=("library", "release", "oldest that works", "the one before", "tried", "measured"),
                rows=tuple(map(_row, found)),
                caption="The oldest version of each library that works with a release",
            ),
            Sentence(("Made by ", Code(f"python -m workflows.oldest_versions {libraries}{options} --out docs"))),
        ),
    )


def _row(found: Oldest) -> tuple[Text | CellLines, ...]:
    return (
        found.library,
        found.release,
        _oldest(found),
        CellLines(tuple(_said(found.fails))) if found.fails else "fails" if found.works is None else "none is older",
        f"{len(found.tried)} of {found.published}: {', '.join(found.tried)}",
        found.measured,
    )


def _oldest(found: Oldest) -> CellLines:
    lines = [found.works.name if found.works else "none"]
    if found.works and found.works.switched_off:
        lines.append(_log(found.works))
    if found.works and (unable := [each for each in TRIED if each not in found.works.operations]):
        lines.append(f"its driver has no {', '.join(unable)}")
    if found.unclear:
        lines.append(f"not certain: {found.unclear}")
    elif found.untried:
        lines.append(f"{found.untried} older ones were not tried")
    return CellLines(tuple(lines))


def _said(tried: Tried) -> Iterator[Text]:
    yield tried.name if tried.is_driven else f"{tried.name}: it cannot be driven here"
    by_words: dict[str, list[str]] = {}
    for operation, words in tried.failures.items():
        by_words.setdefault(words, []).append(operation)
    for words, operations in by_words.items():
        yield (f"{', '.join(operations)}: ", Code(words))
    if tried.switched_off:
        yield _log(tried)


def _log(tried: Tried) -> str:
    return f"its log: Disabling feature {', '.join(tried.switched_off)}"
