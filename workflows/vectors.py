"""Writes the vectors of `vectors/`.

`python -m workflows.vectors` asks the models again about the inputs that the set has. With `--choose` it chooses the
inputs again, which tries every planted fault and takes minutes. With `--score` it also measures what the set catches.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from conformance.vectors.generation import Vectors, choose, facts, generated, plays_of, published_plays, regenerated
from conformance.vectors.vector_score import score_of_brokers, score_of_clients
from conformance.vectors.vector_set import (
    INDEX_FILE,
    KINDS,
    MAX_SET_BYTES,
    InvalidVectors,
    VectorSet,
    check_schema,
    file_text,
    index_text,
    load_vectors,
)
from reports.command_line.suite_command import SuiteCommand
from strategies.hypothesis_adapter import assumptions_outside_hypothesis

FOLDER = Path(__file__).parents[1] / "vectors"
FINDINGS = Path(__file__).parents[1] / "docs" / "findings"


def texts_of(vectors: Vectors, earlier: dict[str, Any], before: set[str]) -> dict[str, str]:
    """Return the text of each generated file, by its name.

    Args:
        vectors: the vectors by kind.
        earlier: the index of the set before; its score is kept until it is measured again.
        before: the ids of the set before, which are retired where they are gone.
    """
    kept = {"score": earlier["score"]} if "score" in earlier else {}
    index = index_text(vectors, facts={**facts(), **kept}, retired={*earlier.get("retired", ()), *before})
    return {**{f"{kind}.json": file_text(vectors[kind]) for kind in KINDS}, INDEX_FILE: index}


def measured(present: VectorSet) -> dict[str, Any]:
    """Return what a set catches, as the index has it."""
    with assumptions_outside_hypothesis():
        brokers = score_of_brokers(present.of_brokers())
        clients = score_of_clients(plays_of(present))
    return {"brokers": brokers.as_json(), "clients": clients.as_json()}


def _write(texts: dict[str, str]) -> None:
    size = sum(len(text.encode()) for text in texts.values())
    if size > MAX_SET_BYTES:
        raise click.ClickException(f"the set has {size} bytes, more than {MAX_SET_BYTES}: leave out long inputs")
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    click.echo(f"{len(texts)} files, {size:,} bytes")


@click.command(cls=SuiteCommand, name="workflows.vectors")
@click.option("--choose", "chooses", is_flag=True, help="choose the inputs again")
@click.option("--score", "scores", is_flag=True, help="measure which planted faults the set catches")
def main(*, chooses: bool, scores: bool) -> None:
    """Write the vectors."""
    try:
        present: VectorSet | None = load_vectors(FOLDER)
    except InvalidVectors:
        if not chooses:
            raise
        present = None
    earlier = dict(present.index) if present else {}
    before = {vector["id"] for _, vector in present} if present else set()
    with assumptions_outside_hypothesis():
        published = published_plays(FINDINGS)
    vectors = generated(choose(published)) if chooses or present is None else regenerated(present, published)
    _write(texts_of(vectors, earlier, before))
    written = load_vectors(FOLDER)
    check_schema(written)
    if scores:
        score = measured(written)
        _write(texts_of(vectors, {**earlier, "score": score}, before))
        click.echo(json.dumps(score, indent=1))


if __name__ == "__main__":
    main()
