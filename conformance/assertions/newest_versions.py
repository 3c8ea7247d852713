"""Check that a client uses the newest common version of each API (KIP-35).

The version must be the newest that client and broker support, in every request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fixtures.scripted_broker.playing import Play
from reference_model.clients.rules.moves import History, Move
from reference_model.clients.rules.transaction_versions import USABLE_BEFORE_V2
from reference_model.profiles.known_apis import label_of
from wire.api_keys import FETCH_KEY, OFFSET_COMMIT_KEY, OFFSET_FETCH_KEY, SASL_KEYS

NEWEST_FOR_ALL: Mapping[int, int] = {
    FETCH_KEY: 12,
    OFFSET_COMMIT_KEY: 9,
    OFFSET_FETCH_KEY: 9,
    **USABLE_BEFORE_V2,
}
"""The newest versions that every client can always use, by API key, if there are newer ones.

Those of AddPartitionsToTxn after it are for brokers. Those of Produce, EndTxn and TxnOffsetCommit have a use in a
transaction only if transaction.version 2 is finalized. Those of Fetch, OffsetCommit and OffsetFetch name topics by ids,
which a client need not know of each topic. So Kafka's schemas say.
"""


_MOST = 5


def newest_versions(plays: Iterable[Play]) -> Mapping[int, int]:
    """Return the newest version of each API that a client sent, other than ApiVersions and those of SASL, by key."""
    newest: dict[int, int] = {}
    for play in plays:
        for request in play.recording.requests:
            if not request.is_about_versions and request.api_key not in SASL_KEYS:
                newest[request.api_key] = max(request.api_version, newest.get(request.api_key, 0))
    return newest


def assert_as_new_as_usual(play: Play, healthy: Play) -> None:
    """Fail if the client's newest version of an API is older than with a healthy broker.

    The healthy broker lists the same ranges.
    """
    sent, usual = newest_versions([play]), newest_versions([healthy])
    for key in sent.keys() & usual.keys():
        assert sent[key] >= usual[key], (
            f"the client sends {label_of(key)} up to v{sent[key]}, and up to v{usual[key]} to a healthy broker"
        )


def assert_newest_common_versions(play: Play, known: Mapping[int, int]) -> None:
    """Fail unless each request has the newest version that the client and the table of its connection have in common.

    Versions outside the range of the table do not count: another clause judges them.

    Args:
        play: a play.
        known: the newest version of each API that the client knows, by key, as other plays show.
    """
    older = list(_older(play, known))
    assert not older, "\n".join(older[:_MOST])


def _older(play: Play, known: Mapping[int, int]) -> Iterator[str]:
    for move in History(play.recording).moves:
        common = _newest_common(move, known)
        if common is not None and move.request.api_version < common:
            yield f"{move} was sent, although both sides know {label_of(move.request.api_key)} v{common}"


def _newest_common(move: Move, known: Mapping[int, int]) -> int | None:
    """Return the newest version that client and broker have in common for a request; None if nothing shows that."""
    seen = move.request
    if move.table is None or seen.api_key not in known:
        return None
    if not move.table.lists(seen.api_key, seen.api_version):
        return None
    highest = max(high for _, high in move.table.ranges[seen.api_key])
    return min(highest, known[seen.api_key], NEWEST_FOR_ALL.get(seen.api_key, highest))
