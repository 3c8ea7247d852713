"""`targets`: lists the brokers and proxies that can be judged."""

from __future__ import annotations

from collections.abc import Iterator

import click

from conformance.commands.errors import InvalidFile, reported_as
from conformance.commands.output_console import borderless_table, output_console
from fixtures.errors import InvalidTargetFile
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.targets import Target, load_targets
from proposals import proposed_brokers
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.listeners import USUAL_LISTENERS
from reference_model.profiles.profile import REFERENCE_CLUSTER

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
        if target.id == REFERENCE_CLUSTER:
            rows.append(_row(target, "the reference broker with a second node"))
        elif not added:
            rows.append(_row(target, "" if defects else hint))
        elif added in followed:
            rows.append(_row(target, f"follows {followed[added].source}, a proposal"))
        elif defects:
            rows.append(_row(target, DEFECTS[added].description))
    yield "reference broker", rows


@click.command()
@click.option("--defects", is_flag=True, help="Also list the reference brokers with a planted defect.")
def targets(defects: bool) -> None:
    """List the targets that --broker accepts."""
    console = output_console()
    table = borderless_table("id", "release", "quorum", "launchers", "listeners", "known violations", "note")
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
