"""There is one minimal request for each version of each API.

The requests come from a data file without superfluous entries.
"""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.artefacts.schema_jars import api_catalogue
from strategies.minimal_requests import minimal_body, minimal_request, minimal_values
from tests.described_apis import described_api
from wire.codec import decode, decode_prefix
from wire.errors import NotReadOnly
from wire.frames import SIZE_BYTES
from wire.headers import RequestHeader
from wire.message_schemas import Api
from wire.read_only import READ_ONLY, ReadOnlyGate

APIS = tuple(api_catalogue())
NAMES = {api.name for api in APIS}
each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: f"{api.name}-{api.valid_versions}")


@each_api
def test_every_version_has_a_request_that_reads(api: Api) -> None:
    """Each version of an API has a request whose header and body decode exactly in that version."""
    for version in api_catalogue().versions_of(api.api_key):
        if version not in api.valid_versions:
            continue
        payload = minimal_request(api, version).data[SIZE_BYTES:]
        header_version = api.request_header_version(version)
        header, body = decode_prefix(RequestHeader, payload, version=header_version)
        assert (header.request_api_key, header.request_api_version) == (api.api_key, version)
        decode(api.request, payload[body:], version=version)


def test_layout_may_be_that_of_another_version() -> None:
    """A request for a version without a schema uses the layout of a version that has one."""
    api = described_api(3, 0)
    asked, written = minimal_request(api, 99, layout=0).data, minimal_request(api, 0).data
    assert asked[6:8] == b"\0\x63"
    assert asked[:6] + b"\0\0" + asked[8:] == written


def test_data_file_names_apis_and_fields_that_exist() -> None:
    """Every API and every field in the data file is in a schema."""
    values = minimal_values()
    assert values.by_api.keys() | values.destructive.keys() | values.nameless.keys() <= NAMES
    top_level = {field.name for api in APIS for field in api.request.FIELDS}
    assert top_level >= values.everywhere.keys()
    for name, own in values.by_api.items():
        described = {f.name for api in APIS if api.name == name for f in api.request.FIELDS}
        assert described >= own.keys()


@pytest.mark.parametrize("name", minimal_values().nameless)
def test_nameless_request_of_a_destructive_api_names_nothing(name: str) -> None:
    """At its top level it has no list with an entry and no group; what has a switch to change nothing sets it."""
    values = minimal_values()
    assert name in values.destructive
    for api in (each for each in APIS if each.name == name):
        fields = {field.name for field in api.request.FIELDS}
        assert fields >= values.nameless[name].keys()
        for version in api_catalogue().versions_of(api.api_key):
            if version not in api.valid_versions:
                continue
            body = minimal_body(api, version, values=values.nameless[name])
            message = decode(api.request, body, version=version)
            given = [value for value in vars_of(message).values() if isinstance(value, tuple)]
            assert not any(given)
            assert getattr(message, "group_id", "") == ""
            switch = next((f for f in api.request.FIELDS if f.name == "validate_only"), None)
            assert switch is None or version not in switch.versions or message.validate_only


def vars_of(message: Any) -> dict[str, Any]:
    """Return the fields of a message by their names."""
    return {field.name: getattr(message, field.name) for field in message.FIELDS}


def test_apis_that_delete_or_remove_are_listed() -> None:
    """No API whose name suggests a destructive change is missing from the destructive ones."""
    words = ("Delete", "Remove", "Unregister", "Alter", "Shutdown", "Expire", "Stop")
    alarming = {name for name in NAMES if any(word in name for word in words)}
    assert alarming <= minimal_values().destructive.keys()


@each_api
def test_read_only_requests_pass_the_gate(api: Api) -> None:
    """The minimal requests of the APIs on the list of read-only runs pass its gate; those of all others do not."""
    for version in api_catalogue().versions_of(api.api_key):
        if version not in api.valid_versions:
            continue
        sent = minimal_request(api, version).data
        if api.api_key in READ_ONLY:
            ReadOnlyGate().check(sent)
        else:
            with pytest.raises(NotReadOnly):
                ReadOnlyGate().check(sent)


def test_list_of_read_only_apis_has_the_names_of_the_schemas() -> None:
    """Each has the name that Kafka gives its key, and none acts on what it names."""
    assert all(api_catalogue().name_of(key) == api.name for key, api in READ_ONLY.items())
    assert not {api.name for api in READ_ONLY.values()} & minimal_values().destructive.keys()


def test_nothing_is_asked_of_names_that_exist() -> None:
    """Groups, transactions, clusters and members in the data file have an unused name, or null."""
    absent = "kafka-conformance-absent"
    values = minimal_values()
    for table in (values.everywhere, *values.by_api.values()):
        for name in ("group_id", "transactional_id", "cluster_id", "member_id"):
            assert table.get(name, absent) in (absent, "null")
