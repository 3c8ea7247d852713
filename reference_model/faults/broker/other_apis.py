"""Defects in the place of a request among others: order, requests before ApiVersions, and those without a response."""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Pause, Stage
from reference_model.broker.rules.connection_states import SERVING
from reference_model.faults.broker.registry import defect
from reference_model.faults.broker.served_versions import asked, is_asked
from wire.api_keys import (
    API_VERSIONS_KEY,
    DESCRIBE_CLUSTER_KEY,
    LIST_GROUPS_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
)
from wire.exchange import Outcome

IN_ORDER = "PROTOCOL.answers-in-order"
NEVER_ASKED = "KIP-35.never-asked-is-served"
NO_RESPONSE = "PROTOCOL.no-response-to-acks-0"
LATE_MS = 120


def released(context: RequestContext, api_key: int) -> bytes:
    """Hold back the response to an API if the next request arrived with it; return the one that was held back."""
    memory = context.connection.memory
    held: bytes = memory.pop("held", b"")
    if not held and is_asked(context, api_key, 0) and context.connection.has_unread:
        memory["held"], context.answer = context.answer, b""
    return held


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def metadata_is_overtaken(context: RequestContext) -> None:
    """Metadata that arrives together with the next request is answered after it, as by a proxy that answers some itself."""
    context.answer += released(context, METADATA_KEY)


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def clusters_are_described_late(context: RequestContext) -> None:
    """DescribeCluster that arrives together with the next request is answered a while after it."""
    held = released(context, DESCRIBE_CLUSTER_KEY)
    if held:
        context.pause = Pause(milliseconds=LATE_MS, afterwards=held)


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def group_lists_among_others_are_ignored(context: RequestContext) -> None:
    """ListGroups that arrives together with the next request, and is not the first one, gets no response."""
    memory = context.connection.memory
    if (
        memory.get("served")
        and context.connection.has_unread
        and is_asked(context, LIST_GROUPS_KEY, 0)
    ):
        context.answer = b""
    memory["served"] = context.state in SERVING


@defect(Stage.REACTION, IN_ORDER, every_api=True)
def api_versions_comes_first_or_closes(context: RequestContext) -> None:
    """ApiVersions closes the connection after a request of any other API."""
    memory = context.connection.memory
    if asked(context) is not None:
        memory["other"] = True
    elif memory.get("other") and context.header is not None:
        context.replace_reaction(outcome=Outcome.CLOSED)


def has_asked(context: RequestContext) -> bool:
    """Return whether ApiVersions was requested on the connection, with this request or before."""
    memory = context.connection.memory
    if context.header is not None and context.header.api_key == API_VERSIONS_KEY:
        memory["asked"] = True
    return bool(memory.get("asked"))


@defect(Stage.REACTION, NEVER_ASKED, every_api=True)
def other_apis_before_api_versions_close(context: RequestContext) -> None:
    """A request of another API closes a connection on which ApiVersions was not requested."""
    if not has_asked(context) and asked(context) is not None:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, NEVER_ASKED, every_api=True)
def old_group_lists_before_api_versions_are_ignored(context: RequestContext) -> None:
    """ListGroups v0 gets no response on a connection on which ApiVersions was not requested."""
    if not has_asked(context) and is_asked(context, LIST_GROUPS_KEY, 0, 0):
        context.replace_reaction(outcome=Outcome.IGNORED)


@defect(Stage.REACTION, NEVER_ASKED, every_api=True)
def the_second_request_without_api_versions_closes(context: RequestContext) -> None:
    """A connection is closed by its second request of another API if ApiVersions was not requested by then."""
    if has_asked(context) or asked(context) is None:
        return
    memory = context.connection.memory
    if memory.get("other"):
        context.replace_reaction(outcome=Outcome.CLOSED)
    memory["other"] = True


def gets_nothing(context: RequestContext) -> bool:
    """Return whether a request is Produce with acks 0."""
    found = asked(context)
    ignored = context.reaction.outcome is Outcome.IGNORED
    return ignored and found is not None and found[0] == PRODUCE_KEY


@defect(Stage.REACTION, NO_RESPONSE, every_api=True)
def acks_0_gets_a_response(context: RequestContext) -> None:
    """Produce with acks 0 is answered like any other."""
    if gets_nothing(context):
        context.replace_reaction(outcome=Outcome.ANSWER)


@defect(Stage.REACTION, NO_RESPONSE, every_api=True)
def acks_0_closes(context: RequestContext) -> None:
    """Produce with acks 0 closes the connection in v9 and later, although it writes nothing."""
    if gets_nothing(context) and context.header is not None and context.header.api_version >= 9:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.ANSWER, NO_RESPONSE, every_api=True)
def the_request_after_acks_0_gets_none_either(context: RequestContext) -> None:
    """The request after Produce with acks 0 gets no response."""
    if context.connection.memory.pop("unanswered", False):
        context.answer = b""
    if gets_nothing(context):
        context.connection.memory["unanswered"] = True
