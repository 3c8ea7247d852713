"""The console script `kafka-conformance`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import click

from conformance.commands.command_list import COMMANDS, GROUPS, MAINTENANCE
from fixtures.cleanup.confinement import kept_from_others
from fixtures.cleanup.ending_signals import INTERRUPTS
from reports.command_line.distribution import suite_version
from reports.command_line.extras import check_extra
from reports.command_line.suite_command import SuiteCommand, check_working_folder

HELP_ALL = "--help-all"


class Commands(SuiteCommand, click.Group):
    """Imports a command only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return sorted(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups, each with its complete first sentence."""
        listing = [title for title in GROUPS if title != MAINTENANCE or ctx.meta.get(HELP_ALL)]
        for title in listing:
            with formatter.section(title):
                formatter.write_dl([(name, each.summary) for name, each in GROUPS[title].items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(COMMANDS[cmd_name].module)
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; an unknown name is an error with the nearest ones.

        Raises:
            MissingExtra: the command can do nothing with what is installed.
        """
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = " or ".join(get_close_matches(args[0], COMMANDS, n=2))
            hint = f" Did you mean {near}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        # Before its import, which fails without them.
        for extra in COMMANDS[args[0]].extras if args[0] in COMMANDS else ():
            check_extra(extra, args[0])
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _check_given_once(click.Context(command, ctx, name, **command.context_settings), rest)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; any signal that ends it does what Ctrl-C does."""
        INTERRUPTS.handle()
        check_working_folder()
        # Where runs are kept by default.
        with kept_from_others(Path("runs")):
            return super().invoke(ctx)


def _check_given_once(ctx: click.Context, arguments: Sequence[str]) -> None:
    """Check that no option with one value is given several times: click would use the last one without a word.

    Raises:
        click.UsageError: one is.
    """
    _, _, options = ctx.command.make_parser(ctx).parse_args([*arguments])
    for option, times in Counter(options).items():
        if times > 1 and isinstance(option, click.Option) and not (option.multiple or option.is_flag):
            takes_several = (option.metavar or "").endswith(",...")
            commas = ", with commas between several values" if takes_several else ""
            ctx.fail(f"{option.opts[0]} is given {times} times: give it once{commas}")


def _show_complete_help(ctx: click.Context) -> None:
    ctx.meta[HELP_ALL] = True
    click.echo(ctx.get_help())
    ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(suite_version())
@click.option(
    HELP_ALL,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, asked: _show_complete_help(ctx) if asked else None,
    help="Show this message with the commands that maintain the suite.",
)
def main() -> None:
    """Judge how well Kafka brokers, proxies and clients conform to the ApiVersions handshake.

    \b
    kafka-conformance judge localhost:9092
    kafka-conformance judge --client-cmd './my-client {bootstrap} {timeout}'
    kafka-conformance judge reference+tags-descend --tier smoke
    """  # noqa: D301 - click wants the character, not a backslash


if __name__ == "__main__":
    main()
