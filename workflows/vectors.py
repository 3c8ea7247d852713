"""Writes the vectors of `vectors/`.

`python -m workflows.vectors` asks the models again about the inputs that the set has. With `--choose` it adds inputs
that catch what the set misses, which tries every planted fault and takes minutes. With `--score` it also measures what
the set catches. `--add FAILURE` makes found failures of a run vectors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from conformance.commands.errors import InvalidFile, UnknownName, reported_as
from conformance.failures.drawn_values import UnreadableValues
from conformance.failures.stored_failures import NoStoredFailure, read_failure
from conformance.vectors.broker_candidates import Candidate
from conformance.vectors.generation import (
    Chosen,
    Vectors,
    choose,
    facts,
    generated,
    inputs_of,
    plays_of,
    published_plays,
    regenerated,
)
from conformance.vectors.play_vectors import PlayCandidate
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
    return {**{f"{kind}.json": file_text(kind, vectors[kind]) for kind in KINDS}, INDEX_FILE: index}


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


def _found(failures: Sequence[Path]) -> Chosen:
    """Return the inputs of found failures; refuse one that no vector can have."""
    candidates: list[Candidate] = []
    plays: list[PlayCandidate] = []
    for folder in failures:
        with reported_as(UnknownName, NoStoredFailure, UnreadableValues):
            inputs = inputs_of(read_failure(folder))
        if not inputs.candidates and not inputs.plays:
            raise InvalidFile(
                f"{folder} cannot be a vector: vectors have no TLS, no requests that change a broker, and nothing that "
                "the models do not cover; `kafka-conformance corpus add` can store what it sent"
            )
        candidates += inputs.candidates
        plays += inputs.plays
    return Chosen(candidates, plays)


@click.command(cls=SuiteCommand, name="workflows.vectors")
@click.option("--choose", "chooses", is_flag=True, help="add inputs that catch what the set misses")
@click.option(
    "--add",
    "failures",
    multiple=True,
    metavar="FAILURE",
    type=click.Path(path_type=Path, exists=True),
    help="make a found failure a vector: a folder failures/SIGNATURE of a run; repeatable",
)
@click.option("--score", "scores", is_flag=True, help="measure which planted faults the set catches")
def main(*, chooses: bool, failures: Sequence[Path], scores: bool) -> None:
    """Write the vectors."""
    if chooses and failures:
        raise click.UsageError("--add and --choose do not go together: run one after the other")
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
        found = _found(failures)
    plays = [*published, *found.plays]
    vectors = (
        generated(choose(plays, present))
        if chooses or present is None
        else regenerated(present, plays, found.candidates)
    )
    _write(texts_of(vectors, earlier, before))
    written = load_vectors(FOLDER)
    check_schema(written)
    if scores:
        score = measured(written)
        _write(texts_of(vectors, {**earlier, "score": score}, before))
        click.echo(json.dumps(score, indent=1))


if __name__ == "__main__":
    main()
