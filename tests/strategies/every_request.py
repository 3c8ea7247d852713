"""Every public strategy of requests in strategies/, grouped by its guarantee.

The guarantees are about the frame.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping

from hypothesis import strategies as st

import strategies
from strategies.api_versions import api_versions_requests, negative_versions, unknown_versions
from strategies.broken_requests import mutated, requests_with_null_name
from strategies.field_values import (
    client_ids,
    correlation_ids,
    illegal_software_texts,
    legal_software_texts,
    software,
    unknown_tagged_fields,
)
from wire.exchange import Request
from wire.primitives import INT16_MAX, INT16_MIN

WELL_FORMED = ("api_versions_requests", "refused_requests", "requests_with_cluster_ids")
BROKEN_IN_WHOLE_FRAMES = (
    "flexible_requests_with_old_header",
    "malformed_requests",
    "mutated_requests",
    "never_served_requests",
    "requests_for_unknown_apis",
    "requests_with_compact_client_id",
    "requests_with_null_name",
    "short_frames",
    "requests_with_string_overrun",
    "requests_with_tag_overrun",
    "requests_with_too_long_string",
    "truncated_requests",
)
ODD = (
    "any_requests",
    "mutated",
    "names_with_wrong_text",
    "odd_requests",
    "requests_with_any_body",
    "requests_with_mixed_layouts",
    "requests_with_odd_string_lengths",
    "requests_with_odd_strings",
    "requests_with_two_faults",
    "requests_with_wrong_text",
    "requests_with_odd_client_id",
    "requests_with_odd_varints",
    "requests_with_tags_out_of_order",
)
"""Served by some releases and closed by others."""
BROKEN_IN_SIZE = (
    "first_bytes_of_other_protocols",
    "frames_with_negative_size",
    "frames_with_small_size",
    "frames_with_wrong_size",
    "partial_frames",
)
OTHER_APIS = ("bare_requests", "broken_sasl_steps", "whole_requests")
"""Their API keys exist in Kafka; tests/strategies/test_other_apis.py covers them."""
EVERY_NAME = (*WELL_FORMED, *ODD, *BROKEN_IN_WHOLE_FRAMES, *BROKEN_IN_SIZE)
_WITH_ARGUMENTS: Mapping[str, st.SearchStrategy[Request]] = {
    "api_versions_requests": api_versions_requests(
        versions=st.one_of(
            st.integers(0, 5),
            unknown_versions(),
            negative_versions(),
            st.integers(INT16_MIN, INT16_MAX),
        ),
        correlation_ids=correlation_ids(),
        client_ids=client_ids(),
        software=software(legal_software_texts() | illegal_software_texts()),
        header_tags=st.just(()) | unknown_tagged_fields(),
        body_tags=st.just(()) | unknown_tagged_fields(),
    ),
    "mutated": mutated(requests_with_null_name()),
}


def _strategies() -> Iterator[tuple[str, st.SearchStrategy[Request]]]:
    for module_info in pkgutil.iter_modules(strategies.__path__, "strategies."):
        module = importlib.import_module(module_info.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            gives = function.__annotations__.get("return")
            if not name.startswith("_") and gives == "st.SearchStrategy[Request]":
                yield name, _WITH_ARGUMENTS[name] if name in _WITH_ARGUMENTS else function()


EVERY_REQUEST = dict(_strategies())
"""All public functions in strategies/ that return a strategy of requests, by name, with what they return."""
