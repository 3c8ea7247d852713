"""Vectors for clients that are responses.

They have the bytes, what these mean, and which next moves are right and wrong.

They are the responses to ApiVersions that the model client gets in the plays of the set. `read_response`, by which
every client is judged, says what they mean.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from clauses.catalogue import catalogue
from conformance.corpus.entries import format_bytes
from conformance.vectors.broker_vectors import ID_DIGITS
from fixtures.under_test.in_memory_client import play_in_memory
from reference_model.clients.rules.read_response import ReadResponse, ResponseKind, read_response
from reference_model.clients.scripts.answer_bytes import answer_bytes
from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.script import Script
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsResponse
from wire.codec import decode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError, TrailingBytes
from wire.exchange import probe_request
from wire.frames import SIZE_BYTES, read_size
from wire.headers import CORRELATION_ID_BYTES, read_correlation_id, read_error_code
from wire.plain_header import PLAIN_CORRELATION_ID

MAX_WRITTEN = 4_000
"""Characters of a response's bytes, with long runs abbreviated; longer ones show nothing else."""
OLDER_VERSIONS = (2, 4)
"""One without and one with tagged fields, which most libraries know."""
USE, ASK_AGAIN, REPORT, REBOOTSTRAP = "use the table", "ask again", "report an error", "rebootstrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentResponse:
    """A response to an ApiVersions request.

    Attributes:
        request: the request, and the response that it got.
    """

    request: SeenRequest

    @property
    def read(self) -> ReadResponse:
        """What it says to the client."""
        return read_response(self.request)

    @property
    def key(self) -> tuple[int, bytes]:
        """What makes two responses equal: all but the correlation id."""
        data = self.request.response
        return self.request.api_version, data[:SIZE_BYTES] + data[SIZE_BYTES + CORRELATION_ID_BYTES :]

    @property
    def meaning(self) -> str:
        """What it is: a table, a refusal, an error or malformed."""
        return {
            ResponseKind.TABLE: "table",
            ResponseKind.REFUSAL: "refusal",
            ResponseKind.ERROR: "error",
            ResponseKind.NONSENSE: "malformed",
            ResponseKind.NOTHING: "nothing",
        }[self.read.kind]

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses that say what follows."""
        read, version = self.read, self.request.api_version
        if read.kind is ResponseKind.REFUSAL:
            main = (
                "KIP-511.client-uses-named-range" if read.lower_versions(version) else "KIP-35.client-falls-back-on-35"
            )
            return (main, "KIP-511.client-ignores-table-of-35")
        if read.kind is ResponseKind.ERROR:
            if read.error_code is ErrorCode.INVALID_REQUEST:
                return ("KIP-511.client-errors-on-42",)
            if read.error_code is ErrorCode.REBOOTSTRAP_REQUIRED:
                return ("KIP-1242.rebootstraps-on-129",)
        if read.kind is ResponseKind.TABLE:
            is_flexible = version >= FIRST_FLEXIBLE_VERSION
            return ("KIP-511.client-reads-fixed-header",) if is_flexible else ("KIP-35.client-uses-overlap",)
        return ("KIP-35.client-survives-nonsense",)

    @property
    def moves(self) -> tuple[dict[str, Any], list[str]]:
        """The right next move, and the wrong ones in words."""
        read, version = self.read, self.request.api_version
        if read.kind is ResponseKind.TABLE:
            return {"move": USE}, [ASK_AGAIN, REPORT]
        if read.kind is ResponseKind.REFUSAL and version > 0:
            named = read.lower_versions(version)
            right = {"move": ASK_AGAIN, "versions": sorted({0, *named}), "newest": named[-1] if named else 0}
            return right, [USE, f"ask again in v{version} or above", REPORT]
        if read.kind is ResponseKind.ERROR and read.error_code is ErrorCode.REBOOTSTRAP_REQUIRED:
            return {"move": REBOOTSTRAP}, [USE, "send anything more on this connection"]
        if read.kind is ResponseKind.NONSENSE:
            # The oracle forbids no move here: a client may read more than the schema allows.
            return {"move": REPORT}, ["crash", "wait without end"]
        return {"move": REPORT}, [USE, "send anything more on this connection"]

    @property
    def problem(self) -> tuple[str, bool]:
        """Why a malformed response cannot be read, and whether only bytes after its body are wrong."""
        data, version = self.request.response, self.request.api_version
        payload = data[SIZE_BYTES:]
        if read_size(data) != len(payload):
            return "the size is not that of the frame", False
        if read_error_code(payload) is None:
            return "the response ends before its error code", False
        if read_correlation_id(payload) != self.request.correlation_id:
            return "the correlation id is not that of the request", False
        layout = 0 if read_error_code(payload) == ErrorCode.UNSUPPORTED_VERSION else version
        try:
            decode(ApiVersionsResponse, payload[CORRELATION_ID_BYTES:], version=layout)
        except TrailingBytes as error:
            return str(error), not error.field_path
        except DecodeError as error:
            return str(error), False
        return "", False

    @property
    def sentence(self) -> str:
        """What is right, in one sentence."""
        right, _ = self.moves
        versions = right.get("versions")
        what = f"{right['move']} in v{right['newest']}" if versions else right["move"]
        code = "" if self.read.error_code is None else f" with {self.read.error_code.name}"
        return f"A response to v{self.request.api_version}, {self.meaning}{code}: {what}."

    @property
    def id(self) -> str:
        """The id of the vector."""
        version, data = self.key
        digest = hashlib.sha256(f"{version} {data.hex()}".encode()).hexdigest()[:ID_DIGITS]
        return f"{self.clauses[0]}-{digest}"

    def as_json(self) -> dict[str, Any]:
        """Return the vector as JSON values."""
        read = self.read
        right, wrong = self.moves
        values: dict[str, Any] = {
            "id": self.id,
            "clauses": list(self.clauses),
            "level": catalogue()[self.clauses[0]].level.value,
            "sentence": self.sentence,
            "request_version": self.request.api_version,
            "correlation_id": self.request.correlation_id,
            "bytes": format_bytes(self.request.response).replace("\n", " "),
            "meaning": self.meaning,
            "error_code": None if read.error_code is None else int(read.error_code),
            "right": right,
            "wrong": wrong,
        }
        if read.kind is ResponseKind.NONSENSE:
            values["problem"], values["only_bytes_after_the_body"] = self.problem
        if read.kind in (ResponseKind.TABLE, ResponseKind.REFUSAL):
            entries = [[key, low, high] for key, ranges in read.ranges.items() for low, high in ranges]
            values |= {"entries": entries, "finalized_features_epoch": read.epoch}
            values["finalized_features"] = [list(each) for each in read.listed_levels]
        return values


def responses_in(scripts: Iterable[Script]) -> Iterator[SentResponse]:
    """Yield each response that the model client gets in the plays of some scripts, once.

    Libraries that do not know the newest version never get a response in it, so each answer is there in
    `OLDER_VERSIONS` as well.
    """
    seen: set[tuple[int, bytes]] = set()
    for script in scripts:
        played = (each for each in play_in_memory(script).recording.requests if each.is_about_versions)
        for request in (*played, *_in_older_versions(script)):
            found = SentResponse(request=request)
            is_short = len(format_bytes(request.response)) <= MAX_WRITTEN
            # The model client also knows the versions of proposals.
            is_known = request.api_version <= NEWEST_VERSION
            if request.response and is_short and is_known and found.key not in seen:
                seen.add(found.key)
                yield found


def _in_older_versions(script: Script) -> Iterator[SeenRequest]:
    answers = [each for each in script.answers if each.action == "answer" and each.layout is None and each.copies == 1]
    for answer in dict.fromkeys(answers):
        for version in OLDER_VERSIONS:
            if version >= answer.from_version and answer.error_code != ErrorCode.UNSUPPORTED_VERSION:
                data = probe_request(version).data
                yield SeenRequest(
                    connection=0,
                    at_ms=0,
                    data=data,
                    api_key=API_VERSIONS_KEY,
                    api_version=version,
                    correlation_id=PLAIN_CORRELATION_ID,
                    answer=answer,
                    response=answer_bytes(answer, api_version=version, correlation_id=PLAIN_CORRELATION_ID),
                )
