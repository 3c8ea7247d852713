"""Every planted fault of clients has a description.

`kafka-conformance mutation` shows that each fault breaks its clauses and no others.
"""

from __future__ import annotations

import inspect
from unittest.mock import Mock

import pytest

from clauses.catalogue import Role, catalogue
from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.clients.model.network import HostPort, Network
from reference_model.faults.broker import DEFECTS
from reference_model.faults.clients import FAULTS, Fault
from reference_model.faults.clients.kip_035 import FIRST_UNKNOWN_KEY, TableEndsAtTheFirstUnknownKey
from wire.api_keys import API_VERSIONS_KEY, LIST_TRANSACTIONS_KEY, METADATA_KEY
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.error_codes import ErrorCode

each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)


@each_fault
def test_fault_says_what_it_does(fault: Fault) -> None:
    """A fault has its class's name, the first line of its docstring as its description, and overrides decisions."""
    assert FAULTS[fault.name] is fault
    assert fault.name.replace("-", "") == fault.model.__name__.lower()
    assert fault.description == (inspect.getdoc(fault.model) or "").splitlines()[0]
    assert fault.description.endswith(".")
    assert "\n" not in fault.description
    assert issubclass(fault.model, ModelClient)


@each_fault
def test_fault_breaks_clauses_of_clients(fault: Fault) -> None:
    """The clauses that a fault breaks are in the catalogue, are about clients, and are named once."""
    assert fault.breaks
    assert len(set(fault.breaks)) == len(fault.breaks)
    for clause in fault.breaks:
        assert Role.CLIENT in catalogue()[clause].roles


def test_names_do_not_clash() -> None:
    """A name stands for a fault or for a defect of the reference broker, never for both."""
    assert not FAULTS.keys() & DEFECTS.keys()


BOOTSTRAP = HostPort("127.0.0.1", 9092)


class KnowsMore(TableEndsAtTheFirstUnknownKey):
    """A client that uses one API more than the model."""

    known_keys = (*OWN_RANGES, LIST_TRANSACTIONS_KEY)


@pytest.mark.parametrize(
    ("client", "listed", "left"),
    [
        pytest.param(
            TableEndsAtTheFirstUnknownKey,
            [API_VERSIONS_KEY, LIST_TRANSACTIONS_KEY, METADATA_KEY],
            [API_VERSIONS_KEY, METADATA_KEY],
            id="only-known-keys",
        ),
        pytest.param(
            TableEndsAtTheFirstUnknownKey,
            [API_VERSIONS_KEY, FIRST_UNKNOWN_KEY, METADATA_KEY],
            [API_VERSIONS_KEY],
            id="a-later-key",
        ),
        pytest.param(
            TableEndsAtTheFirstUnknownKey,
            [API_VERSIONS_KEY, -1, METADATA_KEY],
            [API_VERSIONS_KEY],
            id="a-negative-key",
        ),
        pytest.param(TableEndsAtTheFirstUnknownKey, [], [], id="empty"),
        pytest.param(
            KnowsMore,
            [LIST_TRANSACTIONS_KEY, METADATA_KEY, FIRST_UNKNOWN_KEY, API_VERSIONS_KEY],
            [LIST_TRANSACTIONS_KEY, METADATA_KEY],
            id="a-client-that-knows-more",
        ),
    ],
)
def test_what_is_listed_before_an_unknown_key_is_kept(
    client: type[TableEndsAtTheFirstUnknownKey], listed: list[int], left: list[int]
) -> None:
    """Only entries after an unknown key are lost, and what a client knows is what that client says."""
    entries = tuple(ApiVersion(api_key=key, min_version=0, max_version=key + 2) for key in listed)
    response = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=entries)
    ranges = client(Mock(spec=Network), BOOTSTRAP).ranges_in(Mock(spec=Link), response)
    assert ranges == {key: (0, key + 2) for key in left}
