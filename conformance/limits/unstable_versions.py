"""Versions that a release calls unstable, and `unstable.api.versions.enable`.

The message schemas of a release mark the newest version of an API whose layout may still change. Without the setting
it is neither listed nor served; with it, both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from conformance.assertions.clause_ids import UNSTABLE_VERSIONS_HIDDEN
from conformance.limits.asking import AskedBroker, LimitProblem, ask_for_versions, table_in
from fixtures.client.own_connection import Reply
from strategies.minimal_requests import minimal_request
from wire.fields import versions
from wire.header_versions import Schema
from wire.message_schemas import Api, ApiCatalogue

SETTING = "unstable.api.versions.enable"
FIRST_RELEASE = "3.5"


class UnstableVersion(NamedTuple):
    """A version of an API that a release calls unstable."""

    api: Api
    version: int


def unstable_versions(schemas: Iterable[Schema]) -> list[UnstableVersion]:
    """Return the versions of APIs of brokers that the schemas of a release mark, in the order of keys."""
    schemas = list(schemas)
    marked = {
        schema["apiKey"]: versions(schema["validVersions"]).last
        for schema in schemas
        if schema.get("latestVersionUnstable") and "broker" in schema.get("listeners", ())
    }
    apis = ApiCatalogue([schemas])
    found = ((apis.find(key, version), version) for key, version in sorted(marked.items()) if version is not None)
    return [UnstableVersion(api, version) for api, version in found if api is not None]


def unstable_problems(
    broker: AskedBroker, unstable: Iterable[UnstableVersion], *, is_enabled: bool
) -> list[LimitProblem]:
    """Return what a listener does wrong with unstable versions.

    Args:
        broker: the plaintext listener.
        unstable: the versions that its release calls unstable.
        is_enabled: whether it has the setting.
    """
    return list(_problems(broker, unstable, is_enabled))


def _problems(broker: AskedBroker, unstable: Iterable[UnstableVersion], is_enabled: bool) -> Iterator[LimitProblem]:
    reply, payload = ask_for_versions(broker.open())
    table = table_in(reply, payload)
    if table is None:
        yield LimitProblem(UNSTABLE_VERSIONS_HIDDEN, f"ApiVersions v0: {reply}, instead of a table", payload)
        return
    setting = f"{'with' if is_enabled else 'without'} {SETTING}"
    for api, version in unstable:
        name = f"{api.name} v{version}"
        entry = table.range_of(api.api_key)
        is_listed = entry is not None and entry.min_version <= version <= entry.max_version
        if is_listed != is_enabled:
            what = "is listed" if is_listed else "is not listed"
            yield LimitProblem(UNSTABLE_VERSIONS_HIDDEN, f"{name} {what} {setting}", payload)
        connection = broker.open()
        served, response = connection.ask(minimal_request(api, version))
        connection.close()
        if (served is Reply.ANSWERED) != is_enabled:
            yield LimitProblem(UNSTABLE_VERSIONS_HIDDEN, f"{name} {setting}: {served}", response)
