"""Defects against KIP-511: the layout of responses in flexible versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.request_parser import ParsedBody
from reference_model.faults.broker.registry import OPEN_LISTENERS, defect
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.primitives import INT16_MAX


@defect(Stage.ANSWER, "KIP-511.v3-body-flexible", listeners=OPEN_LISTENERS)
def long_software_versions_are_answered_in_v2(context: RequestContext) -> None:
    """A flexible request with a long client software version is answered in the v2 layout."""
    body = context.body
    if body is not None and context.succeeds and len(body.client_software_version) > 50:
        context.answer = context.encode_answer(layout=2)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def long_software_names_get_a_flexible_response_header(context: RequestContext) -> None:
    """The response to a flexible request with a long client software name has a tag section in its header."""
    body = context.body
    if body is not None and context.succeeds and len(body.client_software_name) > 30:
        context.answer = context.encode_answer(header_version=1)


@defect(Stage.ANSWER, "KIP-511.v3-body-flexible", listeners=OPEN_LISTENERS)
def one_letter_names_get_a_null_table(context: RequestContext) -> None:
    """A flexible request with a client software name of one letter gets a null table (redpanda-data/redpanda#296)."""
    body = context.body
    if body is not None and context.succeeds and len(body.client_software_name) == 1:
        context.answer = context.encode_answer(raw={"api_keys": b"\0"})


@defect(Stage.ANSWER, "KIP-511.v3-body-flexible", listeners=OPEN_LISTENERS)
def one_letter_versions_get_int32_lengths(context: RequestContext) -> None:
    """A flexible request with a client software version of one letter is answered in the v1 layout."""
    body = context.body
    if body is not None and context.succeeds and len(body.client_software_version) == 1:
        context.answer = context.encode_answer(layout=1)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def short_software_versions_get_a_flexible_response_header(context: RequestContext) -> None:
    """The response to a flexible request with a software version of fewer than three characters has header v1."""
    body = context.body
    if body is not None and context.succeeds and len(body.client_software_version) < 3:
        context.answer = context.encode_answer(header_version=1)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def digits_in_front_get_a_flexible_response_header(context: RequestContext) -> None:
    """The response to a flexible request whose software name begins with a digit has header v1."""
    body = context.body
    if body is not None and context.succeeds and body.client_software_name[:1].isdigit():
        context.answer = context.encode_answer(header_version=1)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def refused_names_get_a_flexible_response_header(context: RequestContext) -> None:
    """The response that refuses a name has a tag section in its header, so that its error code seems to be NONE."""
    if context.reaction.error_code is ErrorCode.INVALID_REQUEST and has_refused_name(context):
        context.answer = context.encode_answer(header_version=1)


@defect(Stage.REACTION, "KIP-511.names-refused", listeners=OPEN_LISTENERS)
def refused_names_cost_the_connection(context: RequestContext) -> None:
    """A client software name or version that is not legal closes the connection instead of getting INVALID_REQUEST."""
    if context.reaction.error_code is ErrorCode.INVALID_REQUEST and has_refused_name(context):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "KIP-511.names-accepted")
def dots_in_names_are_refused(context: RequestContext) -> None:
    """A dot in the client software name gets INVALID_REQUEST."""
    _refuse(context, lambda body: "." in body.client_software_name)


def _refuse(context: RequestContext, is_refused: Callable[[ParsedBody], bool]) -> None:
    """Answer a flexible request that is served with INVALID_REQUEST, if its body is refused."""
    if context.succeeds and context.body is not None and is_refused(context.body):
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.RESPONSE, "KIP-511.names-accepted")
def one_letter_names_are_refused(context: RequestContext) -> None:
    """A client software name of one letter, whose first and last letter are the same, gets INVALID_REQUEST."""
    _refuse(context, lambda body: len(body.client_software_name) == 1)


@defect(Stage.RESPONSE, "KIP-511.names-accepted")
def versions_without_a_digit_in_front_are_refused(context: RequestContext) -> None:
    """A client software version that does not begin with a digit gets INVALID_REQUEST (Azure/azure-sdk#4652)."""
    _refuse(context, lambda body: not body.client_software_version[:1].isdigit())


@defect(Stage.RESPONSE, "KIP-511.names-accepted")
def librdkafka_is_refused(context: RequestContext) -> None:
    """Clients that name librdkafka as their software get INVALID_REQUEST, as a broker may do to work round a bug."""
    _refuse(context, lambda body: body.client_software_name == "librdkafka")


@defect(Stage.RESPONSE, "KIP-35.same-table-at-every-version", listeners=OPEN_LISTENERS)
def librdkafka_gets_a_table_of_its_own(context: RequestContext) -> None:
    """Clients that name librdkafka as their software get a table without its last entry."""
    body = context.body
    if body is not None and body.client_software_name == "librdkafka" and context.succeeds:
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.RESPONSE, "KIP-35.per-connection", listeners=OPEN_LISTENERS)
def a_neighbour_with_a_refused_name_shortens_the_table(context: RequestContext) -> None:
    """If the last response on one connection refused a name, the table of all others lacks its first entry."""
    context.connection.memory["named wrongly"] = has_refused_name(context)
    if any(each.memory.get("named wrongly") for each in context.connection.neighbours):
        context.replace_response(api_keys=context.message.api_keys[1:])


