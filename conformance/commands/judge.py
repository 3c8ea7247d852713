"""`judge`: runs `pytest conformance/` on named targets, from any folder."""

from __future__ import annotations

import gc
import re
from collections.abc import Generator, Sequence
from importlib import import_module
from itertools import pairwise, takewhile
from pathlib import Path
from types import ModuleType

import click
import pytest

from clauses.exit_statuses import USAGE_ERROR
from conformance.runs.run_identity import SUITE
from reports.command_line.extras import REPORTS, check_extra

ALLURE = "--alluredir"
"""The option of Allure's plugin."""
_WITH_ADDRESS = ("--bootstrap-server", "--bootstrap-controller", "--upstream")
QUIET = ("--no-header", "-o", "verbosity_test_cases=-1")
"""Options with which pytest shows no versions and no names of modules: a symbol for each property is enough."""
OF_PYTEST = {
    "-v": "show every clause, also those that conform, and why clauses do not apply",
    "-k EXPRESSION": "judge only the properties whose name, or that of their target, matches",
    "-x": "end at the first violation",
    "--hypothesis-seed N": "draw the same examples again",
}
_ADDRESS = re.compile(r"[^-].*:[0-9]{1,5}")


def _declared() -> ModuleType:
    """Return `suite_options`, which is not imported before pytest runs: it would no longer rewrite our assertions."""
    return import_module("conformance.commands.suite_options")


class WrongArguments(click.ClickException):
    """Error for arguments of `judge` that cannot be accepted.

    The arguments are targets that cannot be judged in one run, targets after the first option, unknown options, and
    values that an option refuses.
    """

    exit_code = USAGE_ERROR


class _OneSentence:
    """A pytest plugin that makes a wrong option an error of this command, without pytest's usage in front of it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_parse(self) -> Generator[None, object, object]:
        try:
            return (yield)
        except pytest.UsageError as error:
            _, _, problem = str(error).rpartition(": error: ")
            sentence = problem.partition("\n")[0] or str(error)
            of_pytest = [usage.partition(" ")[0] for usage in OF_PYTEST]
            near = ", ".join(dict.fromkeys(_declared().nearest_options(sentence, of_pytest)))
            hint = f"nearest: {near}; " if near else ""
            raise WrongArguments(f"{sentence}; {hint}`kafka-conformance judge --help` lists all") from error


class _KeepsWhatIsThere:
    """Pytest plugin that excludes objects created before the properties begin from garbage collection.

    These objects stay until the end of the run.
    """

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        gc.freeze()


class _WithSuiteOptions(click.Command):
    """A command whose help has the options of the suite as well."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write click's own options, then those that are passed on to pytest."""
        super().format_options(ctx, formatter)
        with formatter.section("Options of the suite, after the targets"):
            formatter.write_dl([(option.usage, option.help) for option in _declared().suite_options()], col_max=24)
        with formatter.section("Options of pytest that help here"):
            formatter.write_dl(list(OF_PYTEST.items()), col_max=24)


@click.command(
    cls=_WithSuiteOptions,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[TARGET]... [PYTEST OPTIONS]")
def judge(arguments: tuple[str, ...]) -> None:
    """Judge a broker, a proxy or a client.

    A TARGET is the [PROTOCOL://]HOST:PORT of a listener of a broker that runs already, the folder of a build of Kafka,
    or an id or glob that `kafka-conformance targets` lists. PROTOCOL is a value of `security.protocol`; several such
    listeners are those of one broker. Without a target and without --client, the newest Apache Kafka release is started
    and judged.

    The command runs `pytest conformance/`, from any folder, and takes all of pytest's options. The run folder is
    created in ./runs.

    \b
    kafka-conformance judge localhost:9092 --tier smoke
    kafka-conformance judge 'apache-kafka-3.*' --listener ssl
    kafka-conformance judge localhost:9192 --upstream localhost:9092
    kafka-conformance judge SASL_SSL://host:9094 --command-config client.properties
    kafka-conformance judge --client-cmd './my-client {bootstrap} {timeout}'
    """  # noqa: D301 - click wants the character, not a backslash
    if any(argument.partition("=")[0] == ALLURE for argument in arguments):
        check_extra(REPORTS, f"judge {ALLURE}")
    options = pytest_arguments(arguments, here=Path.cwd())
    # Pytest rewrites what its plugins import afterwards, and where it cannot keep the result, that takes 0.7 s at each
    # start.
    import_module("hypothesis.strategies")
    status = pytest.main(options, plugins=[_OneSentence(), _KeepsWhatIsThere()])
    raise SystemExit(int(status))


def pytest_arguments(arguments: Sequence[str], *, here: Path) -> list[str]:
    """Return pytest's arguments for those of the command.

    Args:
        arguments: targets, then options of pytest.
        here: folder that gets pytest's cache; the suite's own may be read-only.

    Raises:
        WrongArguments: several addresses are given without their protocols, or one after the options.
    """
    targets = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    options = list(arguments[len(targets) :])
    addresses = [target for target in targets if ":" in target]
    if len(addresses) > 1 and not all("://" in address for address in addresses):
        raise WrongArguments(
            f"one run judges one broker; given: {', '.join(addresses)}. "
            "Write further listeners of the same broker as PROTOCOL://HOST:PORT, such as SSL://localhost:9093"
        )
    for option, value in pairwise(options):
        if option not in _WITH_ADDRESS and _ADDRESS.fullmatch(value):
            raise WrongArguments(f"targets come before the options: judge {value} {options[0]} ...")
    chosen = [
        argument
        for target in targets
        for argument in ("--bootstrap-server" if target in addresses else "--broker", target)
    ]
    return [str(SUITE), *QUIET, "-o", f"cache_dir={here / '.pytest_cache'}", *chosen, *options]
