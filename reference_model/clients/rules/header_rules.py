"""What a client may write into the headers of its requests: the client id keeps its length of two bytes.

Source: KIP-482, Request and Response Headers.
"""

from __future__ import annotations

from reference_model.clients.rules.moves import Forbidden, History, Move

OLD_ENCODING = "PROTOCOL.client-id-old-encoding"


def client_id_is_old(move: Move, history: History) -> Forbidden:
    """The client id of a request with a flexible header has its length in two bytes."""
    if move.request.has_compact_client_id:
        yield OLD_ENCODING, "has a client id with a compact length, and not with one of two bytes"
