"""`explain`: shows what there is for a clause."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from clauses.catalogue import CatalogueError, catalogue
from conformance.commands.errors import UnknownName, reported_as
from conformance.commands.output_console import output_console
from proposals import proposals
from reference_model.clients.model.negotiation import MODEL
from reference_model.faults import clients as client_faults
from reference_model.faults import proxies
from reference_model.faults.broker import Defect, defects_of
from reference_model.faults.planted import Fault
from reference_model.profiles.profile import OLDER_REFERENCE, OLDER_REFERENCE_CLUSTER, REFERENCE
from reference_model.proxies.model_proxy import MODEL_PROXY

PROPERTIES = (Path(__file__).parent.parent, *(each.properties_folder for each in proposals()))
"""The folders of the properties of the suite, and of proposals."""
PLANTED: Mapping[str, Mapping[str, Defect | Fault]] = {
    **{model: defects_of(model) for model in (REFERENCE, OLDER_REFERENCE, OLDER_REFERENCE_CLUSTER)},
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
    console = output_console()
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
            text = path.read_text()
            # Parsing all files takes a tenth of a second.
            for node in ast.parse(text).body if clause_id in text else ():
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
