"""The reference lists in docs/.

They are the clauses, what the model of a broker leaves open, and the commands with their options.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

import click

from clauses.catalogue import Clause, catalogue
from conformance.__main__ import main as console_script
from conformance.commands.command_list import GROUPS
from conformance.commands.judge import OF_PYTEST
from conformance.commands.suite_options import suite_options
from fixtures.model_processes.server import option_parser
from reference_model.broker.rules.reaction import Choice
from reports.wording.markdown_table import markdown_table

VARIABLES: Mapping[str, str] = {
    "CI": "if it is set, each run draws the same examples",
    "KAFKA_CONFORMANCE_BASE_IMAGE": "the image on which the project builds its own",
    "KAFKA_CONFORMANCE_IMAGES": "`published`: use published images instead of those that the project builds",
    "KAFKA_CONFORMANCE_PROFILE": "`dev`, `ci`, `explore` (other examples each time) or `unshrunk` (finds failures without "
    "shrinking them)",
    "KAFKA_PASSWORD": "the password that a failure's `reproducer.py` authenticates with",
    "KAFKA_USERNAME": "the user for it",
    "NO_COLOR": "no colours in the terminal",
}
"""The variables of the environment that users set."""

PASSED_ON = ("--launcher", "--tier")
"""The options of the suite that other commands than `judge` have under the same name and meaning."""
PRINTED_WIDTH = 100


def clause_list() -> Iterator[str]:
    """Yield the lines of all clauses: a test notices a lost clause, and a diff shows a change."""
    yield "# Clauses\n"
    yield "All requirements that the suite judges, with their levels. `python -m workflows.documents` generates the list from `clauses/`."
    yield "`kafka-conformance explain CLAUSE` shows where a statement comes from, and what breaks for a user if it is violated."
    yield "The list is to look up an id; to implement a broker or a client, read [the specification](specification.md), which has the rules in that order, with their sources and bytes.\n"
    for source, of_source in groupby(catalogue(), key=lambda clause: clause.source):
        yield f"## {source}\n"
        yield from table(("clause", "title", "level", "statement"), map(_clause_row, of_source))


def _clause_row(clause: Clause) -> tuple[str, ...]:
    untested = f" (not judged in a run: {clause.not_tested})" if clause.not_tested else ""
    return f"`{clause.id}`", clause.title, clause.level.value, f"{clause.statement}{untested}"


def allowed_outcomes() -> Iterator[str]:
    """Yield the lines of all choices."""
    yield "# Where more than one outcome is allowed\n"
    yield "The cases in which a broker may do one of several things with a request; in every other case the model allows exactly one. `python -m workflows.documents`"
    yield "generates the list from `reference_model/broker/rules/reaction.py`.\n"
    rows = ((choice.reason, choice.allowed, choice.observed) for choice in Choice)
    yield from table(("when", "allowed", "observed"), rows)


def command_reference() -> Iterator[str]:
    """Yield the lines about all commands, pytest options and variables.

    The options are those that the suite gives to pytest. The variables are those of the environment.
    """
    yield "# Commands\n"
    yield (
        "All commands with their options, in the groups of `kafka-conformance --help-all`. `python -m workflows.documents` generates the list. "
        "[Exit codes](exit-codes.md) has the status of each command.\n"
    )
    for group, names in GROUPS.items():
        yield f"## {group}\n"
        for name in names:
            command = console_script.get_command(click.Context(console_script), name)
            assert command is not None
            yield from _command_lines(command, f"kafka-conformance {name}", "###")
    yield "## Variables\n"
    yield from table(("variable", "does"), ((f"`{name}`", text) for name, text in VARIABLES.items()))


def _command_lines(command: click.Command, path: str, mark: str) -> Iterator[str]:
    pieces = command.collect_usage_pieces(click.Context(command))
    yield f"{mark} {path.removeprefix('kafka-conformance ')}\n"
    yield f"```text\n{' '.join([path, *filter(None, pieces)])}\n```\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield f"```text\n{paragraph[2:]}\n```\n"
        else:
            yield f"{' '.join(paragraph.split())}\n"
    if command.name == "reference-broker":
        parser = option_parser()
        parser.formatter_class = partial(argparse.HelpFormatter, width=PRINTED_WIDTH)
        yield f"```text\n{parser.format_help()}```\n"
    of_suite = {option.name: option.help for option in suite_options() if option.name in PASSED_ON}
    options = {
        _usage(option): _meaning(option, of_suite)
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    }
    if command.name == "judge":
        options |= {f"`{option.usage}`": option.help for option in suite_options()}
        options |= {f"`{name}`": text for name, text in OF_PYTEST.items()}
    if options:
        yield from table(("option", "does"), options.items())
    if isinstance(command, click.Group):
        for name, subcommand in sorted(command.commands.items()):
            yield from _command_lines(subcommand, f"{path} {name}", f"{mark}#")


def _usage(option: click.Option) -> str:
    value = "" if option.is_flag else option.make_metavar(click.Context(click.Command("")))
    return f"`{', '.join(option.opts)} {value}".rstrip() + "`"


def _meaning(option: click.Option, of_suite: Mapping[str, str]) -> str:
    """Return what an option does; an option of the suite that a command passes on needs no text of its own."""
    text = option.help or of_suite[option.opts[0]]
    if not option.show_default:
        return text
    default = option.show_default if isinstance(option.show_default, str) else option.default
    return f"{text} (default: {default})"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown, and an empty one."""
    yield from markdown_table(columns, rows)
    yield ""
