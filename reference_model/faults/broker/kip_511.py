"""Defects against KIP-511: the layout of responses in flexible versions."""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.faults.broker.registry import OPEN_LISTENERS, body_of, defect, succeeds


@defect(Stage.ANSWER, "KIP-511.v3-body-flexible", listeners=OPEN_LISTENERS)
def long_software_versions_are_answered_in_v2(context: RequestContext) -> None:
    """A flexible request with a long client software version is answered in the v2 layout."""
    body = body_of(context)
    if body is not None and succeeds(context) and len(body.client_software_version) > 50:
        context.answer = context.encode_answer(layout=2)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def long_software_names_get_a_flexible_response_header(context: RequestContext) -> None:
    """The response to a flexible request with a long client software name has a tag section in its header."""
    body = body_of(context)
    if body is not None and succeeds(context) and len(body.client_software_name) > 30:
        context.answer = context.encode_answer(header_version=1)


@defect(Stage.ANSWER, "KIP-511.v3-body-flexible", listeners=OPEN_LISTENERS)
def one_letter_names_get_a_null_table(context: RequestContext) -> None:
    """A flexible request with a client software name of one letter gets a null table (redpanda-data/redpanda#296)."""
    body = body_of(context)
    if body is not None and succeeds(context) and len(body.client_software_name) == 1:
        context.answer = context.encode_answer(raw={"api_keys": b"\0"})


@defect(Stage.ANSWER, "KIP-511.v3-body-flexible", listeners=OPEN_LISTENERS)
def one_letter_versions_get_int32_lengths(context: RequestContext) -> None:
    """A flexible request with a client software version of one letter is answered in the v1 layout."""
    body = body_of(context)
    if body is not None and succeeds(context) and len(body.client_software_version) == 1:
        context.answer = context.encode_answer(layout=1)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def short_software_versions_get_a_flexible_response_header(context: RequestContext) -> None:
    """The response to a flexible request with a software version of fewer than three characters has header v1."""
    body = body_of(context)
    if body is not None and succeeds(context) and len(body.client_software_version) < 3:
        context.answer = context.encode_answer(header_version=1)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def digits_in_front_get_a_flexible_response_header(context: RequestContext) -> None:
    """The response to a flexible request whose software name begins with a digit has header v1."""
    body = body_of(context)
    if body is not None and succeeds(context) and body.client_software_name[:1].isdigit():
        context.answer = context.encode_answer(header_version=1)
