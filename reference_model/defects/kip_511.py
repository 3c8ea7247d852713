"""Defects against KIP-511."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from reference_model.defects.kip_035 import change_own_entry
from reference_model.defects.registry import (
    body_of,
    defect,
    is_refused_version,
    replace_reaction,
    replace_response,
    succeeds,
    success_in,
    unread_version,
    version_of,
)
from reference_model.state_machine import Handling, Listing, Reaction, Stage
from wire.api_versions import ApiVersionsRequest
from wire.codec import decode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Outcome


@defect(Stage.ANSWER, "KIP-511.v3-body-flexible")
def long_software_versions_are_answered_in_v2(handling: Handling) -> None:
    """A flexible request with a long client software version is answered in the v2 layout."""
    body = body_of(handling)
    if body is not None and succeeds(handling) and len(body.client_software_version) > 20:
        handling.answer = handling.encode_answer(layout=2)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", "KIP-511.v3-body-flexible")
def long_software_names_get_a_flexible_response_header(handling: Handling) -> None:
    """The answer to a flexible request with a long client software name has a tag section in its header."""
    body = body_of(handling)
    if body is not None and succeeds(handling) and len(body.client_software_name) > 20:
        handling.answer = handling.encode_answer(header_version=1)


@defect(Stage.ANSWER, "KIP-511.unsupported-version-answered-in-v0")
def unsupported_versions_are_answered_in_v1(handling: Handling) -> None:
    """UNSUPPORTED_VERSION is written in the v1 layout, with a throttle time behind the table."""
    if is_refused_version(handling) and version_of(handling) > 0:
        handling.answer = handling.encode_answer(layout=1)


@defect(Stage.RESPONSE, "KIP-511.unsupported-version-names-range")
def unsupported_versions_get_an_empty_table(handling: Handling) -> None:
    """UNSUPPORTED_VERSION comes with an empty table."""
    if is_refused_version(handling):
        replace_response(handling, api_keys=())


@defect(Stage.RESPONSE, "KIP-511.unsupported-range-is-true")
def unsupported_versions_name_a_narrower_range(handling: Handling) -> None:
    """UNSUPPORTED_VERSION names a maximum that is one below the true one."""
    if is_refused_version(handling):
        newest = handling.broker.profile.traits.api_versions_max
        change_own_entry(handling, max_version=newest - 1)


@defect(Stage.REACTION, "KIP-511.unsupported-table-is-only-itself")
def unsupported_versions_get_the_whole_table(handling: Handling) -> None:
    """UNSUPPORTED_VERSION comes with the whole table."""
    if is_refused_version(handling):
        replace_reaction(handling, listing=Listing.EVERYTHING)


@defect(Stage.REACTION, "KIP-511.unparsed-when-unsupported", "KIP-35.unknown-version-gives-35")
def bodies_of_unsupported_versions_are_parsed(handling: Handling) -> None:
    """A version above the maximum whose body is not one of the newest version closes the connection."""
    header = handling.header
    if header is None or not is_refused_version(handling) or header.api_version < 0:
        return
    newest = handling.broker.profile.traits.api_versions_max
    try:
        decode(ApiVersionsRequest, handling.payload[header.body_offset :], version=newest)
    except DecodeError:
        replace_reaction(handling, outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "KIP-511.names-accepted")
def dots_in_names_are_refused(handling: Handling) -> None:
    """A dot in the client software name gets INVALID_REQUEST."""
    body = body_of(handling)
    if body is not None and "." in body.client_software_name and succeeds(handling):
        replace_response(handling, error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.REACTION, "KIP-511.names-refused")
def underscores_in_names_are_accepted(handling: Handling) -> None:
    """A client software name that is legal but for underscores is accepted."""
    _accept_cleaned_name(handling, lambda name: name.replace("_", "x"))


@defect(Stage.REACTION, "KIP-511.edge-punctuation")
def names_may_begin_with_a_hyphen(handling: Handling) -> None:
    """A client software name with a hyphen in front is accepted."""
    _accept_cleaned_name(handling, lambda name: name.replace("-", "x", 1))


def _accept_cleaned_name(handling: Handling, clean: Callable[[str], str]) -> None:
    """Decide on a refused request as if its name had been cleaned first."""
    body = body_of(handling)
    if body is None or handling.reaction.error_code is not ErrorCode.INVALID_REQUEST:
        return
    cleaned = dataclasses.replace(body, client_software_name=clean(body.client_software_name))
    if cleaned != body and cleaned.name_is_valid and not cleaned.ids_are_half_given:
        handling.reaction = success_in(version_of(handling))


@defect(Stage.REACTION, "KIP-511.refusal-in-request-version")
def refused_names_are_answered_in_v0(handling: Handling) -> None:
    """INVALID_REQUEST is written in the v0 layout."""
    if handling.reaction.error_code is ErrorCode.INVALID_REQUEST:
        replace_reaction(handling, layout=0)


@defect(Stage.REACTION, "KIP-511.null-name-refused")
def null_names_count_as_empty(handling: Handling) -> None:
    """A null client software name is refused with INVALID_REQUEST instead of a close."""
    header, version = handling.header, unread_version(handling)
    if header is None or version is None:
        return
    if handling.payload[header.body_offset : header.body_offset + 1] == b"\0":
        handling.reaction = Reaction(
            outcome=Outcome.ANSWER,
            clause="KIP-511.refusal-in-request-version",
            error_code=ErrorCode.INVALID_REQUEST,
            layout=version,
        )


@defect(Stage.RESPONSE, "KIP-511.older-versions-unchanged")
def a_refused_name_sticks_to_the_connection(handling: Handling) -> None:
    """After a refused name, versions without a name are refused on that connection too."""
    memory = handling.connection.memory
    if memory.get("refused name") and succeeds(handling) and handling.reaction.layout < 3:
        replace_response(handling, error_code=ErrorCode.INVALID_REQUEST)
    if handling.reaction.error_code is ErrorCode.INVALID_REQUEST:
        memory["refused name"] = True
