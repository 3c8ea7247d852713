"""Replays the corpus on one listener of a target, without Hypothesis.

What the model says keeps the connection is pipelined, many entries in one write; its answers are compared by the
hash of their canonical bytes. Where one differs, and for everything that ends a connection, entries are sent one
by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from conformance.corpus.entries import Entry
from fixtures.broker import Broker
from fixtures.connection import Connection
from reference_model.connection_states import ConnectionEvent
from reference_model.reaction import NotModelled, Reaction
from reference_model.stored_inputs import Allowed, StoredInputOracle, cut_frames
from wire.exchange import Exchange, Outcome, Request

Agreed = Callable[[Sequence[Exchange]], None]
Finish = Callable[[], tuple[Exchange, ...]]

BATCH_FRAMES = 200
"""More than enough to keep a broker busy while we look at answers, and little for its socket buffers."""
BATCH_BYTES = 32 * 1024
"""A broker that answers while we still write must never wait for us to read: answers are ten times as long."""


class NotAllowed(AssertionError):
    """The target does with a stored input what the model does not allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An entry with what the model allows for it."""

    entry: Entry
    allowed: Allowed


@dataclass(slots=True, kw_only=True)
class Remaining:
    """What a pipelined replay leaves to be sent one by one.

    Attributes:
        different: entries that were answered as the model does not allow, each behind those that were sent in
            front of it in the same write.
        ending: entries that do not keep the connection.
        left_out: entries that the model has no word on, or that the listener cannot take.
    """

    different: list[tuple[Entry, ...]] = field(default_factory=list)
    ending: list[Entry] = field(default_factory=list)
    left_out: list[Entry] = field(default_factory=list)


def batches(stored: Iterable[Stored]) -> Iterator[tuple[Stored, ...]]:
    """Group entries that keep the connection into what is written at once."""
    batch: list[Stored] = []
    frames = size = 0
    for each in stored:
        frames += len(each.allowed.frames.whole)
        size += len(each.entry.data)
        if batch and (frames > BATCH_FRAMES or size > BATCH_BYTES):
            yield tuple(batch)
            batch, frames, size = [], len(each.allowed.frames.whole), len(each.entry.data)
        batch.append(each)
    if batch:
        yield tuple(batch)


class Replay:
    """Replays entries on one listener of a target."""

    def __init__(self, broker: Broker) -> None:
        """Ask the model of the target's release.

        Args:
            broker: the target.
        """
        self._broker = broker
        self._oracle = StoredInputOracle(broker.profile, broker.identity)

    def keeping(self, entries: Iterable[Entry], remaining: Remaining) -> Iterator[Stored]:
        """Give the entries that keep the connection; the others go to what remains."""
        for entry in entries:
            try:
                allowed = self._oracle.allowed_for(entry.data)
            except NotModelled:
                remaining.left_out.append(entry)
                continue
            stored = Stored(entry=entry, allowed=allowed)
            if allowed.keeps_the_connection:
                yield stored
            elif self._broker.speaks_tls and allowed.frames.waits:
                # TLS has no end of one side of the stream.
                remaining.left_out.append(entry)
            else:
                remaining.ending.append(entry)

    def pipelined(self, entries: Iterable[Entry], agreed: Agreed) -> Remaining:
        """Send the entries that keep the connection, many in one write.

        The model is asked, and answers are looked at, while the target works on the next write.

        Args:
            entries: the entries.
            agreed: gets each entry that was answered as the model allows.
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
                    # Before the answers are read, so that the target always has something to do.
                    then = None if following is None else self._begin(connection, following)
                    exchanges = finish()
                    remaining.different += self._compare(batch, exchanges, agreed)
                    batch = following
                    if len(remaining.different) > known:
                        # Whatever is wrong may have cost the connection; what was sent on it is sent again.
                        break
                    if then is not None:
                        finish = then
            self._broker.forget()
        return remaining

    def _begin(self, connection: Connection, batch: Sequence[Stored]) -> Finish:
        requests = [request for each in batch for request in each.allowed.frames.whole]
        if not self._broker.speaks_tls:
            return connection.begin(requests)
        # Releases 2.8 to 3.3, at least, take 0.3 s for each further request of one TLS record.
        exchanges = tuple(e for request in requests for e in connection.converse([request]))
        return lambda: exchanges

    def _compare(
        self, batch: tuple[Stored, ...], exchanges: Iterable[Exchange], agreed: Agreed
    ) -> Iterator[tuple[Entry, ...]]:
        """Give each entry that is answered otherwise, behind those in front of it."""
        answers = iter(exchanges)
        for place, each in enumerate(batch, start=1):
            own = [next(answers) for _ in each.allowed.frames.whole]
            if self._agree(own, each.allowed.reactions):
                agreed(own)
            else:
                yield tuple(other.entry for other in batch[:place])

    def _agree(self, exchanges: Sequence[Exchange], allowed: Sequence[Sequence[Reaction]]) -> bool:
        return all(
            exchange.payload is not None
            and self._oracle.allows(exchange.request, exchange.payload, reactions)
            for exchange, reactions in zip(exchanges, allowed, strict=True)
        )

    def check_alone(self, entry: Entry) -> None:
        """Send one entry on a connection of its own.

        Raises:
            NotAllowed: the target does what the model does not allow.
            NotModelled: the model has no word on it.
        """
        stored = Stored(entry=entry, allowed=self._oracle.allowed_for(entry.data))
        frames = stored.allowed.frames
        with self._broker.connect() as connection:
            if frames.waits:
                self._check_in_order(stored, connection.end_stream(frames.all))
            elif len(frames.all) == 1 and not frames.refused:
                exchange = connection.exchange(frames.whole[0])
                self._check(stored, frames.whole[0], exchange, stored.allowed.reactions[0])
            else:
                self._check_in_order(stored, connection.converse(frames.all))

    def check_behind_others(self, entries: Sequence[Entry]) -> None:
        """Send entries that keep the connection on one connection, and check the last.

        Raises:
            NotAllowed: it is answered as the model does not allow.
            NotModelled: the model has no word on it.
        """
        requests = [request for entry in entries for request in cut_frames(entry.data).whole]
        exchanges = self._broker.converse(requests)
        last = Stored(entry=entries[-1], allowed=self._oracle.allowed_for(entries[-1].data))
        self._check_in_order(last, exchanges[len(exchanges) - len(last.allowed.frames.whole) :])

    def _check_in_order(self, stored: Stored, exchanges: Sequence[Exchange]) -> None:
        """Check each frame's outcome, and that after the last that is served nothing comes but the end.

        The end is due where the model closes the connection; a target that falls silent there hangs.
        """
        place = 0
        name = stored.entry.name
        frames = stored.allowed.frames.whole
        for request, allowed in zip(frames, stored.allowed.reactions, strict=False):
            if all(reaction.outcome is Outcome.IGNORED for reaction in allowed):
                # Among others it leaves no trace but that the next answer comes in its place.
                continue
            exchange = exchanges[place]
            if exchange.outcome in stored.allowed.losses:
                break
            self._check(stored, request, exchange, allowed, among_others=True)
            place += exchange.payload is not None
        for exchange in exchanges[place:]:
            if exchange.payload is not None:
                raise NotAllowed(f"{name}: nothing more may be answered; {_seen(exchange)}")
            may_become = {Outcome.CLOSED, *stored.allowed.losses}
            if stored.allowed.ends_the_connection and exchange.outcome not in may_become:
                raise NotAllowed(f"{name}: the connection has to be closed; {_seen(exchange)}")

    def _check(
        self,
        stored: Stored,
        request: Request,
        exchange: Exchange,
        allowed: Sequence[Reaction],
        *,
        among_others: bool = False,
    ) -> None:
        """Check what became of one frame.

        Args:
            stored: the entry that it is part of.
            request: the frame.
            exchange: what became of it.
            allowed: what the model allows.
            among_others: whether more was sent on the connection, so that this exchange does not show if it is kept.
        """
        if exchange.payload is None:
            follows = any(reaction.outcome is exchange.outcome for reaction in allowed)
        else:
            possible = [each for each in allowed if _keeps(each) == exchange.usable or among_others]
            follows = self._oracle.allows(request, exchange.payload, possible)
        if not follows:
            words = " or ".join(map(str, allowed))
            raise NotAllowed(f"{stored.entry.name}: the model allows {words}; {_seen(exchange)}")


def _keeps(reaction: Reaction) -> bool:
    return reaction.event is ConnectionEvent.SERVED


def _seen(exchange: Exchange) -> str:
    if exchange.payload is None:
        return f"the target: {exchange.outcome.value}"
    kept = "kept" if exchange.usable else "closed"
    return f"the target answered {exchange.payload[4:52].hex()}, and {kept} the connection"
