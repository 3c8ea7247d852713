"""Requests with two malformations at once: one of the kinds of the other modules, and a mutation of some bytes."""

from __future__ import annotations

from hypothesis import strategies as st

from strategies.broken_requests import mutated, mutated_requests, never_served_requests
from strategies.mixed_layouts import requests_with_mixed_layouts
from strategies.odd_requests import requests_with_odd_varints, requests_with_tags_out_of_order
from strategies.odd_strings import requests_with_odd_strings
from strategies.weights import one_branch
from wire.exchange import Request


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
