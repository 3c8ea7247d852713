"""Measured needs as JSON, whose schema is `needs_schema.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from reference_model.profiles.known_apis import Range
from reports.client_needs.needs import ApiNeeds, ClientNeeds, Edge, OperationNeeds, Probe, ProbeOutcome
from wire.foreign_json import read_foreign_json

SCHEMA = files("reports.client_needs") / "needs_schema.json"
MEASURED = files("reports.client_needs") / "measured.json"
"""What `kafka-conformance needs --format json` printed about the clients of the registry."""
VERSION = 1


class InvalidNeeds(Exception):
    """A text is not the output of `needs --format json`; the message says where."""


def as_json(measured: Sequence[ClientNeeds]) -> dict[str, Any]:
    """Return needs for `json.dumps`."""
    return {"version": VERSION, "clients": [_client(each) for each in measured]}


def _client(client: ClientNeeds) -> dict[str, Any]:
    return {
        "client": client.client,
        "name": client.name,
        "software_name": client.software_name,
        "software_version": client.software_version,
        "release": client.release,
        "measurements": client.measurements,
        "operations": [_operation(each) for each in client.operations],
        "hidden_needs": [
            {
                "operation": each.operation,
                "needs": each.what,
                "api_key": each.api_key,
                "api_version": each.version,
                "sends": list(each.used),
                "without": _probe(each.probe),
            }
            for each in client.hidden
        ],
    }


def _operation(operation: OperationNeeds) -> dict[str, Any]:
    return {
        "operation": operation.operation,
        "inconclusive": operation.inconclusive or None,
        "apis": [_api(each) for each in operation.apis],
        "unclear": [_probe(each) for each in operation.unclear],
    }


def _api(api: ApiNeeds) -> dict[str, Any]:
    return {
        "api_key": api.api_key,
        "api": api.name,
        "served": list(api.served),
        "uses": list(api.used),
        "highest_minimum": _edge(api.minimum),
        "lowest_maximum": _edge(api.maximum),
        "removed": _probe(api.removed),
    }


def _edge(edge: Edge | None) -> dict[str, Any] | None:
    if edge is None:
        return None
    failure = None if edge.failure is None else _probe(edge.failure)
    return {"api_version": edge.version, "beyond": failure, "is_monotone": edge.is_monotone}


def _probe(probe: Probe) -> dict[str, str]:
    return {"removed": probe.removed, "outcome": probe.outcome.value, "detail": probe.detail}


@cache
def measured_clients() -> tuple[ClientNeeds, ...]:
    """Return what was measured of the clients of the registry; a test checks that it follows its schema."""
    content = read_foreign_json(MEASURED.read_bytes())
    return tuple(map(_read_client, content["clients"]))


def read_needs(text: bytes, what: str) -> tuple[ClientNeeds, ...]:
    """Read what `as_json` returned.

    Args:
        text: the JSON.
        what: how an error names it.

    Raises:
        InvalidNeeds: it is none.
    """
    try:
        content = read_foreign_json(text)
    except ValueError as error:
        raise InvalidNeeds(f"{what} is no output of `kafka-conformance needs --format json`: {error}") from error
    # Only the extra `reports` has it.
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    schema = read_foreign_json(SCHEMA.read_bytes())
    for problem in Draft202012Validator(schema).iter_errors(content):
        raise InvalidNeeds(f"{what}: {problem.json_path}: {problem.message}")
    return tuple(map(_read_client, content["clients"]))


def _read_client(entry: Mapping[str, Any]) -> ClientNeeds:
    return ClientNeeds(
        client=entry["client"],
        name=entry["name"],
        software_name=entry["software_name"],
        software_version=entry["software_version"],
        release=entry["release"],
        operations=tuple(map(_read_operation, entry["operations"])),
        measurements=entry["measurements"],
    )


def _read_operation(entry: Mapping[str, Any]) -> OperationNeeds:
    return OperationNeeds(
        operation=entry["operation"],
        inconclusive=entry["inconclusive"] or "",
        apis=tuple(map(_read_api, entry["apis"])),
        unclear=tuple(map(_read_probe, entry["unclear"])),
    )


def _read_api(entry: Mapping[str, Any]) -> ApiNeeds:
    return ApiNeeds(
        api_key=entry["api_key"],
        served=Range(*entry["served"]),
        used=tuple(entry["uses"]),
        minimum=_read_edge(entry["highest_minimum"]),
        maximum=_read_edge(entry["lowest_maximum"]),
        removed=_read_probe(entry["removed"]),
    )


def _read_edge(entry: Mapping[str, Any] | None) -> Edge | None:
    if entry is None:
        return None
    failure = None if entry["beyond"] is None else _read_probe(entry["beyond"])
    return Edge(version=entry["api_version"], failure=failure, is_monotone=entry["is_monotone"])


def _read_probe(entry: Mapping[str, str]) -> Probe:
    return Probe(removed=entry["removed"], outcome=ProbeOutcome(entry["outcome"]), detail=entry["detail"])
