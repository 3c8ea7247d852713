"""The layout of a request and its response: one version of both messages and of their headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wire.headers import PLAIN_REQUEST_HEADER


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One version of an API.

    Attributes:
        request: the message class of its requests.
        response: the message class of its responses.
        version: the version of both messages.
        request_header_version: the header version of a request.
        response_header_version: the header version of a response.
    """

    request: type[Any]
    response: type[Any]
    version: int
    request_header_version: int = PLAIN_REQUEST_HEADER
    response_header_version: int = 0
