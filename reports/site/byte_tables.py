"""Tables of a failure's bytes, and of what the reference broker responds.

The bytes come from the stored hex dump. Each row has offset, bytes, field and value.

`reports.run.hex_dump` writes the dump; a test checks that this reader matches it.

Each response of the reference broker is one allowed response, not the only one. It runs without a socket. It is left
out if its responses would say nothing about the target: on SASL listeners, if a request can name a cluster, or if no
table of the target's release is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reference_model.broker.model.state_machine import BrokerConnection, ReferenceBroker
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.reaction import Identity, NotModelled
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    KIP_TEXT,
    NEWEST_RELEASE,
    REFERENCE,
    Profile,
    ProfileError,
    profile_of_target,
)
from reports.run.hex_dump import BARE_ANSWER, dump_answer, dump_bare, layout_of_answer
from reports.tables.target_rows import GridTarget
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION
from wire.errors import DecodeError
from wire.foreign_json import read_foreign_json
from wire.frames import SIZE_BYTES
from wire.headers import read_request_start

_LINE = re.compile(r"(?P<mark>[ >]) *(?P<offset>\d+)  (?P<bytes>(?:[0-9a-f]{2}(?: |$))*) *(?P<text>.*)")
_FIELD = re.compile(r"(?P<path>[\w.\[\]]+) = (?P<value>.*)", re.DOTALL)
_HEADING = re.compile(r"connection (?P<connection>\d+): (?P<what>.+)")
_SENT = "sent"
_SENTINEL = "the next request"
_BY_CLIENT = "client "
_IDENTITY = Identity(cluster_id="reference-cluster-0000", node_id=1)
_FIRST_VERSION_WITH_IDS = 5
_KEY_AND_VERSION_END = 8
_CLOSED, _SILENT, _ANSWER = "closed", "no answer", "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRow:
    """Some bytes of a frame and what they mean.

    Attributes:
        offset: of the first byte in the frame, counted from 0.
        path: the field that they encode; empty if unknown.
        value: its value, or a note instead.
        marked: whether decoding the frame fails here.
    """

    offset: int
    data: bytes
    path: str
    value: str
    marked: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The bytes in hexadecimal, sixteen to a line."""
        pieces = (self.data[start : start + 16] for start in range(0, len(self.data), 16))
        return tuple(piece.hex(" ") for piece in pieces)


