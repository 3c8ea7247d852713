"""`targets`, `clients`, `clauses` and `explain`: list what can be judged."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from rich.table import Column, Table

from clauses.catalogue import CatalogueError, catalogue
from conformance.commands.errors import InvalidFile, UnknownName, reported_as
from conformance.commands.output_console import output_console
from fixtures.errors import InvalidTargetFile
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.clients import all_clients
from fixtures.registry.model_clients import MODEL
from fixtures.registry.targets import Target, load_targets
from fixtures.under_test.in_memory import MODEL_PROXY
from proposals import FOLDER, proposals, proposed_brokers
from reference_model.faults import clients as client_faults
from reference_model.faults import proxies
from reference_model.faults.broker import DEFECTS, Defect
from reference_model.faults.planted import Fault
from reference_model.profiles.listeners import USUAL_LISTENERS
from reference_model.profiles.profile import REFERENCE

PROPERTIES = (Path(__file__).parent.parent, FOLDER)
"""The folders of the properties of the suite, and of proposals."""


WIDTH_WHEN_PIPED = 1000
"""Wide enough that no line is wrapped: piped output has one entry per line."""


def _borderless_table(first: str, *others: str) -> Table:
    return Table(Column(first, no_wrap=True), *others, box=None, pad_edge=False)


BEFORE_THE_HANDSHAKE = "older than ApiVersions"


def _row(target: Target, note: str) -> tuple[str, ...]:
    return (
        target.id,
        target.release,
        target.quorum or "",
        ", ".join(target.launchers),
        _listeners(target),
        str(len(target.known_violations) or ""),
        note,
    )


def _listeners(target: Target) -> str:
    absent = [listener for listener in USUAL_LISTENERS if listener not in target.listeners]
    if len(absent) > 1:
        return ", ".join(target.listeners)
    return f"all but {absent[0]}" if absent else "all"


def _note(target: Target) -> str:
    if target.not_tried:
        return f"not tried: {target.not_tried}"
    return "" if target.handshake else BEFORE_THE_HANDSHAKE


def _groups(*, defects: bool) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield each group's name and rows: releases, clusters, packages, images, reference brokers."""
    registry = load_targets()
    for name, belongs in (
        ("Apache Kafka", lambda target: target.artefacts is not None),
        ("clusters", lambda target: bool(target.members)),
        ("packages", lambda target: "package" in target.launchers),
        ("vendors' images", lambda target: target.only_as_image),
    ):
        yield name, [_row(target, _note(target)) for target in registry if belongs(target)]
    hint = f"reference+DEFECT adds one of {len(DEFECTS)} planted defects; --defects lists them"
    rows = []
    followed = proposed_brokers()
    for target in reference_targets():
        added = target.id.partition("+")[2]
        if not added:
            rows.append(_row(target, "" if defects else hint))
        elif added in followed:
            rows.append(_row(target, f"follows {followed[added].source}, a proposal"))
        elif defects:
            rows.append(_row(target, DEFECTS[added].description))
    yield "reference broker", rows


@click.command()
@click.option(
    "--defects", is_flag=True, help="Also list the reference brokers with a planted defect."
)
def targets(defects: bool) -> None:
    """List the targets that --broker accepts."""
    console = output_console(piped_width=WIDTH_WHEN_PIPED)
    table = _borderless_table(
        "id", "release", "quorum", "launchers", "listeners", "known violations", "note"
    )
    with reported_as(InvalidFile, InvalidTargetFile):
        groups = list(_groups(defects=defects))
    for name, rows in groups:
        # Piped output contains nothing but targets.
        if console.is_terminal:
            table.add_row()
            table.add_row(name, style="bold")
        for row in rows:
            table.add_row(*row)
    console.print(table)


@click.command()
def clients() -> None:
    """List the clients that --client accepts."""
    table = _borderless_table("id", "language", "ring", "known violations", "note")
    with reported_as(InvalidFile, InvalidTargetFile):
        listed = all_clients()
    for client in listed:
        note = "speaks KIP-1242" if client.cluster_check else ""
        known = str(len(client.known_violations) or "")
        table.add_row(client.id, client.language, client.ring, known, note)
    output_console(piped_width=WIDTH_WHEN_PIPED).print(table)


@click.command()
def clauses() -> None:
    """List the clauses in the catalogue."""
    table = _borderless_table("id", "level", "from version", "statement")
    for clause in catalogue():
        table.add_row(clause.id, clause.level.value, str(clause.applies_to), clause.statement)
    output_console(piped_width=WIDTH_WHEN_PIPED).print(table)


PLANTED: Mapping[str, Mapping[str, Defect | Fault]] = {
    REFERENCE: DEFECTS,
    MODEL: client_faults.FAULTS,
    MODEL_PROXY: proxies.FAULTS,
    **{each.model: each.load(each.faults) for each in proposals() if each.model},
}
"""What is planted, by the name of what it is planted in."""


@click.command()
@click.argument("clause_id", metavar="CLAUSE")
def explain(clause_id: str) -> None:
    """Show a clause, its source, properties and defects."""
    with reported_as(UnknownName, CatalogueError):
        clause = catalogue()[clause_id]
    console = output_console(piped_width=WIDTH_WHEN_PIPED)
    console.print(f"{clause.id}  {clause.level.value}", style="bold")
    for name, text in (
        ("statement", clause.statement),
        ("why it matters", clause.meaning),
        ("source", clause.location),
        ("applies to", f"targets that serve ApiVersions v{clause.applies_to.first}"),
        ("role", ", ".join(clause.roles)),
    ):
        console.print(f"{name}: {text}")
    if clause.not_tested:
        console.print(f"not judged in a run: {clause.not_tested}")
    else:
        console.print("properties:")
        for described in properties_of(clause.id):
            console.print(f"  {described}")
    console.print("planted defects:")
    for model, planted in PLANTED.items():
        for each in planted.values():
            if clause.id in each.breaks:
                console.print(f"  {model}+{each.name}: {each.description}")


def properties_of(clause_id: str) -> Iterator[str]:
    """Yield the tests that carry a clause's mark, as file, test and docstring."""
    for folder in PROPERTIES:
        for path in sorted(folder.glob("**/test_*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.FunctionDef) and clause_id in _marked_clauses(node):
                    yield f"{path.name}::{node.name}: {ast.get_docstring(node)}"


def _marked_clauses(function: ast.FunctionDef) -> set[object]:
    return {
        argument.value
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.clause"
        for argument in decorator.args
        if isinstance(argument, ast.Constant)
    }
