"""Replays the corpus on one listener of a target, without Hypothesis.

Entries that keep the connection open, according to the model, are pipelined: many entries in one write. Their
responses are compared by their stable parts. Entries whose response differs, and entries that end
the connection, are left to be sent one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from conformance.corpus.entries import CorpusEntry
from fixtures.client.connection import Connection
from fixtures.under_test.broker import Broker
from reference_model.broker.rules.reaction import NotModelled, Reaction
from reference_model.judging.outcome_texts import difference, summary_of
from reference_model.judging.stored_inputs import Allowed, StoredInputOracle, cut_frames
from wire.exchange import Exchange, Outcome, Request

Agreed = Callable[[Sequence[Exchange]], None]
Finish = Callable[[], tuple[Exchange, ...]]

BATCH_FRAMES = 200
"""Enough to keep a broker busy while we check responses, and small enough for its socket buffers."""
BATCH_BYTES = 32 * 1024
"""Small enough that a broker never has to wait for us to read while we still write.

Responses are ten times as long as requests.
"""


class NotAllowed(AssertionError):
    """The target reacts to a stored input in a way that the model does not allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedEntry:
    """An entry with what the model allows for it."""

    entry: CorpusEntry
    allowed: Allowed


@dataclass(slots=True, kw_only=True)
class Remaining:
    """Entries that a pipelined replay leaves to be sent one by one.

    Attributes:
        different: entries whose response the model does not allow. Each is the last of a tuple that begins with the
            entries sent before it in the same write.
        ending: entries that do not keep the connection.
        left_out: entries that the model does not cover, or that cannot be sent on the listener.
    """

    different: list[tuple[CorpusEntry, ...]] = field(default_factory=list)
    ending: list[CorpusEntry] = field(default_factory=list)
    left_out: list[CorpusEntry] = field(default_factory=list)


def batches(stored: Iterable[AllowedEntry]) -> Iterator[tuple[AllowedEntry, ...]]:
    """Group entries that keep the connection into batches, each sent in one write."""
    batch: list[AllowedEntry] = []
    frames = size = 0
    for entry in stored:
        frames += len(entry.allowed.frames.complete)
        size += len(entry.entry.data)
        if batch and (frames > BATCH_FRAMES or size > BATCH_BYTES):
            yield tuple(batch)
            batch, frames, size = [], len(entry.allowed.frames.complete), len(entry.entry.data)
        batch.append(entry)
    if batch:
        yield tuple(batch)


