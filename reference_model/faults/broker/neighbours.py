"""Defects that other open connections cause.

Such a connection is negotiating, inside a frame, or silent.
"""

from __future__ import annotations

from reference_model.broker.model.broker_state import OpenConnection
from reference_model.broker.model.fault_injection import ReceivedBytes, RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.faults.broker.registry import OPEN_LISTENERS, defect
from wire.frames import SIZE_BYTES


def _others_that_asked(context: RequestContext) -> list[OpenConnection]:
    """Return the other connections that were served, if the first request of this one has come in pieces."""
    is_late = context.succeeds and context.segments > 1 and not context.connection.frames
    return [each for each in context.connection.neighbours if is_late and each.frames == 1]


def _keep_version(context: RequestContext) -> None:
    if context.succeeds:
        context.connection.memory["version"] = context.version


@defect(Stage.REACTION, "KIP-35.per-connection", listeners=OPEN_LISTENERS)
def the_version_of_the_latest_connection_decides(context: RequestContext) -> None:
    """A first request in pieces is answered in the version that another connection meanwhile asked for."""
    versions = [each.memory.get("version") for each in _others_that_asked(context)]
    _keep_version(context)
    if versions and versions[-1] is not None:
        context.replace_reaction(response_version=versions[-1])


@defect(Stage.ANSWER, "KIP-35.per-connection", listeners=OPEN_LISTENERS)
def equal_ids_of_two_connections_share_a_response(context: RequestContext) -> None:
    """A first request in pieces gets the response to another connection's request with its correlation id."""
    others = _others_that_asked(context)
    if context.header is None:
        return
    key = context.header.correlation_id
    kept = [each.memory.get("answers", {}) for each in others]
    shared = [answers[key] for answers in kept if key in answers]
    context.connection.memory.setdefault("answers", {})[key] = context.answer
    if shared:
        context.answer = shared[-1]


@defect(Stage.BYTES, "KIP-35.per-connection")
def a_frame_is_lost_while_others_negotiate(received: ReceivedBytes) -> None:
    """The rest of a connection's first frame is lost if another connection was served meanwhile."""
    connection = received.connection
    is_first = bool(received.unread) and not connection.frames
    if is_first and any(each.frames == 1 for each in connection.neighbours):
        received.data = b""


@defect(Stage.BYTES, "PROTOCOL.malformed-hurts-nobody")
def a_size_that_has_begun_stops_the_others(received: ReceivedBytes) -> None:
    """While a part of a size prefix has arrived on a connection, no other is served."""
    if any(0 < len(each.unread) < SIZE_BYTES for each in received.connection.neighbours):
        received.data = b""


@defect(Stage.BYTES, "PROTOCOL.malformed-hurts-nobody")
def a_frame_that_has_begun_closes_newcomers(received: ReceivedBytes) -> None:
    """While a connection is inside a frame, new ones are closed at their first byte."""
    is_new = not received.connection.frames and not received.unread
    if is_new and any(each.unread for each in received.connection.neighbours):
        received.connection.drop()


@defect(Stage.BYTES, "PROTOCOL.partial-frame-waits")
def a_size_in_two_parts_is_given_up_for_others(received: ReceivedBytes) -> None:
    """A connection that is inside a size prefix while others send something is closed at its next bytes."""
    memory, of_all = received.connection.memory, received.connection.memory_of_broker
    reads = of_all["reads"] = of_all.get("reads", 0) + 1
    if 0 < len(received.unread) < SIZE_BYTES and reads > memory["read"] + 1:
        received.connection.drop()
    memory["read"] = reads


def _silent_before(connection: OpenConnection) -> list[OpenConnection]:
    """Return the connections that were opened before one and have sent nothing."""
    return [each for each in connection.older if not each.frames and not each.unread]


def _is_overtaken(received: ReceivedBytes) -> bool:
    """Return whether a connection was silent while a later one sent something.

    Note the same of other connections that are silent now.
    """
    for neighbour in _silent_before(received.connection):
        neighbour.memory["overtaken"] = True
    return not received.connection.frames and "overtaken" in received.connection.memory


@defect(Stage.BYTES, "PROTOCOL.malformed-hurts-nobody")
def a_silent_connection_stops_those_after_it(received: ReceivedBytes) -> None:
    """A connection that has sent nothing keeps those that were opened after it from being served."""
    if _silent_before(received.connection):
        received.data = b""


@defect(Stage.BYTES, "PROTOCOL.malformed-hurts-nobody")
def a_connection_that_spoke_late_is_not_served(received: ReceivedBytes) -> None:
    """A connection that was silent while a later one was served is never served."""
    if _is_overtaken(received):
        received.data = b""


@defect(Stage.BYTES, "PROTOCOL.malformed-hurts-nobody")
def a_connection_that_spoke_late_is_closed(received: ReceivedBytes) -> None:
    """A connection that was silent while a later one was served is closed at its first byte."""
    if _is_overtaken(received):
        received.connection.drop()
