"""Faults against the clauses of KIP-511."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import SOFTWARE_NAME, SOFTWARE_VERSION
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsResponse
from wire.codec import decode_prefix
from wire.error_codes import ErrorCode
from wire.headers import ResponseHeader

LEAST_PATIENCE_MS = 450

AfterRefusal = Callable[[Link, int, bytes], int]
Decoded = Callable[[Link, int, bytes], ApiVersionsResponse]
NamedRange = Callable[[Link, bytes], Range | None]
BodyOf = Callable[[Link, int, bytes], bytes]
ErrorCodeOf = Callable[[Link, int, bytes], int]
RaiseError = Callable[[Link, int], None]
Software = Callable[[Link], tuple[str, str]]


# KIP-511.client-uses-named-range


def _names_a_lower_version(
    client: ModelClient, link: Link, refused: int, response: bytes
) -> Range | None:
    """Return the range that a refusal names, if the client can use it."""
    named = client.named_range(link, response)
    return named if named is not None and 0 <= named[0] <= min(named[1], refused - 1) else None


@fault(ModelClient.version_after_refusal, "KIP-511.client-uses-named-range")
def versions_are_walked_down_one_by_one(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Asks in the next older version, as rskafka does, although the broker names lower ones."""
    if _names_a_lower_version(client, link, refused, response):
        return refused - 1
    return decide(link, refused, response)


