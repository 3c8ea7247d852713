"""Descriptions of what a scripted broker did to a client.

They name the broker's last act before the client hangs, and a refusal that the client does not get over.
"""

from __future__ import annotations

from reference_model.clients.rules.moves import History, Move
from reference_model.clients.rules.read_response import ResponseKind
from reference_model.clients.scripts.recording import Recording, SeenConnection
from reference_model.profiles.known_apis import label_of
from wire.frames import SIZE_BYTES, read_size

_LATE_MS = 100


def end_in_words(connection: SeenConnection) -> str:
    """Return how a connection ended: "closed", with FIN, or "reset", with RST."""
    return "reset" if connection.was_reset else "closed"


def last_act(recording: Recording) -> str:
    """Return what the broker did last, as a clause of a sentence; empty if there was no connection."""
    history = History(recording)
    connections = recording.connections
    if not connections:
        return ""
    if not history.moves:
        last = connections[-1]
        if last.closed_by == "broker":
            return f"the broker {end_in_words(last)} the connection before any request"
        return "the broker accepted a connection, on which no request came"
    move = history.moves[-1]
    connection = history.connection_of(move)
    is_end = connection.closed_by == "broker" and history.moves_on(connection)[-1] is move
    name = f"{label_of(move.request.api_key)} v{move.request.api_version}"
    if move.request.response:
        ending = f" and {end_in_words(connection)} the connection" if is_end else ""
        return f"the broker answered {name}{_answer_in_words(move)}{ending}"
    if is_end:
        return f"the broker {end_in_words(connection)} the connection on {name}"
    return f"the broker sent no response to {name}"


def _answer_in_words(move: Move) -> str:
    seen = move.request
    late_ms = seen.responded_ms - seen.at_ms
    late = f", {late_ms:,} ms later" if late_ms >= _LATE_MS else ""
    match move.response_kind:
        case ResponseKind.TABLE:
            what = " with a table"
        case ResponseKind.REFUSAL | ResponseKind.ERROR:
            what = "" if move.error is None else f" with {move.error.name}"
        case ResponseKind.NONSENSE:
            what = f" with {_nonsense_in_words(seen.response)}"
        case _:
            what = ""
    return f"{what}{late}"


def _nonsense_in_words(response: bytes) -> str:
    if len(response) < SIZE_BYTES:
        return f"{len(response)} bytes, fewer than a size has"
    size, there = read_size(response), len(response) - SIZE_BYTES
    if size != there:
        return f"a frame whose size says {size:,} bytes, and {there:,} came"
    return "a response that cannot be decoded"


def refused_for_good(recording: Recording) -> int | None:
    """Return the version of ApiVersions that the broker refused last, if the client tried no lower one.

    Return None if the client tried a lower version after the first refusal, if version 0 was refused last, or if no
    version was refused.
    """
    moves = [move for move in History(recording).moves if move.request.is_about_versions]
    refusals = [index for index, move in enumerate(moves) if move.response_kind is ResponseKind.REFUSAL]
    if not refusals:
        return None
    refused = moves[refusals[-1]].request.api_version
    later = (move.request.api_version for move in moves[refusals[0] + 1 :])
    return None if refused == 0 or any(version < refused for version in later) else refused