@dataclass(slots=True, kw_only=True)
class Part:
    """One frame of the conversation, or an event in between (then without rows).

    Attributes:
        what: what happened: "sent", "answer", "closed", "silent"; for a client "client sent", "broker answered" and so
            on.
        notes: the dump's other lines about it.
    """

    connection: int
    what: str
    rows: list[ByteRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def sent(self) -> bool:
        """Whether the suite sent it."""
        return self.what.startswith(_SENT)

    @property
    def is_outgoing(self) -> bool:
        """Whether the suite or the judged client sent the part to the broker.

        The suite sends requests and sentinels.
        """
        return self.sent or self.what.startswith((_SENTINEL, _BY_CLIENT))

    @property
    def data(self) -> bytes:
        """All its bytes."""
        return b"".join(row.data for row in self.rows)


def read_dump(text: str) -> list[Part]:
    """Read a stored dump; a line that is not understood is kept as a note."""
    parts: list[Part] = []
    for line in text.splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            parts.append(Part(connection=int(heading["connection"]), what=heading["what"]))
            continue
        if not line.strip():
            continue
        if not parts:
            parts.append(Part(connection=0, what="kept"))
        row = _LINE.fullmatch(line)
        if row:
            _add(parts[-1], row)
        else:
            parts[-1].notes.append(line.strip())
    return parts


def rows_of(lines: Iterable[str]) -> list[ByteRow]:
    """Read the lines of one frame, as `reports.run.hex_dump` returns them."""
    part = Part(connection=0, what="")
    for line in lines:
        row = _LINE.fullmatch(line)
        if row:
            _add(part, row)
    return part.rows


def _add(part: Part, line: re.Match[str]) -> None:
    data = bytes.fromhex(line["bytes"])
    offset, text, marked = int(line["offset"]), line["text"], line["mark"] == ">"
    last = part.rows[-1] if part.rows else None
    if not text and last is not None and last.offset + len(last.data) == offset:
        part.rows[-1] = replace(last, data=last.data + data)
        return
    named = _FIELD.fullmatch(text)
    path, value = (named["path"], named["value"]) if named else ("", text.removeprefix("<-- "))
    part.rows.append(ByteRow(offset=offset, data=data, path=path, value=value, marked=marked))


def in_fields_of(other: list[ByteRow], rows: list[ByteRow]) -> list[ByteRow]:
    """Split a frame with unknown fields like another frame, up to the first field that differs.

    Args:
        other: the rows of a frame whose fields are known.
        rows: the rows of the frame to split: its size, and one for the rest.
    """
    data = b"".join(row.data for row in rows)
    cut, position = rows[:1], sum(len(row.data) for row in rows[:1])
    for row in other[1:]:
        piece = data[position : position + len(row.data)]
        if piece != row.data or row.marked:
            break
        cut.append(row)
        position += len(piece)
    rest = data[position:]
    return [*cut, ByteRow(offset=position, data=rest, path="", value=repr(rest))] if rest else cut


def first_divergence(rows: list[ByteRow], expected: list[ByteRow]) -> int | None:
    """Return the index of the first row that differs from another frame's; None if none does.

    The size prefix is ignored: it differs only because something else does.
    """
    others: Iterator[ByteRow | None] = iter([*expected[1:], None])
    for index, row in enumerate(rows[1:], start=1):
        other = next(others, None)
        if other is None or (other.path, other.data) != (row.path, row.data):
            return index
    return None if next(others, None) is None else len(rows) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """The reference broker's response to one request.

    Attributes:
        what: "answer", "closed" or "no answer".
        rows: the bytes of a response.
        by_own_table: whether the request is for another API. The response then depends on the versions that the
            reference broker advertises, which may differ from the target's.
    """

    what: str
    rows: list[ByteRow]
    by_own_table: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether its last row is bytes that were not decoded and may contain fields."""
        return bool(self.rows) and self.rows[-1].path in ("", BARE_ANSWER)


def expected_answers(facts_text: str, target: GridTarget) -> list[ExpectedAnswer]:
    """Send the requests of a failure to the reference broker with a target's profile, one after the other.

    Returns:
        One response per request, in order; empty if the reference broker cannot be compared.
    """
    sent = list(_requests(facts_text))
    if "sasl" in target.listener or not sent or any(_names_a_cluster(data) for _, data in sent):
        return []
    profile = _profile_of(target)
    if profile is None:
        return []
    broker = ReferenceBroker(profile=profile, identity=_IDENTITY)
    connections: dict[int, BrokerConnection] = {}
    try:
        return [_ask(connections.setdefault(number, broker.connect()), data) for number, data in sent]
    except (DecodeError, NotModelled, KeyError, IndexError):
        return []


def _profile_of(target: GridTarget) -> Profile | None:
    """Return the profile that a target is judged by; None if it is unknown what a broker of that release advertises."""
    try:
        profile = profile_of_target(*_judged_as(target), listener=target.listener, follows=KIP_TEXT)
    except (ProfileError, ValueError):
        return None
    return profile if profile.api_keys else None


def _judged_as(target: GridTarget) -> tuple[str, str, str]:
    """Return id, implementation and release of the target, or of the release that it is judged like."""
    if target.like is None:
        return target.target, target.implementation, target.release
    if target.like == REFERENCE:
        return target.like, REFERENCE, NEWEST_RELEASE
    release, _, _quorum = target.like.removeprefix(f"{APACHE_KAFKA}-").partition("-")
    return target.like, APACHE_KAFKA, release


def _requests(facts_text: str) -> Iterator[tuple[int, bytes]]:
    """Yield connection and bytes of each request, up to the first that is malformed; none for a foreign file."""
    try:
        facts: Any = read_foreign_json(facts_text)
    except ValueError:
        return
    sent = facts.get("sent") if isinstance(facts, Mapping) else None
    for entry in sent if isinstance(sent, list) else ():
        try:
            yield int(entry["connection"]), bytes.fromhex(entry["data"])
        except (KeyError, TypeError, ValueError):
            return


def _names_a_cluster(data: bytes) -> bool:
    key, version, _ = read_request_start(data[SIZE_BYTES:])
    # The fields of an unknown version are not read.
    has_ids = _FIRST_VERSION_WITH_IDS <= version <= NEWEST_VERSION
    return key == API_VERSIONS_KEY and has_ids


def _ask(connection: BrokerConnection, data: bytes) -> ExpectedAnswer:
    connection.receive_data(data)
    answer = connection.data_to_send()
    key, version, _ = read_request_start(data[SIZE_BYTES:])
    of_another_api = len(data) >= _KEY_AND_VERSION_END and key != API_VERSIONS_KEY
    if not answer:
        what = _CLOSED if connection.state is ConnectionState.CLOSED else _SILENT
        lines = []
    elif of_another_api:
        what, lines = _ANSWER, dump_bare(answer, BARE_ANSWER)
    else:
        layout = layout_of_answer(answer[SIZE_BYTES:], version)
        what, lines = _ANSWER, dump_answer(answer, api_version=layout)
    return ExpectedAnswer(what=what, rows=rows_of(lines), by_own_table=of_another_api)
