"""Strategy for any request in one complete frame, well-formed or broken."""

from __future__ import annotations

from hypothesis import strategies as st

from strategies.api_versions import api_versions_requests
from strategies.broken_requests import (
    malformed_requests,
    mutated,
    mutated_requests,
    never_served_requests,
)
from strategies.cluster_ids import requests_with_cluster_ids
from strategies.field_values import (
    client_ids,
    correlation_ids,
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software,
    legal_software_texts,
    software,
    unknown_tagged_fields,
)
from strategies.odd_requests import (
    odd_requests,
    requests_with_any_body,
    requests_with_mixed_layouts,
    requests_with_odd_strings,
    requests_with_odd_varints,
    requests_with_tags_out_of_order,
)
from strategies.weights import one_branch
from wire.exchange import Request
from wire.primitives import INT16_MAX, INT16_MIN


def requests_with_two_faults() -> st.SearchStrategy[Request]:
    """Requests that are wrong in one way, of which a few bytes are then replaced, inserted or removed."""
    return mutated(
        st.one_of(
            one_branch(never_served_requests()),
            mutated_requests(),
            requests_with_odd_varints(),
            requests_with_tags_out_of_order(),
            requests_with_odd_strings(),
            requests_with_mixed_layouts(),
        )
    )


def any_requests() -> st.SearchStrategy[Request]:
    """ApiVersions requests in any version with any names, ids, client ids and tags, and malformed requests."""
    return st.one_of(
        api_versions_requests(
            versions=st.integers(0, 6) | st.integers(INT16_MIN, INT16_MAX),
            correlation_ids=correlation_ids(),
            client_ids=client_ids(),
            software=legal_software()
            | software(legal_software_texts() | edge_punctuation_texts() | illegal_software_texts()),
            header_tags=st.just(()) | unknown_tagged_fields(),
            body_tags=st.just(()) | unknown_tagged_fields(),
        ),
        requests_with_cluster_ids(),
        malformed_requests(),
        mutated_requests(),
        odd_requests(),
        requests_with_any_body(),
        requests_with_two_faults(),
    )
