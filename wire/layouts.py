"""How a request and its answer are written: one version of two messages, and of the headers in front of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wire.headers import PLAIN_REQUEST_HEADER


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One version of an API.

    Attributes:
        request: the class of its requests.
        response: the class of its responses.
        version: the version of both.
        request_header_version: the version of the header that a request has.
        response_header_version: the version of the header that a response has.
    """

    request: type[Any]
    response: type[Any]
    version: int
    request_header_version: int = PLAIN_REQUEST_HEADER
    response_header_version: int = 0
