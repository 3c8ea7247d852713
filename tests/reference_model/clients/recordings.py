"""Builds recordings of clients from a few words about each request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference_model.clients.scripts.answer_bytes import answer_bytes
from reference_model.clients.scripts.recording import Recording, SeenConnection, SeenRequest
from reference_model.clients.scripts.script import HEALTHY_SCRIPT, Answer, Range, Script, Table
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY
from wire.api_versions import ApiVersionsRequest
from wire.error_codes import ErrorCode

NO_IDS = (None, -1)
"""The ids of a client that knows none."""
RESPONSE = b"\0\0\0\4\0\0\0\7"
"""Any response to an API other than ApiVersions."""


def asked(
    version: int,
    answer: Answer | None = None,
    *,
    connection: int = 0,
    at_ms: int = 0,
    software: tuple[str, str] = ("kgo", "1.0"),
    ids: tuple[str | None, int] = NO_IDS,
    **others: Any,
) -> SeenRequest:
    """Return an ApiVersions request with its response; a healthy one unless another is given."""
    answer = Answer() if answer is None else answer
    is_answered = answer.action == "answer"
    given: dict[str, Any] = {
        "body": ApiVersionsRequest(
            client_software_name=software[0],
            client_software_version=software[1],
            cluster_id=ids[0],
            node_id=ids[1],
        ),
        "response": answer_bytes(answer, api_version=version, correlation_id=7) if is_answered else b"",
        **others,
    }
    return SeenRequest(
        connection=connection,
        at_ms=at_ms,
        data=b"",
        api_key=API_VERSIONS_KEY,
        api_version=version,
        correlation_id=7,
        answer=answer,
        **given,
    )


def sent(
    version: int,
    *,
    api_key: int = METADATA_KEY,
    connection: int = 0,
    at_ms: int = 1,
    response: bytes = RESPONSE,
    answered_ms: int | None = None,
) -> SeenRequest:
    """Return a request of another API, one millisecond after the play began unless a time is given."""
    return SeenRequest(
        connection=connection,
        at_ms=at_ms,
        data=b"",
        api_key=api_key,
        api_version=version,
        correlation_id=8,
        response=response,
        answered_ms=answered_ms,
    )


def opened(number: int = 0, *, at_ms: int = 0, node: int = 0, **others: Any) -> SeenConnection:
    """Return a connection that the client closed in the end."""
    given: dict[str, Any] = {"closed_ms": 100_000, "closed_by": "client", **others}
    return SeenConnection(number=number, node=node, opened_ms=at_ms, **given)


def recorded(
    *requests: SeenRequest,
    connections: Sequence[SeenConnection] = (),
    script: Script = HEALTHY_SCRIPT,
    duration_ms: int = 2000,
) -> Recording:
    """Return a recording of requests; their connections all open at the beginning unless they are given."""
    numbers = {each.connection for each in requests}
    seen = tuple(connections) or tuple(opened(number) for number in sorted(numbers))
    about_versions = sum(each.is_about_versions for each in requests)
    return Recording(
        script=script,
        connections=seen,
        requests=requests,
        all_connections=len(seen),
        all_requests=len(requests),
        api_versions_requests=about_versions,
        duration_ms=duration_ms,
    )


def refused(*ranges: tuple[int, int]) -> Answer:
    """Return UNSUPPORTED_VERSION with these ranges of ApiVersions."""
    entries = tuple((API_VERSIONS_KEY, low, high) for low, high in ranges)
    return refused_with(Table(base="empty", after=entries))


def refused_with(table: Table) -> Answer:
    """Return UNSUPPORTED_VERSION with a table."""
    return Answer(error_code=ErrorCode.UNSUPPORTED_VERSION, table=table, layout=0)


def listing(*entries: Range) -> Answer:
    """Return a table of these entries."""
    return Answer(table=Table(base="empty", after=entries))
