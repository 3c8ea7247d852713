"""Inputs that are drawn beside the corpus: the same bytes for every release, and again for the same seed."""

from __future__ import annotations

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from conformance.corpus.entries import Entry
from strategies.api_versions import INT16_MIN, api_versions_requests
from strategies.broken_requests import frames_with_wrong_size, malformed_requests, mutated_requests
from strategies.cluster_ids import requests_with_cluster_ids
from strategies.header_fields import client_ids, correlation_ids, unknown_tagged_fields
from strategies.software_names import (
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software_texts,
    software,
)
from wire.exchange import Request
from wire.primitives import INT16_MAX

ANY_INPUTS = st.one_of(
    api_versions_requests(
        versions=st.integers(0, 6) | st.integers(INT16_MIN, INT16_MAX),
        correlation_ids=correlation_ids(),
        client_ids=client_ids(max_bytes=300),
        software=software(
            names=legal_software_texts() | edge_punctuation_texts() | illegal_software_texts()
        ),
        header_tags=st.just(()) | unknown_tagged_fields(),
        body_tags=st.just(()) | unknown_tagged_fields(),
    ),
    requests_with_cluster_ids(),
    malformed_requests(),
    mutated_requests(),
    frames_with_wrong_size(),
)


def generated_inputs(count: int, seed: int) -> tuple[Entry, ...]:
    """Draw inputs; the same ones for the same count and seed."""
    drawn: dict[bytes, Entry] = {}

    @hypothesis.seed(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(sent=ANY_INPUTS)
    def collect(sent: Request) -> None:
        entry = Entry(
            name=f"drawn-{len(drawn) + 1}", origin=f"drawn with seed {seed}", data=sent.data
        )
        drawn.setdefault(sent.data, entry)

    collect()
    return tuple(drawn.values())
