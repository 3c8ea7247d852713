"""Defects against KIP-1242."""

from __future__ import annotations

from collections.abc import Callable

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.reaction import Listing
from reference_model.broker.rules.request_parser import ParsedBody
from reference_model.faults.broker.registry import defect
from reference_model.profiles.listeners import CONTROLLER
from wire.api_versions import FIRST_VERSION_WITH_CLUSTER_CHECK, NO_NODE
from wire.error_codes import ErrorCode

EVERYWHERE = ("KIP-1242.on-every-listener", "KIP-1242.on-the-controller")


def _ids_of(context: RequestContext) -> ParsedBody | None:
    """Return the body of a request in a version with ids and with a valid name, else None."""
    if context.version != FIRST_VERSION_WITH_CLUSTER_CHECK:
        return None
    body = context.body
    return body if body is not None and body.name_is_valid else None


def _gives_none(context: RequestContext) -> bool:
    body = _ids_of(context)
    return body is not None and body.cluster_id is None and body.node_id == NO_NODE


def _gives_both(context: RequestContext) -> bool:
    body = _ids_of(context)
    return body is not None and body.cluster_id is not None and body.node_id != NO_NODE


def _gives_right_ids(context: RequestContext) -> bool:
    return _gives_both(context) and context.succeeds


def _is_misrouted(context: RequestContext) -> bool:
    return context.reaction.error_code is ErrorCode.REBOOTSTRAP_REQUIRED


def _is_half_given(context: RequestContext) -> bool:
    body = _ids_of(context)
    return body is not None and body.ids_are_half_given


def _refuse(context: RequestContext, error_code: ErrorCode) -> None:
    context.replace_reaction(error_code=error_code, listing=Listing.NOTHING)


def _serve(context: RequestContext) -> None:
    context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-1242.neither-given")
def ids_given_once_are_demanded_ever_after(context: RequestContext) -> None:
    """After a request with the right ids, a request without ids gets INVALID_REQUEST on that connection."""
    gave_right_ids = context.has_seen("right ids", now=_gives_right_ids(context))
    if gave_right_ids and _gives_none(context):
        _refuse(context, ErrorCode.INVALID_REQUEST)


@defect(Stage.REACTION, "KIP-1242.neither-given")
def a_misrouted_connection_stays_misrouted(context: RequestContext) -> None:
    """After a misrouted request, a request without ids also gets REBOOTSTRAP_REQUIRED."""
    was_misrouted = context.has_seen("misrouted", now=_is_misrouted(context))
    if was_misrouted and _gives_none(context):
        _refuse(context, ErrorCode.REBOOTSTRAP_REQUIRED)


@defect(Stage.REACTION, "KIP-1242.neither-given")
def half_an_identity_spoils_the_connection(context: RequestContext) -> None:
    """After a request with only one id, a request without ids also gets INVALID_REQUEST."""
    was_half_given = context.has_seen("half given", now=_is_half_given(context))
    if was_half_given and _gives_none(context):
        _refuse(context, ErrorCode.INVALID_REQUEST)


@defect(Stage.REACTION, "KIP-1242.only-one-given", *EVERYWHERE)
def the_right_cluster_id_alone_is_enough(context: RequestContext) -> None:
    """A request with the right cluster id and no node id is served."""
    body = _ids_of(context)
    if body and body.node_id == NO_NODE and body.cluster_id == context.broker.identity.cluster_id:
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.only-one-given", *EVERYWHERE)
def the_right_node_id_alone_is_enough(context: RequestContext) -> None:
    """A request with the right node id and no cluster id is served."""
    body = _ids_of(context)
    if body and body.cluster_id is None and body.node_id == context.broker.identity.node_id:
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.only-one-given")
def negative_node_ids_count_as_none(context: RequestContext) -> None:
    """A request without a cluster id is served with any negative node id."""
    body = _ids_of(context)
    if body is not None and body.cluster_id is None and body.node_id < NO_NODE:
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.only-one-given")
def an_empty_cluster_id_counts_as_none(context: RequestContext) -> None:
    """A request with an empty cluster id and no node id is served."""
    body = _ids_of(context)
    if body is not None and body.cluster_id == "" and body.node_id == NO_NODE:
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.both-match")
def right_ids_are_right_only_once(context: RequestContext) -> None:
    """Every request with the right ids after the first on a connection gets REBOOTSTRAP_REQUIRED."""
    if _gives_right_ids(context) and context.has_seen("right ids", now=True):
        _refuse(context, ErrorCode.REBOOTSTRAP_REQUIRED)


