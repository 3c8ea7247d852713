"""Draws inputs in addition to the corpus: the same bytes for every release and for every run with the same seed."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.corpus.entries import CorpusEntry
from strategies.any_requests import any_requests
from strategies.broken_requests import frames_with_wrong_size
from strategies.hypothesis_adapter import draw
from wire.exchange import Request

SEED = 20261121
"""Fixed, so that two comparisons of releases are about the same bytes."""
COUNT = 300
"""How many inputs are drawn unless a caller asks for another number."""
ANY_INPUTS = any_requests() | frames_with_wrong_size()


def generated_inputs(count: int, seed: int) -> tuple[CorpusEntry, ...]:
    """Draw inputs; the same count and seed always produce the same inputs."""
    drawn: dict[bytes, CorpusEntry] = {}

    def collect(values: Mapping[str, Request]) -> None:
        sent = values["sent"]
        entry = CorpusEntry(
            name=f"drawn-{len(drawn) + 1}", origin=f"drawn with seed {seed}", data=sent.data
        )
        drawn.setdefault(sent.data, entry)

    draw({"sent": ANY_INPUTS}, collect, seed=seed, count=count)
    return tuple(drawn.values())
