"""Client oracle rules about software names, client ids and tags.

The name and version of the software are from KIP-511, the client id and the tags of requests from KIP-482.
"""

from __future__ import annotations

import re

from reference_model.clients.rules.moves import Forbidden, History, Move, is_known
from reference_model.clients.rules.read_response import ResponseKind
from reference_model.clients.scripts.recording import Recording, SeenRequest
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION

OLD_ENCODING = "PROTOCOL.client-id-old-encoding"
TAGS_ASCEND = "KIP-482.client-tags-ascending"


_NAME = re.compile(r"[a-zA-Z0-9.\-]+")
"""What either reading of KIP-511 allows: only Apache Kafka's expression refuses a dot or hyphen at an edge."""


def client_id_is_old(move: Move, history: History) -> Forbidden:
    """The client id of a request with a flexible header has its length in two bytes."""
    if move.request.has_compact_client_id:
        yield OLD_ENCODING, "has a client id with a compact length, and not with one of two bytes"


def tags_ascend(move: Move, history: History) -> Forbidden:
    """The tags of each tag section of a request ascend, each at most once."""
    if move.request.tags_descend:
        yield TAGS_ASCEND, "has tagged fields that do not ascend, or of which one comes twice"


HEADER_RULES = (client_id_is_old, tags_ascend)


Software = tuple[str, str]
"""The name and the version of the software."""


def software_in(request: SeenRequest) -> Software | None:
    """Return the software that a request names; None if its version has no room for that, or if it cannot be read."""
    body = request.body
    if body is None or request.api_version < FIRST_FLEXIBLE_VERSION:
        return None
    return body.client_software_name, body.client_software_version


def names_software(move: Move, history: History) -> Forbidden:
    """Name and version of the software are legal."""
    software = software_in(move.request)
    for what, text in zip(("name", "version"), software or (), strict=False):
        if not _NAME.fullmatch(text):
            yield "KIP-511.client-name-valid", f"has an illegal software {what}: {text!r}"


def names_one_software(move: Move, history: History) -> Forbidden:
    """Name and version of the software are the same in all requests of a client."""
    software = software_in(move.request)
    first = software_named_in(history.recording)
    if software is not None and software != first:
        yield "KIP-511.client-names-itself-truly", f"names {software}, and another request {first}"


def names_software_under_sasl(move: Move, history: History) -> Forbidden:
    """With SASL a client names its software before it uses the connection, if the broker supports that."""
    seen, table = move.request, move.table
    if seen.is_about_versions or not move.is_authenticated or table is None:
        return
    earlier = history.by_connection[seen.connection][: move.number]
    has_used = any(each.is_authenticated and each.response is None for each in earlier)
    # A client that need not wait for the response has named it as well.
    is_named = any(
        each.request.is_about_versions
        and each.request.api_version >= FIRST_FLEXIBLE_VERSION
        and (each.response_kind in (ResponseKind.TABLE, ResponseKind.NOTHING) or not is_known(each, seen))
        for each in earlier
    )
    if table.lists(API_VERSIONS_KEY, FIRST_FLEXIBLE_VERSION) and not is_named and not has_used:
        yield (
            "KIP-511.client-named-under-sasl",
            "was sent after authentication although no ApiVersions request had named the software",
        )


def software_named_in(recording: Recording) -> Software | None:
    """Return the software that the first request with a name names; None if there is none."""
    named = (software_in(request) for request in recording.requests)
    return next((software for software in named if software is not None), None)


def names_nothing(recording: Recording) -> str:
    """Return in words that a client asks a healthy broker only in versions without a name; empty if it does not.

    No clause forbids that. Operators who look for old clients before an upgrade do not find it.
    """
    versions = sorted({*recording.versions_of_api_versions})
    if not versions or versions[-1] >= FIRST_FLEXIBLE_VERSION:
        return ""
    sent = " and ".join(f"v{version}" for version in versions)
    return (
        f"it sends ApiVersions {sent} alone, which has no name, to a broker that supports v0 to v{NEWEST_VERSION}: "
        "operators see its software as unknown"
    )


SOFTWARE_RULES = (names_software, names_one_software, names_software_under_sasl)
