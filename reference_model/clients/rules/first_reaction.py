"""Diagnosis of a client that fails with a healthy broker.

It says how far the client came, and which clause its first wrong reaction fits.

A client that fails even there is not judged: these are words about it, not verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from reference_model.clients.rules.moves import History, Move
from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.rules.read_response import ResponseKind
from reference_model.clients.scripts.recording import Recording
from reference_model.profiles.known_apis import label_of
from reference_model.profiles.listeners import SASL_LISTENERS
from wire.api_keys import SASL_KEYS
from wire.api_versions import FIRST_FLEXIBLE_VERSION

NEVER_CONNECTED = "the client never connected to the broker"
CONNECTED_ONLY = "the client connected to the broker, but never sent a request"
NEVER_ASKED = "the client connected to the broker, but never asked it for versions"

_TAGS_BEFORE_ERROR = slice(9, 11)
"""Where a client finds the error code in a frame if it reads a tag section, which is not there, after the
correlation id."""

_FIXED_HEADER = "KIP-511.client-reads-fixed-header"
_UNKNOWN_KEYS = "KIP-35.client-tolerates-unknown-keys"

_Reaction = tuple[tuple[int, int], str, str]
"""Connection and index of a request, a clause or "" if it fits none, and what the client did."""


def stops_short(recording: Recording) -> str:
    """Return what a client never did, so that hardly anything can be judged; empty if it asked for versions."""
    if not recording.connections:
        return NEVER_CONNECTED
    if not recording.requests:
        return CONNECTED_ONLY
    return "" if recording.versions_of_api_versions else NEVER_ASKED


def first_reaction(recording: Recording, output: str) -> str:
    """Return the clause that a client's first wrong reaction to a healthy broker fits.

    Further lines say what the client did. Empty if no reaction was wrong.
    """
    if not recording.requests:
        return stops_short(recording)
    history = History(recording)
    reactions = [
        *_forbidden(recording),
        *_late_versions(history),
        *_dropped_tables(history, output),
    ]
    if reactions:
        _, clause, what = min(reactions)
        return f"its first reaction fits {clause}:\n{what}" if clause else what
    if recording.unserved:
        names = ", ".join(f"{label_of(key)} v{version}" for key, version in recording.unserved)
        return f"the scripted broker has no response to {names}"
    return ""


def _forbidden(recording: Recording) -> Iterator[_Reaction]:
    for move in forbidden_moves(recording):
        yield (move.connection, move.request), move.clause, move.sentence


def _late_versions(history: History) -> Iterator[_Reaction]:
    """Yield each second ApiVersions request before SaslHandshake.

    Kafka's authenticator answers one ApiVersions request and closes the connection on the next.
    """
    if history.recording.script.listener not in SASL_LISTENERS:
        return
    for moves in history.by_connection.values():
        before = list(takewhile(lambda move: move.request.api_key not in SASL_KEYS, moves))
        tables = [move for move in before if move.response_kind is ResponseKind.TABLE]
        for move in before:
            if tables and move.number > tables[0].number and move.request.is_about_versions:
                what = f"a second ApiVersions before SaslHandshake: {move} came after {tables[0]} got the table, and a broker closes the connection then"
                yield (move.request.connection, move.number), "", what


def _dropped_tables(history: History, output: str) -> Iterator[_Reaction]:
    """Yield each healthy table after which nothing more was sent on its connection."""
    for moves in history.by_connection.values():
        last = moves[-1]
        if last.response_kind is not ResponseKind.TABLE:
            continue
        is_flexible = last.request.api_version >= FIRST_FLEXIBLE_VERSION
        hint = _misread_header(last, output) if is_flexible else ""
        # Without a hint nothing shows what kept a client from the table, which also lists keys that it cannot know.
        clause = _FIXED_HEADER if hint else f"{_FIXED_HEADER} or {_UNKNOWN_KEYS}"
        what = f"nothing was sent after the table that {last} got"
        yield (last.request.connection, last.number), clause if is_flexible else "", what + hint


def _misread_header(move: Move, output: str) -> str:
    """Return an explanation if an error in a client's text comes from a misread header.

    The client then reads its error code from where the code would be if the header had a tag section.
    """
    code = int.from_bytes(move.request.response[_TAGS_BEFORE_ERROR], "big")
    if str(code) not in output:
        return ""
    return f"\nits header, read as if it had a tag section, gives that error {code}"
