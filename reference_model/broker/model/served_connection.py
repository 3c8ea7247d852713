"""Protocols for a model of a broker, of a proxy, or of a server before a broker.

Code that carries bytes to such a model uses them.
"""

from __future__ import annotations

from typing import Protocol

from reference_model.broker.model.stages import Pause
from reference_model.broker.rules.connection_states import ConnectionState


class ServedConnection(Protocol):
    """One connection to a model, without a socket."""

    @property
    def state(self) -> ConnectionState:
        """The state of the connection."""

    @property
    def pause(self) -> Pause | None:
        """The current pause."""

    def receive_data(self, data: bytes) -> None:
        """Accept bytes from the client."""

    def receive_eof(self) -> None:
        """Accept the end of the client's stream."""

    def resume(self) -> None:
        """End the pause."""

    def data_to_send(self) -> bytes:
        """Return the bytes to write, and forget them."""

    def drop(self) -> None:
        """Close the connection from the model's side."""


class ServedBroker(Protocol):
    """A model to which clients connect."""

    def connect(self) -> ServedConnection:
        """Open a new connection."""
