"""`limits`: judges what a broker does at the limits that its operator sets.

It is no run of a role: there are no records and no cells. A run judges brokers that have Kafka's defaults, so it needs
no broker for each setting.
"""

from __future__ import annotations

import json

import click

from clauses.exit_statuses import NOT_JUDGED
from conformance.commands.errors import UnknownName
from conformance.commands.output_console import status_line
from conformance.commands.selection import selected_targets
from conformance.limits.asking import LimitProblem
from conformance.limits.trials import TRIALS
from fixtures.errors import HarnessError
from fixtures.registry.targets import Target
from reference_model.profiles.profile import release_order
from reports.wording.escaping import printable

SHOWN_BYTES = 32


@click.command()
@click.argument("targets", metavar="RELEASE...", nargs=-1, required=True)
@click.option(
    "--only",
    "chosen",
    type=click.Choice([*TRIALS]),
    multiple=True,
    help="the limit to try; repeatable; default: all that the release has",
)
@click.option("--json", "is_json", is_flag=True, help="print what was tried, with the bytes of each wrong answer")
def limits(targets: tuple[str, ...], chosen: tuple[str, ...], is_json: bool) -> None:
    """Judge what a broker does at the limits that operators set.

    A RELEASE is an id or a glob that `kafka-conformance targets` lists. For each limit a broker is started as a
    process with its setting: connections.max.reauth.ms, max.connections, max.connections.per.ip and
    unstable.api.versions.enable.

    The exit status is 1 if a broker breaks a clause. Otherwise it is 10 if one did not start.
    """
    selected = selected_targets(targets)
    for target in selected:
        _check(target, chosen)
    documents: list[dict[str, object]] = []
    has_problems, failed = False, False
    for target in selected:
        for name in chosen or [name for name, trial in TRIALS.items() if _has(target, trial.first_release)]:
            try:
                with status_line(f"{target.id}: {name}"):
                    seen, problems = TRIALS[name].judge(target)
            except HarnessError as error:
                click.echo(printable(f"{target.id}, {name}: {error}"), err=True)
                failed = True
                continue
            has_problems |= bool(problems)
            documents.append(_as_json(target, name, seen, problems))
            if not is_json:
                click.echo("\n".join(_lines(target, name, seen, problems)))
    if is_json:
        click.echo(json.dumps(documents, indent=1))
    raise SystemExit(NOT_JUDGED if failed and not has_problems else int(has_problems))


def _check(target: Target, chosen: tuple[str, ...]) -> None:
    """Refuse a target that is not started here, or has not what is to be tried.

    Raises:
        UnknownName: it is no release with ApiVersions, or lacks a setting.
    """
    if "process" not in target.launchers or not target.handshake:
        raise UnknownName(f"{target.id} is no release with ApiVersions that is started as a process")
    for name in chosen:
        trial = TRIALS[name]
        if not _has(target, trial.first_release):
            raise UnknownName(f"{target.id} has no {trial.setting}, which there is since {trial.first_release}")


def _has(target: Target, first_release: str) -> bool:
    return release_order(target.release) >= release_order(first_release)


def _lines(target: Target, name: str, seen: str, problems: list[LimitProblem]) -> list[str]:
    lines = [f"{target.id}: {name} ({seen}): {'as it has to be' if not problems else 'wrong'}"]
    for problem in problems:
        more = " ..." if len(problem.payload) > SHOWN_BYTES else ""
        bytes_ = f": {problem.payload[:SHOWN_BYTES].hex(' ')}{more}" if problem.payload else ""
        lines.append(printable(f"{problem.clause} is violated: {problem.sentence}{bytes_}"))
    return lines


def _as_json(target: Target, name: str, seen: str, problems: list[LimitProblem]) -> dict[str, object]:
    return {
        "target": target.id,
        "limit": name,
        "setting": TRIALS[name].setting,
        "seen": seen,
        "violations": [
            {"clause": each.clause, "sentence": each.sentence, "bytes": each.payload.hex()} for each in problems
        ],
    }
