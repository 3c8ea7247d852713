"""A strategy for any request that fits in one complete frame, well-formed or broken."""

from __future__ import annotations

from hypothesis import strategies as st

from strategies.api_versions import api_versions_requests
from strategies.broken_requests import malformed_requests, mutated_requests
from strategies.cluster_ids import requests_with_cluster_ids
from strategies.header_fields import client_ids, correlation_ids, unknown_tagged_fields
from strategies.software_names import (
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software,
    legal_software_texts,
    software,
)
from wire.exchange import Request
from wire.primitives import INT16_MAX, INT16_MIN


def any_requests() -> st.SearchStrategy[Request]:
    """ApiVersions requests in any version with any names, ids, client ids and tags, and malformed requests."""
    return st.one_of(
        api_versions_requests(
            versions=st.integers(0, 6) | st.integers(INT16_MIN, INT16_MAX),
            correlation_ids=correlation_ids(),
            client_ids=client_ids(),
            software=legal_software()
            | software(
                names=legal_software_texts() | edge_punctuation_texts() | illegal_software_texts()
            ),
            header_tags=st.just(()) | unknown_tagged_fields(),
            body_tags=st.just(()) | unknown_tagged_fields(),
        ),
        requests_with_cluster_ids(),
        malformed_requests(),
        mutated_requests(),
    )
