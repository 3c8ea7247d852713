"""A strategy for any request that fits in one complete frame, well-formed or broken."""

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
from strategies.header_fields import client_ids, correlation_ids, unknown_tagged_fields
from strategies.mixed_layouts import requests_with_any_body, requests_with_mixed_layouts
from strategies.odd_requests import requests_with_odd_varints, requests_with_tags_out_of_order
from strategies.odd_strings import requests_with_odd_strings
from strategies.software_names import (
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software,
    legal_software_texts,
    software,
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
            | software(
                legal_software_texts() | edge_punctuation_texts() | illegal_software_texts()
            ),
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


def odd_requests() -> st.SearchStrategy[Request]:
    """Requests that releases parse in their own ways: odd varints, strings and tags, and layouts that do not fit together."""
    return one_branch(
        st.one_of(
            requests_with_odd_varints(),
            requests_with_tags_out_of_order(),
            requests_with_odd_strings(),
            one_branch(requests_with_mixed_layouts()),
        )
    )
