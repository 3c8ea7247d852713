"""The APIs that are requested of a target, and the form of the requests.

No request changes a broker that this suite did not start.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fixtures.artefacts.schema_jars import catalogue_of
from fixtures.under_test.broker import Broker
from strategies.minimal_requests import minimal_request, minimal_values
from wire.api_keys import SASL_HANDSHAKE_KEY
from wire.exchange import Request
from wire.message_schemas import Api
from wire.read_only import READ_ONLY

_AS_MINIMAL: Mapping[str, Any] = MappingProxyType({})


def is_skipped(broker: Broker, api_key: int) -> bool:
    """Return whether an API is not requested of this target.

    In a read-only run these are the APIs that are not on its list. On a broker that this suite did not start they are
    those that change what they name, and that have no request which names nothing.
    """
    if broker.target.is_read_only:
        # On an authenticated connection a handshake begins an authentication, which would then fail.
        begins_anew = api_key == SASL_HANDSHAKE_KEY and broker.asks_for_authentication
        return api_key not in READ_ONLY or begins_anew
    values = minimal_values()
    name = catalogue_of(broker.target).name_of(api_key)
    return _is_given(broker) and name in values.destructive and name not in values.nameless


def why_skipped(broker: Broker) -> str:
    """Return why the APIs that are skipped are not requested."""
    if broker.target.is_read_only:
        return "the run is read-only"
    return "this suite did not start the target"


def request_to(broker: Broker, api: Api, api_version: int, *, layout: int | None = None) -> Request:
    """Return the minimal request for one version of an API; one that names nothing if others started the target."""
    values = minimal_values().nameless.get(api.name, _AS_MINIMAL)
    values = values if _is_given(broker) else _AS_MINIMAL
    return minimal_request(api, api_version, layout=layout, values=values)


def _is_given(broker: Broker) -> bool:
    return broker.running.launcher == "address"
