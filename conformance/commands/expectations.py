"""`expectations`: prints the smallest declarations of known violations for a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import click

from clauses.catalogue import Role
from conformance.commands.errors import UnknownName, reported_as
from conformance.commands.options import FOLDER
from conformance.failures.stored_failures import NoStoredFailure, read_failure
from fixtures.registry.failure_patterns import match_for
from reports.records import VIOLATED_VERDICTS, Verdict
from reports.run.judged_examples import CellKey
from reports.run.run_folder import read_run_header, run_verdicts
from reports.run_folders.refused_runs import RunRefused

DAYS_UNTIL_STALE = 90


def entries_for(folder: Path, today: date) -> Mapping[str, str]:
    """Return the smallest declarations for the violations that a run saw, by target, in the format of its file.

    Reason and link are left empty. The registry refuses empty ones, so a person has to fill them in.

    Raises:
        RunRefused: the run folder is refused.
    """
    header = read_run_header(folder)
    verdicts = run_verdicts(folder, header)
    violated = {key for key, verdict in verdicts.items() if verdict in VIOLATED_VERDICTS}
    judged: dict[tuple[str, str], set[str]] = {}
    for key, verdict in verdicts.items():
        if verdict is not Verdict.NOT_APPLICABLE:
            judged.setdefault((key.target, key.clause), set()).add(key.listener)
    seen: dict[tuple[str, str, str], set[str]] = {}
    for path in sorted(folder.glob("failures/*/failure.json")):
        failure = read_failure(path)
        if CellKey(failure.clause, failure.target, failure.listener) in violated:
            entry_key = (failure.target, failure.clause, match_for(failure.first_line))
            seen.setdefault(entry_key, set()).add(failure.listener)
    entries: dict[str, str] = {}
    for (target, clause, match), listeners in seen.items():
        everywhere = listeners == judged[target, clause]
        entry = _entry(clause, match, () if everywhere else sorted(listeners), today)
        entries[target] = entries.get(target, "") + entry
    return entries


def _entry(clause: str, match: str, listeners: Iterable[str], today: date) -> str:
    # JSON strings and arrays are valid TOML.
    names = list(listeners)
    only = f"listeners = {json.dumps(names)}\n" if names else ""
    return f"""
[[known_violation]]
clause = {json.dumps(clause)}
match = {json.dumps(match, ensure_ascii=False)}
{only}reason = ""   # why is the violation accepted? (shown in the grid)
link = ""     # where is it tracked? (URL)
added = {today.isoformat()}
expires = {(today + timedelta(days=DAYS_UNTIL_STALE)).isoformat()}
"""


@click.command()
@click.argument("folder", metavar="RUN-FOLDER", type=FOLDER)
def expectations(folder: Path) -> None:
    """Print declarations for the violations that a run saw.

    Fill in reason and link, and append the declarations to the file of the target or client in the registry, or to one
    that `--expectations` names. A declaration without them is refused.
    """
    with reported_as(UnknownName, RunRefused, NoStoredFailure):
        entries = entries_for(folder, datetime.now(UTC).date())
        of_clients = any(clause["role"] == Role.CLIENT for clause in read_run_header(folder)["clauses"])
    for target, text in entries.items():
        file = f"clients/{target}/client.toml" if of_clients else f"brokers/{target}.toml"
        click.echo(f"# for {file}, or for the file of --expectations{text}")
    if not entries:
        click.echo("every violation of this run is already declared")
