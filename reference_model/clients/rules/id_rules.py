"""The rules of the oracle for clients that are about the ids of KIP-1242."""

from __future__ import annotations

from reference_model.clients.rules.moves import Forbidden, History, Move, may_be_one_client
from reference_model.clients.scripts.script import ConnectionScript
from wire.api_versions import FIRST_VERSION_WITH_CLUSTER_CHECK

OLD_CONNECTION_GRACE_MS = 500
"""How long after REBOOTSTRAP_REQUIRED requests that were on their way may still come on older connections."""
NEW_METADATA_GRACE_MS = 500
"""How long after new metadata a connection may still be opened with the ids of the older one, by another thread of
the client."""


def knows_no_ids_yet(move: Move, history: History) -> Forbidden:
    """While it bootstraps, a client has no ids to send."""
    seen = move.request
    if any(move.gives_ids) and not history.had_metadata(seen.at_ms):
        yield (
            "KIP-1242.bootstrap-sends-nothing",
            "gives a cluster id or node id before the client got metadata",
        )


def sends_right_ids(move: Move, history: History) -> Forbidden:
    """Ids are given together, and are those of the broker that metadata names."""
    clause = "KIP-1242.then-sends-both"
    body = move.request.body
    sent_ids = move.gives_ids
    if not history.leads_to_listed_node(move):
        # A client connects there only to bootstrap.
        return
    if body is None or not any(sent_ids):
        if _must_give_ids(move, history):
            yield clause, "gives no ids although the client knows the broker from metadata"
        return
    if not all(sent_ids):
        yield clause, "gives only one of cluster id and node id"
        return
    known = _clusters_known(move, history)
    node = history.connection_of(move).node
    if known and body.cluster_id not in {script.cluster_id for script in known}:
        yield clause, "gives a cluster id that no broker reported"
    elif known and body.node_id not in {script.id_of(node) for script in known}:
        yield clause, "gives the node id of another broker"


def gives_no_ids_to_bootstrap_server(move: Move, history: History) -> Forbidden:
    """A client that bootstraps again has forgotten the ids that it knew."""
    is_again = history.had_metadata(move.request.at_ms)
    if is_again and any(move.gives_ids) and not history.leads_to_listed_node(move):
        yield (
            "KIP-1242.rebootstrap-forgets-ids",
            "gives a cluster id or node id to a bootstrap server, which no metadata names",
        )


def _clusters_known(move: Move, history: History) -> list[ConnectionScript]:
    """Return the scripts of the metadata responses whose ids a request may have.

    These are the newest metadata, and any that may have come too late for it.
    """
    earlier = [other for other in history.metadata if other.request.responded_ms <= move.request.at_ms]
    opened_ms = history.connection_of(move).opened_ms
    settled = [other for other in earlier if other.request.responded_ms < opened_ms - NEW_METADATA_GRACE_MS]
    usable = [*settled[-1:], *earlier[len(settled) :]]
    return [history.script_of(history.connection_of(other)) for other in usable]


def _must_give_ids(move: Move, history: History) -> bool:
    """Whether a connection leads to a broker that the client knows, and nothing made it bootstrap again."""
    if (
        not move.request.is_about_versions
        or move.request.api_version < FIRST_VERSION_WITH_CLUSTER_CHECK
        or history.recording.script.options
    ):
        return False
    connection = history.connection_of(move)
    knows_broker = any(
        other.request.responded_ms < connection.opened_ms
        for other in history.metadata
        if may_be_one_client(move, other)
    )
    return knows_broker and not any(
        other.closed_by == "broker" or history.failed(other)
        for other in history.recording.connections[: connection.number + 1]
    )


def forgets_ids(move: Move, history: History) -> Forbidden:
    """After REBOOTSTRAP_REQUIRED a client has no ids and no connections until it got metadata again."""
    clause = "KIP-1242.rebootstraps-on-129"
    misrouted = _latest_misrouting(move, history)
    if misrouted is None or misrouted.response is None:
        return
    since_ms = misrouted.response.from_ms
    connection = history.connection_of(move)
    if connection.opened_ms <= since_ms:
        led_to_known_broker = any(any(other.gives_ids) for other in history.moves_on(connection))
        if led_to_known_broker and move.request.at_ms > since_ms + OLD_CONNECTION_GRACE_MS:
            yield (
                clause,
                "was sent on a connection to a broker that was known before REBOOTSTRAP_REQUIRED",
            )
    elif not history.had_metadata(move.request.at_ms, since_ms=since_ms):
        if any(move.gives_ids):
            yield clause, "gives ids that are out of date since REBOOTSTRAP_REQUIRED"
        elif connection.node != 0:
            yield clause, "went to a broker that is no bootstrap server after REBOOTSTRAP_REQUIRED"


def _latest_misrouting(move: Move, history: History) -> Move | None:
    """Return the latest REBOOTSTRAP_REQUIRED that the client knew on another connection than that of a move."""
    known = [
        other
        for other in history.misrouted
        if other.response is not None and other.response.from_ms < move.request.at_ms and may_be_one_client(move, other)
    ]
    if not known or known[-1].request.connection == move.request.connection:
        return None
    return known[-1]


ID_RULES = (knows_no_ids_yet, sends_right_ids, gives_no_ids_to_bootstrap_server, forgets_ids)
