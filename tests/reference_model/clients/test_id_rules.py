"""The oracle's rules about the ids of KIP-1242: allowed and forbidden moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from reference_model.clients.rules.moves import IN_FLIGHT_MS, History
from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.scripts.recording import Recording, SeenConnection, SeenRequest
from reference_model.clients.scripts.script import (
    EMPTY,
    HEALTHY_SCRIPT,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    all_connections,
)
from tests.reference_model.clients.recordings import asked, opened, recorded, sent
from wire.described_messages import METADATA
from wire.frames import encode_frame

BOOTSTRAP = "KIP-1242.bootstrap-sends-nothing"
BOTH = "KIP-1242.then-sends-both"
REBOOTSTRAP = "KIP-1242.rebootstraps-on-129"

FORGETS = "KIP-1242.rebootstrap-forgets-ids"

MISROUTED = Answer(error_code=129, table=EMPTY)
RIGHT = ("scripted-cluster-00000", 1)
LOAD_BALANCED = Script(nodes=(NodeScript(is_listed=False), NodeScript()))
METADATA_ERROR = encode_frame(METADATA.response_payload(METADATA.response(error_code=129), 13, 8))
OLD_AND_NEW = all_connections(ConnectionScript(), ConnectionScript(cluster_id="other"))


def after_metadata(
    *requests: SeenRequest,
    first: SeenConnection | None = None,
    second: SeenConnection | None = None,
    more: Sequence[SeenConnection] = (),
    script: Script = HEALTHY_SCRIPT,
) -> Recording:
    """Return a recording of a client that got metadata on its first connection, and opens a second one after 5 ms."""
    connections = (first or opened(), second or opened(1, at_ms=5), *more)
    return recorded(asked(5), sent(12), *requests, connections=connections, script=script)


def replaced_while_open(*, at_ms: int, ids: tuple[str, int]) -> Recording:
    """Return a recording of a client that gets metadata of another cluster after 11 ms, and then opens a third
    connection."""
    return after_metadata(
        asked(5, at_ms=5, connection=1, ids=RIGHT),
        sent(12, at_ms=11, connection=1),
        asked(5, at_ms=at_ms, connection=2, ids=ids),
        more=(opened(2, at_ms=at_ms),),
        script=OLD_AND_NEW,
    )


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(after_metadata(asked(5, at_ms=5, connection=1, ids=RIGHT)), id="ids-after-metadata"),
        pytest.param(
            recorded(
                *(asked(5), sent(12, answered_ms=300), asked(5, at_ms=5, connection=1)),
                connections=(opened(), opened(1, at_ms=5)),
            ),
            id="no-ids-while-metadata-is-awaited",
        ),
        pytest.param(
            after_metadata(
                asked(5, at_ms=5, connection=1, ids=(RIGHT[0], 2)),
                second=opened(1, at_ms=5, node=1),
                script=Script(nodes=(NodeScript(),) * 2),
            ),
            id="ids-of-the-second-node",
        ),
        pytest.param(
            after_metadata(asked(5, at_ms=5, connection=1), script=Script(options=("without_cluster_check",))),
            id="no-ids-if-the-check-is-disabled",
        ),
        pytest.param(
            after_metadata(asked(5, at_ms=5, connection=1), first=opened(closed_by="broker")),
            id="no-ids-after-a-lost-connection",
        ),
        pytest.param(
            after_metadata(
                asked(5, MISROUTED, at_ms=5, connection=1, ids=RIGHT),
                asked(5, at_ms=10, connection=2),
                sent(12, at_ms=11, connection=2),
                asked(5, at_ms=15, connection=3, ids=("other", 1)),
                sent(12, at_ms=900),
                more=(opened(2, at_ms=10), opened(3, at_ms=15)),
                script=OLD_AND_NEW,
            ),
            id="new-ids-after-rebootstrapping",
        ),
        pytest.param(
            after_metadata(
                asked(5, at_ms=5, connection=1, ids=(RIGHT[0], 2)),
                asked(5, at_ms=10, connection=2),
                second=opened(1, at_ms=5, node=1),
                more=(opened(2, at_ms=10),),
                script=LOAD_BALANCED,
            ),
            id="no-ids-for-a-bootstrap-server-that-is-not-listed",
        ),
        pytest.param(
            recorded(
                *(asked(5), sent(13, response=METADATA_ERROR), asked(5, at_ms=5, connection=1)),
                connections=(opened(), opened(1, at_ms=5)),
            ),
            id="no-ids-after-metadata-with-an-error",
        ),
        pytest.param(replaced_while_open(at_ms=400, ids=RIGHT), id="new-metadata-just-before"),
        pytest.param(replaced_while_open(at_ms=2000, ids=("other", 1)), id="newest-metadata-of-two"),
        pytest.param(
            recorded(
                asked(5, at_ms=900),
                sent(12, at_ms=901),
                asked(5, at_ms=905, connection=1, ids=RIGHT),
                connections=(
                    opened(at_ms=900, is_healthy=True),
                    opened(1, at_ms=905, is_healthy=True),
                ),
                script=all_connections(ConnectionScript(cluster_id="other")),
            ),
            id="healed-node-has-the-usual-ids",
        ),
    ],
)
def test_ids_are_allowed(recording: Recording) -> None:
    """A client sends no ids while it bootstraps, then those of the broker that it means."""
    assert forbidden_moves(recording) == ()


@pytest.mark.parametrize(
    ("recording", "clause", "sentence"),
    [
        pytest.param(
            recorded(asked(5, ids=RIGHT)),
            BOOTSTRAP,
            "ApiVersions v5 on connection 0 gives a cluster id or node id before the client got metadata",
            id="ids-while-bootstrapping",
        ),
        pytest.param(
            after_metadata(asked(5, at_ms=5, connection=1, ids=(RIGHT[0], -1))),
            BOTH,
            "ApiVersions v5 on connection 1 gives only one of cluster id and node id",
            id="cluster-alone",
        ),
        pytest.param(
            after_metadata(asked(5, at_ms=5, connection=1, ids=("wrong", 1))),
            BOTH,
            "ApiVersions v5 on connection 1 gives a cluster id that no broker reported",
            id="wrong-cluster",
        ),
        pytest.param(
            replaced_while_open(at_ms=2000, ids=RIGHT),
            BOTH,
            "ApiVersions v5 on connection 2 gives a cluster id that no broker reported",
            id="ids-of-older-metadata",
        ),
        pytest.param(
            after_metadata(
                asked(5, at_ms=5, connection=1, ids=RIGHT),
                second=opened(1, at_ms=5, node=1),
                script=Script(nodes=(NodeScript(),) * 2),
            ),
            BOTH,
            "ApiVersions v5 on connection 1 gives the node id of another broker",
            id="wrong-node",
        ),
        pytest.param(
            after_metadata(asked(5, at_ms=5, connection=1)),
            BOTH,
            "ApiVersions v5 on connection 1 gives no ids although the client knows the broker from metadata",
            id="no-ids",
        ),
        *(
            pytest.param(
                after_metadata(
                    asked(5, at_ms=10, connection=2, ids=ids),
                    second=opened(1, at_ms=5, node=1),
                    more=(opened(2, at_ms=10),),
                    script=LOAD_BALANCED,
                ),
                FORGETS,
                "ApiVersions v5 on connection 2 gives a cluster id or node id to a bootstrap server, which no metadata names",
                id=f"old-ids-when-it-bootstraps-again-{ids}",
            )
            for ids in ((RIGHT[0], 2), (RIGHT[0], -1), (None, 2))
        ),
        pytest.param(
            recorded(asked(5, MISROUTED), asked(5, at_ms=IN_FLIGHT_MS)),
            REBOOTSTRAP,
            "ApiVersions v5 on connection 0 was sent after ApiVersions got REBOOTSTRAP_REQUIRED there",
            id="same-connection-after-misrouting",
        ),
        pytest.param(
            after_metadata(
                asked(5, MISROUTED, at_ms=5, connection=1, ids=RIGHT),
                asked(5, at_ms=10, connection=2, ids=RIGHT),
                more=(opened(2, at_ms=10),),
            ),
            REBOOTSTRAP,
            "ApiVersions v5 on connection 2 gives ids that are out of date since REBOOTSTRAP_REQUIRED",
            id="old-ids",
        ),
        pytest.param(
            after_metadata(
                asked(5, MISROUTED, at_ms=5, connection=1, ids=RIGHT),
                asked(5, at_ms=10, connection=2),
                more=(opened(2, at_ms=10, node=1),),
                script=Script(nodes=(NodeScript(),) * 2),
            ),
            REBOOTSTRAP,
            "ApiVersions v5 on connection 2 went to a broker that is no bootstrap server after REBOOTSTRAP_REQUIRED",
            id="no-bootstrap-server",
        ),
        pytest.param(
            after_metadata(
                asked(5, at_ms=5, connection=1, ids=RIGHT),
                asked(5, MISROUTED, at_ms=6, connection=2, ids=RIGHT),
                sent(12, at_ms=20, connection=1),
                sent(12, at_ms=900, connection=1),
                more=(opened(2, at_ms=6),),
            ),
            REBOOTSTRAP,
            "Metadata v12 on connection 1 was sent on a connection to a broker that was known before REBOOTSTRAP_REQUIRED",
            id="old-connection",
        ),
    ],
)
def test_ids_are_forbidden(recording: Recording, clause: str, sentence: str) -> None:
    """Wrong, half, early and old ids are found, each with its clause and what was wrong."""
    first, *others = forbidden_moves(recording)
    assert {move.clause for move in (first, *others)} == {clause}
    assert str(first) == sentence


@pytest.mark.parametrize(
    ("version", "response", "is_metadata"),
    [
        pytest.param(13, METADATA_ERROR, False, id="error"),
        pytest.param(13, METADATA_ERROR[:9], True, id="cut-off"),
        pytest.param(12, METADATA_ERROR, True, id="version-without-the-error"),
        pytest.param(13, b"", False, id="no-response"),
    ],
)
def test_metadata_with_an_error_names_no_broker(version: int, response: bytes, is_metadata: bool) -> None:
    history = History(recorded(asked(5), sent(version, response=response)))
    assert bool(history.metadata) is is_metadata


def two_clients(first: str | None, second: str | None) -> Recording:
    """Return a recording of a program whose second client bootstraps after its first one got metadata."""
    return recorded(
        asked(5, client_id=first),
        replace(sent(12), client_id=first),
        asked(5, at_ms=5, connection=1, client_id=second),
        connections=(opened(), opened(1, at_ms=5)),
    )


def one_misrouted_of_two(first: str | None, second: str | None) -> Recording:
    """Return a recording of a program whose second client works on after its first one was misrouted."""
    return recorded(
        asked(5, client_id=first),
        replace(sent(12), client_id=first),
        asked(5, at_ms=5, connection=1, ids=RIGHT, client_id=second),
        asked(5, MISROUTED, at_ms=10, connection=2, ids=RIGHT, client_id=first),
        replace(sent(12, at_ms=900, connection=1), client_id=second),
        connections=(opened(), opened(1, at_ms=5), opened(2, at_ms=10)),
    )


@pytest.mark.parametrize(("recording_of", "clause"), [(two_clients, BOTH), (one_misrouted_of_two, REBOOTSTRAP)])
@pytest.mark.parametrize(
    ("ids", "is_forbidden"),
    [(("one", "two"), False), (("one", "one"), True), (("one", None), True), ((None, None), True)],
)
def test_clients_with_ids_of_their_own_are_judged_apart(
    recording_of: Callable[[str | None, str | None], Recording],
    clause: str,
    ids: tuple[str | None, str | None],
    is_forbidden: bool,
) -> None:
    """A client of a program does not know what another one was sent; without different client ids they count as one."""
    found = [move.clause for move in forbidden_moves(recording_of(*ids))]
    assert found == ([clause] if is_forbidden else [])