@defect(Stage.ANSWER, "PROTOCOL.correlation-id-echoed")
def refused_names_get_the_correlation_id_zero(context: RequestContext) -> None:
    """The response that refuses a name has the correlation id 0 if the request's is negative."""
    header = context.header
    if has_refused_name(context) and header is not None and header.correlation_id < 0:
        context.header = dataclasses.replace(header, correlation_id=0)
        context.answer = context.encode_answer()


@defect(
    Stage.REACTION,
    "KIP-511.names-refused",
    "KIP-511.edge-punctuation",
    "KIP-511.refusal-in-request-version",
    "KIP-1242.order-of-checks",
    listeners=OPEN_LISTENERS,
)
def names_are_not_checked(context: RequestContext) -> None:
    """Any readable client software name and version is accepted, as by Tansu 0.6.0."""
    body = context.body
    refused = context.reaction.error_code is ErrorCode.INVALID_REQUEST
    if body is not None and refused and not body.ids_are_half_given:
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-511.names-refused")
def names_may_end_with_a_line_feed(context: RequestContext) -> None:
    """A client software name that is legal except for a line feed at its end is accepted."""
    accept_cleaned_name(context, lambda name: name.removesuffix("\n"))


@defect(
    Stage.REACTION,
    "KIP-511.names-refused",
    "KIP-511.refusal-in-request-version",
    listeners=OPEN_LISTENERS,
)
def letters_of_any_script_are_accepted(context: RequestContext) -> None:
    """A client software name with letters of any script is accepted if no cluster id is given."""
    body = context.body
    if body is None or body.cluster_id is not None:
        return
    accept_cleaned_name(context, lambda name: "".join("x" if each.isalpha() else each for each in name))


@defect(Stage.REACTION, "KIP-511.names-refused")
def underscores_in_names_are_accepted(context: RequestContext) -> None:
    """A client software name that is legal except for underscores is accepted."""
    accept_cleaned_name(context, lambda name: name.replace("_", "x"))


@defect(Stage.REACTION, "KIP-511.names-refused")
def bytes_that_are_not_utf_8_are_dropped(context: RequestContext) -> None:
    """A client software name that is legal without its bytes that are not UTF-8 is accepted."""
    accept_cleaned_name(context, lambda name: name.replace("\N{REPLACEMENT CHARACTER}", ""))


@defect(Stage.REACTION, "KIP-511.names-refused")
def only_the_first_256_characters_of_a_name_are_checked(context: RequestContext) -> None:
    """A client software name whose first 256 characters are legal is accepted."""
    accept_cleaned_name(context, lambda name: name[:256])


@defect(Stage.RESPONSE, "KIP-511.names-accepted")
def names_as_long_as_a_string_can_be_are_refused(context: RequestContext) -> None:
    """A client software name of 32767 characters gets INVALID_REQUEST."""
    _refuse(context, lambda body: len(body.client_software_name) == INT16_MAX)


@defect(Stage.REACTION, "KIP-511.edge-punctuation")
def names_may_begin_with_a_hyphen(context: RequestContext) -> None:
    """A client software name that begins with a hyphen is accepted."""
    accept_cleaned_name(context, lambda name: name.replace("-", "x", 1))


def accept_cleaned_name(context: RequestContext, clean: Callable[[str], str]) -> None:
    """Serve a refused request whose name is valid after cleaning."""
    body = context.body
    if body is None or context.reaction.error_code is not ErrorCode.INVALID_REQUEST:
        return
    cleaned = dataclasses.replace(body, client_software_name=clean(body.client_software_name))
    if cleaned != body and cleaned.name_is_valid and not cleaned.ids_are_half_given:
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-511.refusal-in-request-version", listeners=OPEN_LISTENERS)
def refused_names_are_answered_in_v0(context: RequestContext) -> None:
    """INVALID_REQUEST is written in the v0 layout."""
    if has_refused_name(context):
        context.replace_reaction(response_version=0)


def has_refused_name(context: RequestContext) -> bool:
    """Return whether a request is refused for its name, not for its ids."""
    body = context.body
    return body is not None and not body.name_is_valid


@defect(Stage.REACTION, "KIP-511.null-name-refused")
def null_names_count_as_empty(context: RequestContext) -> None:
    """A null client software name gets INVALID_REQUEST instead of closing the connection."""
    unread = context.unread_body
    if unread is not None and unread[1][:1] == b"\0":
        context.refuse_name_in(unread[0])


@defect(Stage.RESPONSE, "KIP-511.older-versions-unchanged")
def the_second_answer_behind_a_refused_name_is_refused(context: RequestContext) -> None:
    """After a refused name, the second request without a name is refused on that connection."""
    memory = context.connection.memory
    if has_refused_name(context):
        memory["nameless"] = 0
    elif "nameless" in memory and context.reaction.response_version < 3:
        memory["nameless"] += 1
        if memory["nameless"] == 2:
            context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.RESPONSE, "KIP-511.older-versions-unchanged")
def v2_behind_a_refused_name_is_refused(context: RequestContext) -> None:
    """After a refused name, v2 is refused on that connection, and v0 and v1 are not."""
    was_refused = context.has_seen("refused name", now=has_refused_name(context))
    if was_refused and context.succeeds and context.reaction.response_version == 2:
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.RESPONSE, "KIP-511.older-versions-unchanged")
def a_refused_name_sticks_to_the_connection(context: RequestContext) -> None:
    """After a refused name, versions without a name are also refused on that connection."""
    was_refused = context.has_seen("refused name", now=has_refused_name(context))
    if was_refused and context.succeeds and context.reaction.response_version < 3:
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)
