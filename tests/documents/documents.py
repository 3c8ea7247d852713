"""The project's documents: shell blocks, commands in sentences, and links.

A shell block (```sh) is run. A comment directly above it can change that:

    <!-- not run here: REASON -->    it is only parsed: its programs and options must exist
    <!-- ends with: N -->            it is run, and its exit status is N instead of 0

A command of this project that is named anywhere exists, and has the options that are named with it.
"""

from __future__ import annotations

import functools
import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from pathlib import Path

import click

from conformance.__main__ import main as console_script
from fixtures.model_processes import server
from spark_aggregation import job, py_files
from tests.conformance.suite_runs import REPOSITORY

DOCUMENTS = (
    REPOSITORY / "README.md",
    REPOSITORY / "ARCHITECTURE.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "CHANGELOG.md",
    REPOSITORY / "SECURITY.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "proposals").glob("*/*.md")),
)
PACKAGES = tuple(path.parent.name for path in REPOSITORY.glob("*/__init__.py"))
_BLOCK = re.compile(
    r"(?:^<!-- (?P<kind>not run here|ends with): (?P<what>.+?) -->\n+)?"
    r"^```sh\n(?P<script>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^)]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellBlock:
    """One shell block.

    Attributes:
        where: document and line.
        script: the text of the block.
        status: the exit status it ends with.
        not_run: why it is not run; empty if it is run.
    """

    where: str
    script: str
    status: int
    not_run: str


def name_of(document: Path) -> str:
    """Return a document's path in the repository."""
    return document.relative_to(REPOSITORY).as_posix()


def blocks_of(text: str, name: str) -> Iterator[ShellBlock]:
    """Yield the shell blocks of a document."""
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("script"))
        kind, what = found["kind"], found["what"]
        yield ShellBlock(
            where=f"{name}:{line}",
            script=found["script"],
            status=int(what) if kind == "ends with" else 0,
            not_run=what if kind == "not run here" else "",
        )


def inline_code_of(text: str) -> Iterator[str]:
    """Return the texts between single backticks."""
    yield from _INLINE.findall(_FENCED.sub("", text))


def links_of(text: str) -> Iterator[str]:
    """Return the targets of a document's links."""
    yield from _LINK.findall(_FENCED.sub("", text))


def anchors_of(text: str) -> set[str]:
    """Return the anchors that GitHub makes from a document's headings."""
    headings = _HEADING.findall(_FENCED.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


CONSOLE_SCRIPT = "kafka-conformance"
SUITE = "conformance/"
OWN_MODULES = ("spark_aggregation.", "workflows.", "benchmarks.")
_SEPARATORS = ";&|\n"
_JOBS = {"roll-up": job.command, "py-files": py_files.command}
"""The programs to which commands pass their arguments on."""
_BEFORE_A_PROGRAM = re.compile(r"\w+=.*|exec|do|then|until|while|if")


def simple_commands(script: str) -> Iterator[list[str]]:
    """Yield each simple command of a script as a list of words that starts with the program."""
    lexer = shlex.shlex(script.replace("\\\n", " "), posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    for is_separator, tokens in groupby(lexer, key=lambda token: set(token) <= set(_SEPARATORS)):
        words = list(tokens)
        while words and _BEFORE_A_PROGRAM.fullmatch(words[0]):
            words.pop(0)
        if words and not is_separator:
            yield words


def faults_of(words: Sequence[str]) -> list[str]:
    """Return what is wrong with a command of this project; empty for any other command."""
    program = words[0].rsplit("/", 1)[-1]
    if program == CONSOLE_SCRIPT:
        return _faults_of_click(console_script, words[1:])
    if program == "pytest" and SUITE in words:
        return _unknown(words[1:], suite_options(), "pytest conformance/")
    if program == "python" and words[1:2] == ["-m"] and words[2].startswith(OWN_MODULES):
        return _faults_of_module(words[2], words[3:])
    return []


def _faults_of_module(name: str, words: Sequence[str]) -> list[str]:
    module = importlib.import_module(name)
    command = getattr(module, "command", None) or getattr(module, "main", None)
    return _faults_of_click(command, words) if isinstance(command, click.Command) else []


def _faults_of_click(command: click.Command, words: Sequence[str]) -> list[str]:
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        named = command.get_command(click.Context(command), name)
        if named is None:
            return [f"{command.name} has no command {name}"]
        command = _JOBS.get(name, named)
    known = {option for parameter in command.params for option in parameter.opts}
    if command.context_settings.get("ignore_unknown_options"):
        passed_on = command.name == "reference-broker"
        known |= broker_options() if passed_on else suite_options()
    else:
        # What follows is another program with options of its own.
        rest = list(takewhile(lambda word: word != "--", rest))
    return _unknown(rest, {*known, "--help", "-h"}, str(command.name))


def _unknown(words: Sequence[str], known: set[str] | frozenset[str], command: str) -> list[str]:
    given = [word.partition("=")[0] for word in words if word.startswith("--")]
    return [f"{command} has no option {option}" for option in given if option not in known]


@functools.cache
def suite_options() -> frozenset[str]:
    """Return the options that `pytest conformance/ --help` lists."""
    command = [sys.executable, "-m", "pytest", SUITE, "--help", "-p", "no:cacheprovider"]
    finished = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return _options_in(finished.stdout)


def broker_options() -> frozenset[str]:
    """Return the options of the reference broker."""
    return _options_in(server.option_parser().format_help())


def _options_in(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))
