"""Faults against the clauses of KIP-511."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_model.clients.faults.registry import fault
from reference_model.clients.model_client import (
    OWN_RANGES,
    SOFTWARE_NAME,
    SOFTWARE_VERSION,
    ClientError,
    Link,
    ModelClient,
    Range,
    RequestRefused,
)
from wire.api_versions import ApiVersionsResponse
from wire.codec import decode_prefix
from wire.error_codes import ErrorCode
from wire.headers import CORRELATION_ID_BYTES, ResponseHeader

AfterRefusal = Callable[[Link, int, bytes], int]
ErrorCodeOf = Callable[[Link, int, bytes], int]
TableFor = Callable[[Link], Mapping[int, Range]]
Software = Callable[[Link], tuple[str, str]]
BodyOf = Callable[[Link, int, bytes], bytes]


# KIP-511.client-uses-named-range


@fault(ModelClient.version_after_refusal, "KIP-511.client-uses-named-range")
def named_range_is_ignored(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Asks in v0 after every refusal, as librdkafka does, even if the broker names a range without it."""
    return 0 if refused else decide(link, refused, response)


@fault(ModelClient.version_after_refusal, "KIP-511.client-uses-named-range")
def versions_are_walked_down_one_by_one(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Asks in the next older version after every refusal, as KafkaJS and rskafka do."""
    return refused - 1 if refused else decide(link, refused, response)


@fault(ModelClient.version_after_refusal, "KIP-511.client-uses-named-range")
def refused_version_is_asked_for_again(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Repeats the refused version for as long as the broker names it, as the Java client did."""
    named = client.named_range(link, response)
    if named is not None and named[0] <= refused <= named[1]:
        return refused
    return decide(link, refused, response)


# KIP-511.client-ignores-table-of-35


@fault(ModelClient.error_code_of, "KIP-511.client-ignores-table-of-35")
def refusal_is_taken_for_the_table(
    client: ModelClient, decide: ErrorCodeOf, link: Link, version: int, response: bytes
) -> int:
    """Does not look at the error code of a refusal, as aiokafka does, and uses its table of one entry."""
    error_code = decide(link, version, response)
    return ErrorCode.NONE if error_code == ErrorCode.UNSUPPORTED_VERSION else error_code


# KIP-511.client-errors-on-42


@fault(ModelClient.error_code_of, "KIP-511.client-errors-on-42")
def invalid_request_is_asked_again_in_v0(
    client: ModelClient, decide: ErrorCodeOf, link: Link, version: int, response: bytes
) -> int:
    """Asks again on the same connection after INVALID_REQUEST, without a pause, as librdkafka does."""
    error_code = decide(link, version, response)
    while error_code == ErrorCode.INVALID_REQUEST:
        response = client.api_versions_response(link, 0)
        error_code = decide(link, 0, response)
    return error_code


@fault(ModelClient.raise_error, "KIP-511.client-errors-on-42")
def invalid_request_is_overlooked(
    client: ModelClient, decide: Callable[[Link, int], None], link: Link, error_code: int
) -> None:
    """Goes on after INVALID_REQUEST as if the table were empty, and sends Metadata v0."""
    if error_code != ErrorCode.INVALID_REQUEST:
        decide(link, error_code)
        return
    link.table = dict.fromkeys(OWN_RANGES, (0, 0))
    client.metadata_from(link)


@fault(ModelClient.closes_after, "KIP-511.client-errors-on-42")
def connection_stays_open_after_invalid_request(
    client: ModelClient, decide: Callable[[ClientError], bool], error: ClientError
) -> bool:
    """Reports INVALID_REQUEST to the application, but keeps the connection and asks on it again."""
    return not isinstance(error, RequestRefused) and decide(error)


# KIP-511.client-name-valid


@fault(ModelClient.software, "KIP-511.client-name-valid")
def software_name_has_a_space(client: ModelClient, decide: Software, link: Link) -> tuple[str, str]:
    """Introduces itself by a name with a space, as a console did."""
    return "Conformance Model", SOFTWARE_VERSION


@fault(ModelClient.software, "KIP-511.client-name-valid")
def software_version_is_in_parentheses(
    client: ModelClient, decide: Software, link: Link
) -> tuple[str, str]:
    """Sends "(devel)" as its version, as sarama did in builds without a release."""
    return SOFTWARE_NAME, "(devel)"


@fault(ModelClient.software, "KIP-511.client-name-valid")
def software_version_is_empty_for_nodes(
    client: ModelClient, decide: Software, link: Link
) -> tuple[str, str]:
    """Sends no version on connections to nodes that it has discovered."""
    return SOFTWARE_NAME, SOFTWARE_VERSION if link.node is None else ""


# KIP-511.client-reads-fixed-header


def _after_flexible_header(response: bytes) -> bytes:
    _, end = decode_prefix(ResponseHeader, response, version=1)
    return response[end:]


@fault(ModelClient.body_of, "KIP-511.client-reads-fixed-header")
def header_of_v3_is_read_as_flexible(
    client: ModelClient, decide: BodyOf, link: Link, version: int, response: bytes
) -> bytes:
    """Reads tagged fields before the body of ApiVersions v3, as other flexible responses have them."""
    return _after_flexible_header(response) if version == 3 else decide(link, version, response)


@fault(ModelClient.body_of, "KIP-511.client-reads-fixed-header")
def header_of_v4_is_read_as_flexible(
    client: ModelClient, decide: BodyOf, link: Link, version: int, response: bytes
) -> bytes:
    """Reads tagged fields before the body of ApiVersions v4 alone."""
    return _after_flexible_header(response) if version == 4 else decide(link, version, response)


# KIP-511.client-begins-with-newest


@fault(ModelClient.first_version, "KIP-511.client-begins-with-newest")
def oldest_version_is_asked_first(
    client: ModelClient, decide: Callable[[Link], int], link: Link
) -> int:
    """Asks in v0 although it knows newer versions."""
    return 0


__all__ = ["CORRELATION_ID_BYTES", "ApiVersionsResponse"]
