"""`judge`: runs `pytest conformance/` from any folder, on the targets that are named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from pathlib import Path

import click
import pytest

from conformance.commands.errors import USAGE_ERROR
from conformance.runs.run_identity import SUITE

_WITH_ADDRESS = ("--bootstrap-server", "--bootstrap-controller", "--upstream")
_ADDRESS = re.compile(r"[^-].*:[0-9]{1,5}")


class WrongTargets(click.ClickException):
    """Targets that cannot be judged in one run, or that come after the first option."""

    exit_code = USAGE_ERROR


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
)
@click.argument(
    "arguments", nargs=-1, type=click.UNPROCESSED, metavar="[TARGET]... [PYTEST OPTIONS]"
)
def judge(arguments: tuple[str, ...]) -> None:
    r"""Judge brokers: `pytest conformance/`, from any folder.

    A TARGET is the [PROTOCOL://]HOST:PORT of a listener of a broker that runs already, the folder of a build of Kafka, or an id
    or glob that `kafka-conformance targets` lists. PROTOCOL is a value of `security.protocol`; several such listeners are those of
    one broker.
    Without one, the newest Apache Kafka release is started and judged. The options are those of `pytest
    conformance/`, and come after the targets; `kafka-conformance judge -- --help` lists them all. The run folder is
    created in ./runs.

    \b
    kafka-conformance judge localhost:9092 --tier smoke
    kafka-conformance judge 'apache-kafka-3.*' --listener ssl
    kafka-conformance judge localhost:9192 --upstream localhost:9092
    kafka-conformance judge SASL_SSL://host:9094 --command-config client.properties
    """
    raise SystemExit(int(pytest.main(pytest_arguments(arguments, here=Path.cwd()))))


def pytest_arguments(arguments: Sequence[str], *, here: Path) -> list[str]:
    """Return pytest's arguments for those of the command.

    Args:
        arguments: targets, then options of pytest.
        here: folder that gets pytest's cache; the suite's own may be read-only.

    Raises:
        WrongTargets: several addresses are given without their protocols, or one after the options.
    """
    targets = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    options = list(arguments[len(targets) :])
    addresses = [target for target in targets if ":" in target]
    if len(addresses) > 1 and not all("://" in address for address in addresses):
        raise WrongTargets(
            f"one run judges one broker; given: {', '.join(addresses)}. "
            "Write further listeners of the same broker as PROTOCOL://HOST:PORT, such as SSL://localhost:9093"
        )
    for option, value in pairwise(options):
        if option not in _WITH_ADDRESS and _ADDRESS.fullmatch(value):
            raise WrongTargets(f"targets come before the options: judge {value} {options[0]} ...")
    chosen = [
        argument
        for target in targets
        for argument in ("--bootstrap-server" if target in addresses else "--broker", target)
    ]
    return [str(SUITE), "-o", f"cache_dir={here / '.pytest_cache'}", *chosen, *options]
