"""Defects against KIP-35 in responses in a supported version.

They affect the table and other parts of the response.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.faults.broker.registry import OPEN_LISTENERS, defect
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersion
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.headers import CLIENT_ID_OFFSET


@defect(Stage.RESPONSE, "KIP-35.v0-always-served", listeners=OPEN_LISTENERS)
def v0_as_first_request_gets_an_error(context: RequestContext) -> None:
    """v0 gets an error along with its table if it is the first request on a connection."""
    is_first = not context.has_seen("a request", now=True)
    if is_first and context.version == 0:
        context.replace_response(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


@defect(Stage.RESPONSE, "PROTOCOL.client-id-free", listeners=OPEN_LISTENERS)
def v0_without_a_client_id_gets_an_empty_table(context: RequestContext) -> None:
    """v0 with a null client id gets an empty table."""
    null = context.payload[CLIENT_ID_OFFSET : CLIENT_ID_OFFSET + 2] == b"\xff\xff"
    if null and context.version == 0:
        context.replace_response(api_keys=())


@defect(Stage.RESPONSE, "KIP-35.v0-always-served", "PROTOCOL.client-id-free", listeners=OPEN_LISTENERS)
def v0_with_a_long_client_id_gets_an_error(context: RequestContext) -> None:
    """v0 with a client id of more than 23 characters, a limit of other protocols, gets an error with its table."""
    if len(context.client_id) > 23 and context.version == 0:
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.RESPONSE, "KIP-35.table-lists-itself", listeners=OPEN_LISTENERS)
def v0_is_not_listed(context: RequestContext) -> None:
    """The table lists ApiVersions from v1 instead of v0."""
    change_own_entry(context, min_version=1)


def change_own_entry(context: RequestContext, **changes: Any) -> None:
    """Change the entry of ApiVersions itself in the table of the response."""
    context.replace_response(
        api_keys=tuple(
            dataclasses.replace(entry, **changes) if entry.api_key == API_VERSIONS_KEY else entry
            for entry in context.message.api_keys
        ),
    )


@defect(Stage.RESPONSE, "KIP-35.table-lists-itself", listeners=OPEN_LISTENERS)
def only_the_newest_version_is_listed(context: RequestContext) -> None:
    """The table lists only the newest version of ApiVersions, as nafka 0.1 does."""
    change_own_entry(context, min_version=NEWEST_VERSION)


@defect(
    Stage.RESPONSE,
    "KIP-35.table-lists-itself",
    "KIP-511.unsupported-range-is-true",
    listeners=OPEN_LISTENERS,
)
def the_table_leaves_itself_out(context: RequestContext) -> None:
    """The table has no entry for ApiVersions, except in error responses."""
    if context.succeeds:
        others = tuple(e for e in context.message.api_keys if e.api_key != API_VERSIONS_KEY)
        context.replace_response(api_keys=others)


@defect(Stage.RESPONSE, "KIP-35.ranges-ordered", listeners=OPEN_LISTENERS)
def the_first_range_is_reversed(context: RequestContext) -> None:
    """The first entry of the table has its minimum above its maximum."""
    if context.succeeds and context.message.api_keys:
        first, *others = context.message.api_keys
        wrong = dataclasses.replace(first, min_version=first.max_version + 1)
        context.replace_response(api_keys=(wrong, *others))


@defect(Stage.RESPONSE, "KIP-35.ranges-ordered", listeners=OPEN_LISTENERS)
def a_removed_api_has_an_empty_range(context: RequestContext) -> None:
    """An API that is no longer served is still listed, with the range 0 to -1."""
    add_entries(context, ApiVersion(api_key=4, min_version=0, max_version=-1))


def add_entries(context: RequestContext, *entries: ApiVersion) -> None:
    """Append entries to a complete table."""
    if context.succeeds:
        context.replace_response(api_keys=(*context.message.api_keys, *entries))


@defect(Stage.RESPONSE, "KIP-35.ranges-ordered", listeners=OPEN_LISTENERS)
def an_unstable_api_begins_at_minus_one(context: RequestContext) -> None:
    """A private API without a stable version is listed from version -1."""
    add_entries(context, ApiVersion(api_key=10000, min_version=-1, max_version=0))


@defect(Stage.RESPONSE, "KIP-35.keys-unique", listeners=OPEN_LISTENERS)
def a_private_key_stands_twice(context: RequestContext) -> None:
    """A private key is listed twice, once for each of its two version ranges."""
    add_entries(
        context,
        ApiVersion(api_key=10000, min_version=0, max_version=1),
        ApiVersion(api_key=10000, min_version=3, max_version=4),
    )


@defect(Stage.RESPONSE, "KIP-35.keys-unique", listeners=OPEN_LISTENERS)
def v4_repeats_its_last_entry(context: RequestContext) -> None:
    """In v4 and later the table contains its last entry twice."""
    if context.reaction.response_version >= 4:
        add_entries(context, *context.message.api_keys[-1:])


@defect(Stage.RESPONSE, "KIP-35.keys-unique", listeners=OPEN_LISTENERS)
def the_last_key_stands_twice(context: RequestContext) -> None:
    """The table contains its last entry twice."""
    if context.response is not None:
        add_entries(context, *context.message.api_keys[-1:])


@defect(Stage.RESPONSE, "KIP-35.same-table-at-every-version", listeners=OPEN_LISTENERS)
def v1_lists_one_key_less(context: RequestContext) -> None:
    """The table of v1 lacks the last entry."""
    if context.reaction.response_version == 1:
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.RESPONSE, "KIP-35.same-table-at-every-version", "KIP-35.table-before-authentication")
def the_table_shrinks_on_repeat(context: RequestContext) -> None:
    """Every table after the first on a connection lacks the last entry."""
    if context.succeeds and context.has_seen("the table", now=True):
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.RESPONSE, "KIP-35.same-table-at-every-version", listeners=OPEN_LISTENERS)
def v4_promises_more_of_one_api(context: RequestContext) -> None:
    """The table of v4 lists one more version of its first API than the other tables."""
    if context.succeeds and context.reaction.response_version == 4:
        first, *others = context.message.api_keys
        wider = dataclasses.replace(first, max_version=first.max_version + 1)
        context.replace_response(api_keys=(wider, *others))


@defect(Stage.RESPONSE, "KIP-35.per-connection")
def a_refused_neighbour_empties_the_table(context: RequestContext) -> None:
    """If the last response on one connection was UNSUPPORTED_VERSION, all others get an empty table."""
    if has_refused_neighbour(context):
        context.replace_response(api_keys=())


def has_refused_neighbour(context: RequestContext) -> bool:
    """Record whether this response refuses a version; return whether another connection's last one did."""
    context.connection.memory["refused"] = context.refuses_version
    return any(each.memory.get("refused") for each in context.connection.neighbours)


