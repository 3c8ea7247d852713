"""Planted faults: which client id counts for the requests of a connection."""

from __future__ import annotations

from proposals.kip_1313.broker import InstanceIdBroker
from proposals.kip_1313.faults.registry import CLIENT_ID, fault
from proposals.kip_1313.messages import OFFSET_DELETE_KEY
from wire.headers import RequestHeader


@fault(CLIENT_ID)
class ForgetsTheClientId(InstanceIdBroker):
    """Later requests have no client id at all."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        return None


@fault(CLIENT_ID)
class TakesTheClientIdOfSomeApis(InstanceIdBroker):
    """OffsetDelete keeps the client id of its own."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        if header.request_api_key == OFFSET_DELETE_KEY:
            return header.client_id
        return super().client_id_of(first, header, has_id=has_id)


@fault(CLIENT_ID)
class CutsOffTheClientId(InstanceIdBroker):
    """It keeps eight characters of the first client id."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        return (super().client_id_of(first, header, has_id=has_id) or "")[:8]


@fault(CLIENT_ID)
class TakesTheClientIdOfOlderHeaders(InstanceIdBroker):
    """It ignores the client id of later requests with header v3, and of no others."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        return super().client_id_of(first, header, has_id=has_id) if has_id else header.client_id


@fault(CLIENT_ID)
class TakesTheFirstHeaderWithAnIdForTheFirstRequest(InstanceIdBroker):
    """It keeps the client id of the first request with header v3."""

    def kept_client_id(self, given: str | None, *, has_id: bool) -> tuple[str | None] | None:
        return super().kept_client_id(given, has_id=has_id) if has_id else None


@fault(CLIENT_ID)
class WaitsForAClientId(InstanceIdBroker):
    """It keeps the first client id that is not null."""

    def kept_client_id(self, given: str | None, *, has_id: bool) -> tuple[str | None] | None:
        return None if given is None else super().kept_client_id(given, has_id=has_id)
