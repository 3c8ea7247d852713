"""Defects against KIP-35."""

from __future__ import annotations

import dataclasses
from typing import Any

from reference_model.defects.registry import (
    body_of,
    defect,
    is_refused_version,
    replace_reaction,
    replace_response,
    succeeds,
    success_in,
    version_of,
)
from reference_model.state_machine import Handling, Stage
from wire.api_versions import API_VERSIONS_KEY
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import encode_frame
from wire.headers import ResponseHeader


@defect(Stage.RESPONSE, "KIP-35.v0-always-served")
def v0_as_first_request_gets_an_error(handling: Handling) -> None:
    """v0 gets an error beside its table when it is the first request of a connection."""
    first = not handling.connection.memory.setdefault("asked", False)
    handling.connection.memory["asked"] = True
    if first and version_of(handling) == 0:
        replace_response(handling, error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


@defect(Stage.ANSWER, "KIP-35.error-code-first", "KIP-35.negative-version-gives-35")
def negative_versions_get_a_bare_header(handling: Handling) -> None:
    """The answer to a negative version is the correlation id and nothing else."""
    if handling.answer and handling.header is not None and handling.header.api_version < 0:
        header = ResponseHeader(correlation_id=handling.header.correlation_id)
        handling.answer = encode_frame(encode(header, version=0))


@defect(Stage.RESPONSE, "KIP-35.table-lists-itself")
def v0_is_not_listed(handling: Handling) -> None:
    """The table says that ApiVersions is served from v1 on."""
    change_own_entry(handling, min_version=1)


def change_own_entry(handling: Handling, **changes: Any) -> None:
    """Change the entry of ApiVersions itself in the answer's table."""
    assert handling.response is not None
    replace_response(
        handling,
        api_keys=tuple(
            dataclasses.replace(entry, **changes) if entry.api_key == API_VERSIONS_KEY else entry
            for entry in handling.response.api_keys
        ),
    )


@defect(Stage.RESPONSE, "KIP-35.table-lists-itself", "KIP-511.unsupported-range-is-true")
def the_table_leaves_itself_out(handling: Handling) -> None:
    """The table has no entry for ApiVersions, except in an error."""
    if succeeds(handling) and handling.response is not None:
        others = tuple(e for e in handling.response.api_keys if e.api_key != API_VERSIONS_KEY)
        replace_response(handling, api_keys=others)


@defect(Stage.RESPONSE, "KIP-35.ranges-ordered")
def the_first_range_is_reversed(handling: Handling) -> None:
    """The first entry of the table has its minimum above its maximum."""
    if succeeds(handling) and handling.response is not None and handling.response.api_keys:
        first, *others = handling.response.api_keys
        wrong = dataclasses.replace(first, min_version=first.max_version + 1)
        replace_response(handling, api_keys=(wrong, *others))


@defect(Stage.RESPONSE, "KIP-35.keys-unique")
def the_first_key_stands_twice(handling: Handling) -> None:
    """The first entry of the table stands again at its end."""
    if succeeds(handling) and handling.response is not None:
        table = handling.response.api_keys
        replace_response(handling, api_keys=(*table, *table[:1]))


@defect(Stage.RESPONSE, "KIP-35.unknown-version-gives-35")
def unknown_versions_get_another_error(handling: Handling) -> None:
    """A version above the maximum gets INVALID_REQUEST."""
    if is_refused_version(handling) and version_of(handling) > 0:
        replace_response(handling, error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.REACTION, "KIP-35.negative-version-gives-35")
def negative_versions_are_served_as_v0(handling: Handling) -> None:
    """A negative version is served as if it were v0."""
    if is_refused_version(handling) and version_of(handling) < 0:
        handling.reaction = success_in(0)


@defect(Stage.RESPONSE, "KIP-35.revert-to-v0-on-same-connection")
def a_connection_stays_refused(handling: Handling) -> None:
    """After one UNSUPPORTED_VERSION every later answer on the connection is the same error."""
    memory = handling.connection.memory
    if memory.get("refused"):
        replace_response(handling, error_code=ErrorCode.UNSUPPORTED_VERSION)
    memory["refused"] = memory.get("refused") or is_refused_version(handling)


@defect(Stage.RESPONSE, "KIP-35.same-table-at-every-version")
def v1_lists_one_key_less(handling: Handling) -> None:
    """The table of v1 leaves out its last entry."""
    if handling.response is not None and handling.reaction.layout == 1:
        replace_response(handling, api_keys=handling.response.api_keys[:-1])


@defect(Stage.RESPONSE, "KIP-35.per-connection")
def a_refused_neighbour_empties_the_table(handling: Handling) -> None:
    """While one connection was last refused a version, all others get an empty table."""
    handling.connection.memory["refused"] = is_refused_version(handling)
    others = (c for c in handling.broker.connections if c is not handling.connection)
    if any(connection.memory.get("refused") for connection in others):
        replace_response(handling, api_keys=())


@defect(Stage.REACTION, "KIP-35.trailing-bytes")
def trailing_bytes_are_refused(handling: Handling) -> None:
    """A request of a served version with bytes behind its body closes the connection."""
    header = handling.header
    if header is None or not succeeds(handling):
        return
    body = body_of(handling)
    end = header.body_offset if body is None else body.end
    if len(handling.payload) > end:
        replace_reaction(handling, outcome=Outcome.CLOSED)