@defect(Stage.REACTION, "KIP-1242.both-match")
def right_ids_do_not_help_a_misrouted_connection(context: RequestContext) -> None:
    """After a misrouted request, the right ids get REBOOTSTRAP_REQUIRED."""
    is_misrouted = _is_misrouted(context)
    was_misrouted = context.has_seen("misrouted", now=is_misrouted)
    if was_misrouted and _gives_both(context) and not is_misrouted:
        _refuse(context, ErrorCode.REBOOTSTRAP_REQUIRED)


@defect(Stage.REACTION, "KIP-1242.both-match")
def ids_come_at_once_or_never(context: RequestContext) -> None:
    """After a v5 request without ids, the right ids get INVALID_REQUEST."""
    gave_none = context.has_seen("no ids", now=_gives_none(context))
    if gave_none and _gives_right_ids(context):
        _refuse(context, ErrorCode.INVALID_REQUEST)


@defect(Stage.REACTION, "KIP-1242.wrong-cluster")
def cluster_ids_are_compared_without_their_case(context: RequestContext) -> None:
    """A cluster id that differs from the right one only in case is accepted."""
    _serve_as_if(context, lambda given, right: given.casefold() == right.casefold())


@defect(Stage.REACTION, "KIP-1242.wrong-cluster")
def a_cluster_id_matches_by_its_beginning(context: RequestContext) -> None:
    """A non-empty prefix of the right cluster id is accepted."""
    _serve_as_if(context, lambda given, right: given != "" and right.startswith(given))


@defect(Stage.REACTION, "KIP-1242.wrong-cluster")
def an_empty_cluster_id_matches_any(context: RequestContext) -> None:
    """An empty cluster id is accepted."""
    _serve_as_if(context, lambda given, right: given == "")


def _serve_as_if(context: RequestContext, same_cluster: Callable[[str, str], bool]) -> None:
    """Serve a misrouted request whose node id is right and whose cluster id `same_cluster` accepts."""
    body, identity = _ids_of(context), context.broker.identity
    if body is None or body.cluster_id is None or not _is_misrouted(context):
        return
    if body.node_id == identity.node_id and same_cluster(body.cluster_id, identity.cluster_id or ""):
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.wrong-node")
def node_ids_are_compared_in_their_low_byte(context: RequestContext) -> None:
    """A node id with the same low byte as the right one is accepted."""
    _serve_at_nodes(context, lambda given, right: given & 0xFF == right & 0xFF)


@defect(Stage.REACTION, "KIP-1242.wrong-node")
def negative_node_ids_match_any(context: RequestContext) -> None:
    """A node id below -1 is accepted."""
    _serve_at_nodes(context, lambda given, right: given < NO_NODE)


@defect(Stage.REACTION, "KIP-1242.wrong-node")
def node_id_zero_matches_any(context: RequestContext) -> None:
    """Node id 0 is accepted."""
    _serve_at_nodes(context, lambda given, right: given == 0)


def _serve_at_nodes(context: RequestContext, same_node: Callable[[int, int], bool]) -> None:
    """Serve a misrouted request whose cluster id is right and whose node id `same_node` accepts."""
    body, identity = _ids_of(context), context.broker.identity
    if body is None or identity.node_id is None or not _is_misrouted(context):
        return
    if body.cluster_id == identity.cluster_id and same_node(body.node_id, identity.node_id):
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.order-of-checks")
def ids_are_checked_before_names(context: RequestContext) -> None:
    """A request with an illegal name and wrong ids gets REBOOTSTRAP_REQUIRED."""
    body = context.body
    if body is None or context.reaction.error_code is not ErrorCode.INVALID_REQUEST:
        return
    if not body.ids_are_half_given and context.broker.identity.mismatch(body):
        _refuse(context, ErrorCode.REBOOTSTRAP_REQUIRED)


