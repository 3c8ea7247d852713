"""Words of the project's older, harder style do not return.

The test reads code, pages, documents and data files.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import PACKAGES, name_of

_SUFFIXES = (".j2", ".js", ".md", ".sh", ".toml", ".yml")
_FOLDERS = (*PACKAGES, "docs", "drivers", ".github")
_SELF = Path(__file__)
_PLAIN_WORDS = {
    # A proxy or firewall is a place; a clock may be behind; a process may leave files behind.
    r"(?<!left\s)(?<!be\s)behind(?! an? (?:proxy|firewall))": "after",
    "beside": "next to, along with",
    "anew": "again",
    "once more": "again",
    "(?:is|are|was|were) told": "is reported; for tells apart: is distinguished",
    "told (?:apart|from)": "distinguished",
    "(?:is|are|was|were) said of": "what we report about",
    "(?:is|are) of (?:no )?use": "helps, is unusable",
    "the matter of": "judged by",
    "(?:nobody|anybody)": "name the role: callers, no broker",
}
"""Regular expressions of words to avoid, each with what to write instead."""
_HABITS = [
    # No identifier, and no part of one: ids join their words with hyphens, dots and underscores.
    (re.compile(rf"(?<![\w.-])(?:{words})(?![\w-])".replace(" ", r"\s+"), re.IGNORECASE), better)
    for words, better in _PLAIN_WORDS.items()
]
_ANY_HABIT = re.compile(
    rf"(?<![\w.-])(?:{'|'.join(_PLAIN_WORDS)})(?![\w-])".replace(" ", r"""[\s"'rf]+"""),
    re.IGNORECASE,
)
"""Between two words of a source there may also be what splits a string into two."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file that people read, with their line: of Python, comments and strings of several words."""
    content = path.read_text("utf-8")
    if path.suffix != ".py":
        yield 1, content
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def old_words(path: Path) -> list[str]:
    """Return a line for each word to avoid in a file: where it is, and what to write instead."""
    return [
        f"{name_of(path)}:{line + text.count(chr(10), 0, match.start())}: {match[0]!r}: write {better!r}"
        for line, text in texts(path)
        for words, better in _HABITS
        for match in words.finditer(text)
    ]


def may_have_old_words(path: Path) -> bool:
    """Return whether the text of a file has any of the words; reading the texts of a module takes much longer."""
    return _ANY_HABIT.search(path.read_text("utf-8").replace(r"\n", " ")) is not None


_FINDINGS = REPOSITORY / "docs" / "findings"


def files() -> Iterator[Path]:
    """Yield every file of the repository that has such texts."""
    yield from sorted(REPOSITORY.glob("*.md"))
    for folder in _FOLDERS:
        for path in sorted((REPOSITORY / folder).rglob("*")):
            # What findings quote are the words of clients and brokers.
            if path.suffix in (".py", *_SUFFIXES) and path != _SELF and _FINDINGS not in path.parents:
                yield path


def test_texts_use_plain_words() -> None:
    """Every word to avoid is named with its place and a better one."""
    suspects = filter(may_have_old_words, files())
    assert [found for path in suspects for found in old_words(path)] == []


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.py", '"""Reads\nbytes behind the body."""\n', ["2: 'behind': write 'after'"]),
        ("a.py", "x = 1  # made anew\n", ["1: 'anew': write 'again'"]),
        ("a.py", 'x = f"{y} is told {z}"\n', ["1: 'is told'"]),
        ("a.py", 'x = (\n    "it is "\n    "told"\n)\n', ["2: 'is told'"]),
        ("a.py", 'x = "bytes\\nbehind it"\n', ["2: 'behind'"]),
        ("a.md", "What is\nsaid of it", ["1: 'is\\nsaid of'"]),
        ("a.toml", 'match = "bytes beside it"', ["1: 'beside'"]),
        ("a.j2", "<p>Nobody knows</p>", ["1: 'Nobody'"]),
        ("a.py", 'behind = "behind"\nid_ = "hurts-nobody and more"\n', []),
        ("a.md", "one client behind a proxy, nothing left behind", []),
    ],
)
def test_words_to_avoid_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, content: str, found: list[str]
) -> None:
    """Words are found across lines; names, ids and a proxy that clients are behind are not."""
    monkeypatch.setattr(f"{__name__}.name_of", lambda path: path.name)
    (tmp_path / name).write_text(content)
    seen = old_words(tmp_path / name)
    assert not found or may_have_old_words(tmp_path / name)
    assert len(seen) == len(found)
    assert all(f"{name}:{part}" in line for line, part in zip(seen, found, strict=True))
