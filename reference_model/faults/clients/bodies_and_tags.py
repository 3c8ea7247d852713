"""Faults in the layout of requests.

They affect bodies of APIs other than ApiVersions, and the order of tagged fields.
"""

from __future__ import annotations

from typing import Any

from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.rules.software_rules import TAGS_ASCEND
from reference_model.faults.clients.registry import fault
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY, SASL_AUTHENTICATE_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.header_versions import FLEXIBLE_REQUEST_HEADER, PLAIN_REQUEST_HEADER
from wire.headers import RequestHeader
from wire.primitives import NO_TAGS

DECODE = "KIP-35.client-requests-decode"
_OLD_VERSION = 3
_FLEXIBLE_VERSION = 10
"""Versions of Metadata that are the newest ones of no release."""
_DESCENDING = bytes.fromhex("02 650161 640162")
"""A section of two tagged fields, which no release knows: tag 101, then tag 100."""
_TWICE = bytes.fromhex("02 640161 640162")
"""A section in which tag 100 comes twice."""


# KIP-35.client-requests-decode


@fault(DECODE)
class CountOfTopicsIsCutOff(ModelClient):
    """Sends Metadata v3 with three of the four bytes of the count of topics."""

    def exchange(self, link: Link, api_key: int, version: int, body: bytes, header_version: int) -> bytes:
        is_cut = (api_key, version) == (METADATA_KEY, _OLD_VERSION)
        return super().exchange(link, api_key, version, body[:-1] if is_cut else body, header_version)


@fault(DECODE)
class HeaderOfMetadataIsNeverFlexible(ModelClient):
    """Sends Metadata v10 without the tag section of its header."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        is_old = (header.request_api_key, header.request_api_version) == (
            METADATA_KEY,
            _FLEXIBLE_VERSION,
        )
        return super().header_bytes(header, PLAIN_REQUEST_HEADER if is_old else version)


@fault(DECODE)
class TokenHasNoLength(ModelClient):
    """Sends SaslAuthenticate v1 with the token alone, without its length, to brokers that also know ApiVersions v5."""

    def sasl_step(self, link: Link, api_key: int, **fields: Any) -> None:
        table = link.table or {}
        is_new = table.get(API_VERSIONS_KEY, (0, 0))[1] == NEWEST_VERSION
        self.notes["bare"] = is_new and api_key == SASL_AUTHENTICATE_KEY
        super().sasl_step(link, api_key, **fields)

    def exchange(self, link: Link, api_key: int, version: int, body: bytes, header_version: int) -> bytes:
        is_bare = api_key == SASL_AUTHENTICATE_KEY and version == 1 and bool(self.notes.get("bare"))
        return super().exchange(link, api_key, version, body[4:] if is_bare else body, header_version)


# KIP-482.client-tags-ascending


@fault(TAGS_ASCEND)
class TagsOfTheHeaderDescend(ModelClient):
    """Writes two tagged fields of its own into flexible headers, the higher one first."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        written = super().header_bytes(header, version)
        if version != FLEXIBLE_REQUEST_HEADER:
            return written
        return written.removesuffix(NO_TAGS) + _DESCENDING


@fault(TAGS_ASCEND)
class TagsOfTheBodyDescend(ModelClient):
    """Writes two tagged fields of its own into the body of ApiVersions from v3 on, the higher one first."""

    def api_versions_body(self, link: Link, version: int) -> bytes:
        body = super().api_versions_body(link, version)
        if version < FIRST_FLEXIBLE_VERSION:
            return body
        return body.removesuffix(NO_TAGS) + _DESCENDING


@fault(TAGS_ASCEND)
class TagsOfMetadataDescend(ModelClient):
    """Does the same in Metadata alone, which it sends in a flexible version to newer brokers."""

    def exchange(self, link: Link, api_key: int, version: int, body: bytes, header_version: int) -> bytes:
        if api_key == METADATA_KEY and header_version == FLEXIBLE_REQUEST_HEADER:
            body = body.removesuffix(NO_TAGS) + _DESCENDING
        return super().exchange(link, api_key, version, body, header_version)


@fault(TAGS_ASCEND)
class TagOfMetadataComesTwice(ModelClient):
    """Writes one tagged field of its own twice into the body of Metadata v10."""

    def exchange(self, link: Link, api_key: int, version: int, body: bytes, header_version: int) -> bytes:
        if (api_key, version) == (METADATA_KEY, _FLEXIBLE_VERSION):
            body = body.removesuffix(NO_TAGS) + _TWICE
        return super().exchange(link, api_key, version, body, header_version)