class Replay:
    """Replays entries on one listener of a target."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._oracle = StoredInputOracle(broker.profile, broker.identity)

    def keeping(self, entries: Iterable[CorpusEntry], remaining: Remaining) -> Iterator[AllowedEntry]:
        """Yield the entries that keep the connection; add the others to `remaining`."""
        for entry in entries:
            try:
                allowed = self._oracle.allowed_for(entry.data)
            except NotModelled:
                remaining.left_out.append(entry)
                continue
            stored = AllowedEntry(entry=entry, allowed=allowed)
            if allowed.keeps_the_connection:
                yield stored
            elif self._broker.speaks_tls and allowed.frames.awaits_more:
                # TLS cannot close one side of the stream only.
                remaining.left_out.append(entry)
            else:
                remaining.ending.append(entry)

    def pipelined(self, entries: Iterable[CorpusEntry], agreed: Agreed) -> Remaining:
        """Send the entries that keep the connection, many in one write.

        While the target works on one write, we query the model and check the responses to the write before.

        Args:
            entries: the entries.
            agreed: called with the exchanges of each entry whose responses the model allows.
        """
        remaining = Remaining()
        waiting = batches(self.keeping(entries, remaining))
        batch = next(waiting, None)
        while batch is not None:
            with self._broker.connect() as connection:
                finish = self._begin(connection, batch)
                known = len(remaining.different)
                while batch is not None:
                    following = next(waiting, None)
                    # Sent before the responses are read, so that the target is never idle.
                    then = None if following is None else self._begin(connection, following)
                    exchanges = finish()
                    remaining.different += self._compare(batch, exchanges, agreed)
                    batch = following
                    if len(remaining.different) > known:
                        # The fault may have closed the connection, so the next batch is sent again on a new one.
                        break
                    if then is not None:
                        finish = then
            self._broker.begin_example()
        return remaining

    def _begin(self, connection: Connection, batch: Sequence[AllowedEntry]) -> Finish:
        requests = [request for each in batch for request in each.allowed.frames.complete]
        if not self._broker.speaks_tls:
            return connection.begin(requests)
        # At least releases 2.8 to 3.3 take 0.3 s for each request after the first in one TLS record.
        exchanges = tuple(e for request in requests for e in connection.converse([request]))
        return lambda: exchanges

    def _compare(
        self, batch: tuple[AllowedEntry, ...], exchanges: Iterable[Exchange], agreed: Agreed
    ) -> Iterator[tuple[CorpusEntry, ...]]:
        """Yield each entry whose response is not allowed, preceded by the entries before it."""
        answers = iter(exchanges)
        for count, entry in enumerate(batch, start=1):
            own = [next(answers) for _ in entry.allowed.frames.complete]
            if self._agree(own, entry.allowed.reactions):
                agreed(own)
            else:
                yield tuple(other.entry for other in batch[:count])

    def _agree(self, exchanges: Sequence[Exchange], allowed: Sequence[Sequence[Reaction]]) -> bool:
        return all(
            self._oracle.agreement.matching(exchange, reactions) is not None
            for exchange, reactions in zip(exchanges, allowed, strict=True)
        )

    def check_alone(self, entry: CorpusEntry) -> None:
        """Send one entry on a connection of its own.

        Raises:
            NotAllowed: the target does something that the model does not allow.
            NotModelled: the model does not cover the entry.
        """
        stored = AllowedEntry(entry=entry, allowed=self._oracle.allowed_for(entry.data))
        frames = stored.allowed.frames
        with self._broker.connect() as connection:
            if frames.awaits_more:
                self._check_in_order(stored, connection.end_stream(frames.all))
            elif len(frames.all) == 1 and not frames.size_is_refused:
                exchange = connection.exchange(frames.complete[0])
                self._check(stored, frames.complete[0], exchange, stored.allowed.reactions[0])
            else:
                self._check_in_order(stored, connection.converse(frames.all))

    def check_after_others(self, entries: Sequence[CorpusEntry]) -> None:
        """Send entries that keep the connection on one connection, and check the response to the last.

        Raises:
            NotAllowed: the model does not allow the response.
            NotModelled: the model does not cover the entry.
        """
        requests = [request for entry in entries for request in cut_frames(entry.data).complete]
        exchanges = self._broker.converse(requests)
        last = AllowedEntry(entry=entries[-1], allowed=self._oracle.allowed_for(entries[-1].data))
        self._check_in_order(last, exchanges[len(exchanges) - len(last.allowed.frames.complete) :])

    def _check_in_order(self, stored: AllowedEntry, exchanges: Sequence[Exchange]) -> None:
        """Check each frame's outcome, and that nothing but a close follows the last frame that is served.

        The close is required if the model closes the connection; a target that falls silent instead hangs.
        """
        index = 0
        name = stored.entry.name
        frames = stored.allowed.frames.complete
        for request, allowed in zip(frames, stored.allowed.reactions, strict=False):
            if all(reaction.outcome is Outcome.IGNORED for reaction in allowed):
                # When pipelined, an ignored frame leaves no trace: the next response takes its place.
                continue
            exchange = exchanges[index]
            if exchange.outcome in stored.allowed.losses:
                break
            self._check(stored, request, exchange, allowed, among_others=True)
            index += exchange.payload is not None
        for exchange in exchanges[index:]:
            if exchange.payload is not None:
                raise NotAllowed(f"{name}: no further response is allowed; {summary_of(exchange)}")
            may_become = {Outcome.CLOSED, *stored.allowed.losses}
            if stored.allowed.ends_the_connection and exchange.outcome not in may_become:
                raise NotAllowed(f"{name}: the connection must be closed; {summary_of(exchange)}")

    def _check(
        self,
        stored: AllowedEntry,
        request: Request,
        exchange: Exchange,
        allowed: Sequence[Reaction],
        *,
        among_others: bool = False,
    ) -> None:
        """Check the outcome of one frame.

        `among_others` says that more was sent, so that the outcome does not show whether the connection was kept.
        """
        seen = replace(exchange, request=request)
        is_kept = None if among_others else exchange.usable
        if self._oracle.agreement.matching(seen, allowed, is_kept=is_kept) is None:
            raise NotAllowed(f"{stored.entry.name}: {difference(seen, allowed)}")
