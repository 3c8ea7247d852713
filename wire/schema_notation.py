"""Short notation for message schemas that are written in this package, in the form of Kafka's JSON files."""

from __future__ import annotations

from collections.abc import Mapping

from wire.header_versions import HEADER_VERSIONS
from wire.message_schemas import Api, Schema


def field(name: str, type_: str, versions: str, *inner: Schema, **others: str) -> Schema:
    """Return a field of a schema.

    Args:
        name: its name.
        type_: its type, in Kafka's notation.
        versions: the versions that have it.
        inner: the fields of its elements.
        others: further keys; "nullable" stands for "nullableVersions".
    """
    nullable = others.pop("nullable", None)
    return {
        **{"name": name, "type": type_, "versions": versions, **others},
        **({} if nullable is None else {"nullableVersions": nullable}),
        **({"fields": list(inner)} if inner else {}),
    }


def api(
    name: str,
    key: int,
    valid: str,
    flexible: str,
    request: list[Schema],
    response: list[Schema],
    *,
    request_headers: Mapping[str, int] | None = None,
) -> Api:
    """Return an API.

    Args:
        name: its name.
        key: its key.
        valid: its versions, in Kafka's notation.
        flexible: those of them that are flexible.
        request: the fields of its requests.
        response: the fields of its responses.
        request_headers: the header version of its requests by version; None for today's rule.
    """
    stated = {} if request_headers is None else {HEADER_VERSIONS: as_stated(request_headers)}
    common = {"apiKey": key, "validVersions": valid, "flexibleVersions": flexible}
    return Api(
        request_schema={"name": f"{name}Request", **common, **stated, "fields": request},
        response_schema={"name": f"{name}Response", **common, "fields": response},
    )


def as_stated(header_versions: Mapping[str, int]) -> Mapping[str, str]:
    """Return header versions as KIP-1313 writes them, as strings."""
    return {key: str(value) for key, value in header_versions.items()}
