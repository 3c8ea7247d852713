"""What is asserted about a client whose connections were led to other brokers and to another cluster (KIP-1242).

A client that supports KIP-1242 goes on without a restart, gives the ids of cluster and broker when it should, and writes
nothing to a cluster before it has read its metadata. What other clients do in its place is recorded.
"""

from __future__ import annotations

from clauses.operations import OPERATIONS
from conformance.assertions.client_moves import (
    assert_allowed,
    assert_gives_no_ids,
    check_environment,
)
from conformance.assertions.judging import Unjudged
from conformance.assertions.operation_results import assert_not_aborted
from conformance.assertions.play_summary import summary
from fixtures.errors import ClientFails
from fixtures.recording_proxy.rerouting import METADATA_KEYS, ReroutedPlay, is_wanted
from fixtures.scripted_broker.playing import Play
from reference_model.clients.rules.moves import History
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.routes import Route
from reports.verdict_labels import counted
from wire.api_keys import PRODUCE_KEY

_ABOUT_IDS = (
    "KIP-1242.bootstrap-sends-nothing",
    "KIP-1242.then-sends-both",
    "KIP-1242.rebootstraps-on-129",
)


class DoesNotKnow(Unjudged):
    """The client does not support KIP-1242, or is configured not to use it: what it does instead is no violation."""


def assert_survives_rerouting(play: ReroutedPlay, operation: str, *, knows_ids: bool) -> None:
    """Fail unless a client goes on wherever its connections lead.

    Raises:
        DoesNotKnow: it stands still or writes to another cluster, but does not use KIP-1242.
        AssertionError: it violates KIP-1242, or its process was aborted.
        HarnessError: the client could not be run.
        ClientFails: it does not even work with its own cluster.
    """
    tried = OPERATIONS[operation]
    check_environment(play.result)
    if not _goes_on(play, play.routes[0], operation):
        raise ClientFails(f"the client does not work {play.routes[0].when}: {play.result.detail}")
    try:
        assert_not_aborted(play.result)
        if tried.option:
            assert_gives_no_ids(play)
        elif knows_ids:
            assert_allowed(play, *_ABOUT_IDS)
            _assert_gives_ids(play)
        _assert_goes_on(play, operation, uses_ids=knows_ids and not tried.option)
    except (AssertionError, DoesNotKnow) as error:
        error.args = (f"{error}\n{summary(play)}",)
        raise


def _assert_gives_ids(play: Play) -> None:
    assert any(all(move.gives_ids) for move in History(play.recording).moves), (
        "the client never gives the ids of cluster and broker"
    )


def _assert_goes_on(play: ReroutedPlay, operation: str, *, uses_ids: bool) -> None:
    found = [
        f"the client does not go on {route.when}"
        for route in play.routes[1:]
        if not _goes_on(play, route, operation)
    ]
    stray = stray_writes(play.recording)
    if stray:
        found.append(
            f"the client writes to a cluster before it has read its metadata, in {counted(stray, 'confirmed request')}"
        )
    if not found:
        return
    if uses_ids:
        raise AssertionError("\n".join(found))
    raise DoesNotKnow(f"without the ids of KIP-1242 {'; '.join(found)}")


def _goes_on(play: ReroutedPlay, route: Route, operation: str) -> bool:
    """Return whether a client got what it asks for while its connections led by a route."""
    later = [each.from_ms for each in play.routes if each.from_ms > route.from_ms]
    until_ms = min(later, default=play.recording.duration_ms)
    return any(
        route.from_ms <= each.at_ms <= until_ms and is_wanted(each, operation)
        for each in play.recording.requests
    )


def stray_writes(recording: Recording) -> int:
    """Count the confirmed writes to another cluster than that of which the client had got metadata last."""
    history = History(recording)
    knows, stray = "", 0
    for request in recording.requests:
        if request.connection >= len(recording.connections) or not request.response:
            continue
        cluster_id = history.script_of(recording.connections[request.connection]).cluster_id
        if request.api_key in METADATA_KEYS:
            knows = cluster_id
        elif request.api_key == PRODUCE_KEY and cluster_id != knows:
            stray += is_wanted(request, "rerouted-writes")
    return stray