@fault(ModelClient.version_after_refusal, "KIP-511.client-uses-named-range")
def named_version_is_not_compared_with_the_refused_one(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Asks in the highest named version that it knows, even if that was just refused, as the Java client does."""
    named = client.named_range(link, response)
    if named is not None and named[0] <= refused <= named[1]:
        return refused
    return decide(link, refused, response)


@fault(ModelClient.version_after_refusal, "KIP-511.client-uses-named-range")
def second_refusal_begins_from_the_top(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Asks in its newest version again if the named one is refused as well."""
    if refused < NEWEST_VERSION and _names_a_lower_version(client, link, refused, response):
        return NEWEST_VERSION
    return decide(link, refused, response)


@fault(
    ModelClient.version_after_refusal,
    "KIP-511.client-uses-named-range",
    "KIP-97.new-client-old-broker",
)
def refused_version_is_repeated_after_authentication(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Asks in the refused version again on connections with SASL."""
    if link.is_authenticated and _names_a_lower_version(client, link, refused, response):
        return refused
    return decide(link, refused, response)


# KIP-511.client-uses-newest-named-version


@fault(ModelClient.named_range, "KIP-511.client-uses-newest-named-version")
def named_range_is_not_read(
    client: ModelClient, decide: NamedRange, link: Link, response: bytes
) -> Range | None:
    """Continues with v0 after every refusal, as clients did before KIP-511."""
    return None


@fault(ModelClient.version_after_refusal, "KIP-511.client-uses-newest-named-version")
def oldest_version_with_a_name_is_used(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Continues with v3 although the broker names v4."""
    version = decide(link, refused, response)
    return min(version, FIRST_FLEXIBLE_VERSION)


# KIP-511.client-ignores-table-of-35


def _taken_for_the_table(
    client: ModelClient, link: Link, version: int, response: bytes, *, is_so: bool
) -> bool:
    if not is_so or client.named_range(link, response) is None:
        return False
    refusal = client.decoded_response(link, version, client.body_of(link, version, response))
    return refusal.range_of(METADATA_KEY) is not None


@fault(ModelClient.error_code_of, "KIP-511.client-ignores-table-of-35")
def refusal_is_taken_for_the_table(
    client: ModelClient, decide: ErrorCodeOf, link: Link, version: int, response: bytes
) -> int:
    """Does not look at the error code of a refusal that lists Metadata, as aiokafka never does."""
    error_code = decide(link, version, response)
    is_refusal = error_code == ErrorCode.UNSUPPORTED_VERSION
    taken = _taken_for_the_table(client, link, version, response, is_so=is_refusal)
    return ErrorCode.NONE if taken else error_code


@fault(ModelClient.error_code_of, "KIP-511.client-ignores-table-of-35")
def refusal_of_a_node_is_taken_for_the_table(
    client: ModelClient, decide: ErrorCodeOf, link: Link, version: int, response: bytes
) -> int:
    """Does the same on connections to discovered nodes alone."""
    error_code = decide(link, version, response)
    is_refusal = error_code == ErrorCode.UNSUPPORTED_VERSION and link.node is not None
    taken = _taken_for_the_table(client, link, version, response, is_so=is_refusal)
    return ErrorCode.NONE if taken else error_code


@fault(ModelClient.decoded_response, "KIP-511.client-ignores-table-of-35")
def refusal_replaces_entries_of_the_table(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Uses the range of Metadata in a refusal instead of that in the table that comes after it."""
    response = decide(link, version, body)
    if response.error_code is ErrorCode.UNSUPPORTED_VERSION:
        client.notes[link.number] = response.range_of(METADATA_KEY)
    refused = client.notes.get(link.number)
    if response.error_code is not ErrorCode.NONE or refused is None:
        return response
    return dataclasses.replace(response, api_keys=(*response.api_keys, refused))


# KIP-511.client-errors-on-42


@fault(ModelClient.error_code_of, "KIP-511.client-errors-on-42")
def invalid_request_is_asked_again_without_end(
    client: ModelClient, decide: ErrorCodeOf, link: Link, version: int, response: bytes
) -> int:
    """Asks in v0 on the same connection after INVALID_REQUEST, again and again, as librdkafka does."""
    error_code = decide(link, version, response)
    while error_code == ErrorCode.INVALID_REQUEST:
        error_code = decide(link, 0, client.api_versions_response(link, 0))
    return error_code


@fault(ModelClient.raise_error, "KIP-511.client-errors-on-42")
def invalid_request_is_asked_again_once(
    client: ModelClient, decide: RaiseError, link: Link, error_code: int
) -> None:
    """Tries v0 once on the same connection before it reports INVALID_REQUEST."""
    if error_code == ErrorCode.INVALID_REQUEST:
        client.api_versions_response(link, 0)
    decide(link, error_code)


@fault(ModelClient.raise_error, "KIP-511.client-errors-on-42")
def invalid_request_is_overlooked(
    client: ModelClient, decide: RaiseError, link: Link, error_code: int
) -> None:
    """Goes on after INVALID_REQUEST, and sends Metadata v0."""
    if error_code == ErrorCode.INVALID_REQUEST:
        client.metadata_in(link, 0)
    decide(link, error_code)


@fault(ModelClient.raise_error, "KIP-511.client-errors-on-42")
def invalid_request_after_authentication_is_overlooked(
    client: ModelClient, decide: RaiseError, link: Link, error_code: int
) -> None:
    """Goes on after INVALID_REQUEST on a connection with SASL, because authentication has succeeded."""
    if error_code == ErrorCode.INVALID_REQUEST and link.is_authenticated:
        client.metadata_in(link, 0)
    decide(link, error_code)


# KIP-511.client-named-under-sasl


@fault(ModelClient.table_to_keep, "KIP-511.client-named-under-sasl")
def versions_are_not_asked_for_after_authentication(
    client: ModelClient, decide: Callable[[Link], Mapping[int, Range] | None], link: Link
) -> Mapping[int, Range] | None:
    """Keeps the table from before authentication, for which it asked without its name."""
    return link.table


@fault(
    ModelClient.first_version,
    "KIP-511.client-named-under-sasl",
    "KIP-511.client-begins-with-newest",
)
def first_version_after_authentication_is_0(
    client: ModelClient, decide: Callable[[Link], int], link: Link
) -> int:
    """Asks in v0 after authentication as well."""
    return 0 if link.is_authenticated else decide(link)


# KIP-511.client-name-valid


@fault(ModelClient.software, "KIP-511.client-name-valid")
def software_name_has_a_space(client: ModelClient, decide: Software, link: Link) -> tuple[str, str]:
    """Introduces itself by a name with a space, as a console did."""
    return "Conformance Model", SOFTWARE_VERSION


@fault(ModelClient.software, "KIP-511.client-name-valid", "KIP-511.client-names-itself-truly")
def software_version_is_in_parentheses(
    client: ModelClient, decide: Software, link: Link
) -> tuple[str, str]:
    """Sends "(devel)" as its version, as sarama did in builds without a release."""
    return SOFTWARE_NAME, "(devel)"


@fault(ModelClient.software, "KIP-511.client-name-valid", "KIP-511.client-names-itself-truly")
def software_version_is_empty_for_nodes(
    client: ModelClient, decide: Software, link: Link
) -> tuple[str, str]:
    """Sends an empty version on connections to discovered nodes."""
    return SOFTWARE_NAME, SOFTWARE_VERSION if link.node is None else ""


# KIP-511.client-names-itself-truly


@fault(ModelClient.software, "KIP-511.client-names-itself-truly")
def nodes_are_told_another_name(
    client: ModelClient, decide: Software, link: Link
) -> tuple[str, str]:
    """Introduces itself by another name on connections to discovered nodes."""
    name, version = decide(link)
    return name if link.node is None else f"{name}-node", version


@fault(ModelClient.software, "KIP-511.client-names-itself-truly")
def version_of_another_build_is_named(
    client: ModelClient, decide: Software, link: Link
) -> tuple[str, str]:
    """Sends a version that was written into its code once, and has not changed since."""
    return SOFTWARE_NAME, "0.9-beta"


# KIP-511.client-reads-fixed-header


def _after_flexible_header(response: bytes) -> bytes:
    _, end = decode_prefix(ResponseHeader, response, version=1)
    return response[end:]


@fault(
    ModelClient.body_of,
    "KIP-511.client-reads-fixed-header",
    "KIP-1242.older-broker-unaffected",
    "KIP-97.new-client-old-broker",
    "KIP-97.mixed-cluster",
)
def header_of_v3_is_read_as_flexible(
    client: ModelClient, decide: BodyOf, link: Link, version: int, response: bytes
) -> bytes:
    """Reads tagged fields before the body of ApiVersions v3, as other flexible responses have them."""
    return _after_flexible_header(response) if version == 3 else decide(link, version, response)


@fault(
    ModelClient.body_of,
    "KIP-511.client-reads-fixed-header",
    "KIP-1242.older-broker-unaffected",
    "KIP-97.new-client-old-broker",
    "KIP-97.mixed-cluster",
)
def header_of_v4_is_read_as_flexible(
    client: ModelClient, decide: BodyOf, link: Link, version: int, response: bytes
) -> bytes:
    """Reads tagged fields before the body of ApiVersions v4 alone."""
    return _after_flexible_header(response) if version == 4 else decide(link, version, response)


@fault(
    ModelClient.body_of,
    "KIP-511.client-reads-fixed-header",
    "KIP-1242.older-broker-unaffected",
    "KIP-97.new-client-old-broker",
    "KIP-97.mixed-cluster",
)
def header_of_older_versions_is_read_as_flexible_for_nodes(
    client: ModelClient, decide: BodyOf, link: Link, version: int, response: bytes
) -> bytes:
    """Reads tagged fields before the body of ApiVersions v3 and v4 on connections to discovered nodes."""
    is_misread = link.node is not None and version in (3, 4)
    return _after_flexible_header(response) if is_misread else decide(link, version, response)


@fault(ModelClient.patience_ms, "KIP-511.client-reads-fixed-header")
def slow_responses_are_given_up(
    client: ModelClient, decide: Callable[[Link], int], link: Link
) -> int:
    """Waits less than half a second for a response, though it may come in slow pieces."""
    return min(decide(link), LEAST_PATIENCE_MS)


# KIP-511.client-begins-with-newest


@fault(ModelClient.first_version, "KIP-511.client-begins-with-newest")
def bootstrap_begins_with_an_older_version(
    client: ModelClient, decide: Callable[[Link], int], link: Link
) -> int:
    """Begins with the version before the newest one on its first connection."""
    return decide(link) if link.number else NEWEST_VERSION - 1