@defect(Stage.RESPONSE, "KIP-35.per-connection")
def a_refused_neighbour_takes_an_entry(context: RequestContext) -> None:
    """If the last response on one connection was UNSUPPORTED_VERSION, the table of all others lacks its first entry."""
    if has_refused_neighbour(context):
        context.replace_response(api_keys=context.message.api_keys[1:])


@defect(Stage.REACTION, "KIP-35.per-connection", breaks_rarely=("FEATURES.epoch-monotone",))
def a_refused_neighbour_takes_all_back_to_v0(context: RequestContext) -> None:
    """If the last response on one connection was UNSUPPORTED_VERSION, all others are answered in the v0 layout."""
    if has_refused_neighbour(context) and context.succeeds:
        context.replace_reaction(response_version=0)


def bytes_after_body(context: RequestContext) -> int:
    """Return how many bytes a request in a supported version has after its body."""
    header, body = context.header, context.body
    if header is None or not context.succeeds:
        return 0
    return len(context.payload) - (header.body_offset if body is None else body.end)


@defect(Stage.REACTION, "KIP-35.trailing-bytes", listeners=OPEN_LISTENERS)
def trailing_bytes_are_refused(context: RequestContext) -> None:
    """A request in a supported version with bytes after its body closes the connection."""
    if bytes_after_body(context) > 0:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "KIP-35.trailing-bytes", listeners=OPEN_LISTENERS)
def bytes_after_a_flexible_body_are_refused(context: RequestContext) -> None:
    """A request in v3 or above with bytes after its body closes the connection."""
    if bytes_after_body(context) > 0 and context.version >= FIRST_FLEXIBLE_VERSION:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "KIP-35.trailing-bytes", listeners=OPEN_LISTENERS)
def trailing_bytes_shorten_the_table(context: RequestContext) -> None:
    """A request in a supported version with bytes after its body gets a table without its last entry."""
    if bytes_after_body(context) > 0:
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.REACTION, "KIP-35.trailing-bytes", listeners=OPEN_LISTENERS)
def sixty_four_kilobytes_after_the_body_close_the_connection(context: RequestContext) -> None:
    """A request in a supported version with 64 KiB or more after its body closes the connection."""
    if bytes_after_body(context) >= 1 << 16:
        context.replace_reaction(outcome=Outcome.CLOSED)