@defect(Stage.REACTION, "KIP-1242.refusal-shape")
def misrouted_requests_get_the_whole_table(context: RequestContext) -> None:
    """REBOOTSTRAP_REQUIRED comes with the complete table."""
    if _is_misrouted(context):
        context.replace_reaction(listing=Listing.EVERYTHING)


@defect(Stage.REACTION, "KIP-1242.refusal-shape")
def half_an_identity_is_refused_in_v0(context: RequestContext) -> None:
    """INVALID_REQUEST for one id without the other is written in the v0 layout."""
    if _is_half_given(context):
        context.replace_reaction(response_version=0)


@defect(Stage.ANSWER, "KIP-1242.refusal-shape")
def misrouted_requests_cost_the_connection(context: RequestContext) -> None:
    """After REBOOTSTRAP_REQUIRED the connection is closed."""
    if _is_misrouted(context):
        context.connection.drop()


@defect(Stage.RESPONSE, "KIP-1242.older-versions-unchecked")
def misrouting_sticks_to_versions_without_ids(context: RequestContext) -> None:
    """After a misrouted request, v0 to v2 get REBOOTSTRAP_REQUIRED."""
    was_misrouted = context.has_seen("misrouted", now=_is_misrouted(context))
    if was_misrouted and context.succeeds and context.reaction.response_version < 3:
        context.replace_response(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)


@defect(Stage.RESPONSE, "KIP-1242.older-versions-unchecked")
def half_an_identity_sticks_to_versions_without_ids(context: RequestContext) -> None:
    """After a request with only one id, v3 and v4 get INVALID_REQUEST."""
    was_half_given = context.has_seen("half given", now=_is_half_given(context))
    if was_half_given and context.succeeds and context.reaction.response_version in (3, 4):
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.RESPONSE, "KIP-1242.older-versions-unchecked")
def v4_cannot_take_back_the_ids_of_v5(context: RequestContext) -> None:
    """After a request with the right ids, v4 gets REBOOTSTRAP_REQUIRED on that connection."""
    gave_right_ids = context.has_seen("right ids", now=_gives_right_ids(context))
    if gave_right_ids and context.succeeds and context.reaction.response_version == 4:
        context.replace_response(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)


@defect(Stage.REACTION, "KIP-1242.on-the-controller")
def controllers_do_not_check_ids(context: RequestContext) -> None:
    """The controller listener serves requests meant for another cluster or node."""
    if context.broker.profile.listener == CONTROLLER and _is_misrouted(context):
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.on-the-controller")
def controllers_look_at_the_cluster_alone(context: RequestContext) -> None:
    """The controller listener serves requests meant for another node of the cluster."""
    body = _ids_of(context)
    if body is None or context.broker.profile.listener != CONTROLLER:
        return
    if _is_misrouted(context) and body.cluster_id == context.broker.identity.cluster_id:
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.on-every-listener")
def ids_are_not_checked_before_authentication(context: RequestContext) -> None:
    """Before SASL authentication, requests meant for another cluster or node are served."""
    if context.state is ConnectionState.BEFORE_HANDSHAKE and _is_misrouted(context):
        _serve(context)


@defect(Stage.REACTION, "KIP-1242.on-every-listener")
def cluster_alone_is_checked_before_authentication(context: RequestContext) -> None:
    """Before SASL authentication, requests meant for another node of the cluster are served."""
    body = _ids_of(context)
    if body is None or context.state is not ConnectionState.BEFORE_HANDSHAKE:
        return
    if _is_misrouted(context) and body.cluster_id == context.broker.identity.cluster_id:
        _serve(context)
