"""Letters: named inputs of a connection, from which the words are made that learning sends.

A letter is one write in most cases. Its bytes are the same in every word, so its response can be recognised by its
correlation id, which no other letter has.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from fixtures.client.connection import Connection
from reference_model.broker.rules.reaction import AnswerKind
from wire.exchange import Exchange, Request


class Sending(enum.Enum):
    """How a letter is sent."""

    ONE_WRITE = "in one write"
    IN_PIECES = "in two writes with a pause"
    WITH_SENTINEL = "followed by a sentinel"
    """For frames that some releases ignore: the response to the sentinel shows it, so that nothing is waited for."""
    THEN_END = "followed by the end of our side of the stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One named input.

    Attributes:
        name: its name.
        requests: the frames that it consists of; usually one.
        kind: the kind of message that a response to it is.
        sending: how it is sent.
        cut: after how many bytes the first of two writes ends.
    """

    name: str
    requests: tuple[Request, ...]
    kind: AnswerKind = AnswerKind.API_VERSIONS
    sending: Sending = Sending.ONE_WRITE
    cut: int = 0

    def send(self, connection: Connection) -> tuple[Exchange, ...]:
        """Send the letter on a connection, and return what became of each of its frames."""
        if self.sending is Sending.WITH_SENTINEL:
            return (connection.exchange(self.requests[0]),)
        if self.sending is Sending.THEN_END:
            return connection.end_stream(self.requests)
        cuts = (self.cut,) if self.sending is Sending.IN_PIECES else ()
        return connection.converse(self.requests, cuts=cuts)


Alphabet = Mapping[str, Letter]
"""The letters that words consist of, by name, in the order in which they are tried."""
