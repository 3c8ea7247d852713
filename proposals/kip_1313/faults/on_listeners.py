"""Planted faults that show only on SASL listeners or controller listeners."""

from __future__ import annotations

from uuid import UUID

from proposals.kip_1313.broker import InstanceIdBroker
from proposals.kip_1313.faults.registry import (
    CLIENT_ID,
    CONSTANT,
    DISCOVERY,
    EVERY_API,
    FIRST_ID,
    LAYOUT,
    OLD_HEADERS,
    fault,
)
from reference_model.profiles.listeners import CONTROLLER_LISTENERS, SASL_LISTENERS
from wire.api_keys import API_VERSIONS_KEY, DESCRIBE_CLUSTER_KEY, SASL_AUTHENTICATE_KEY
from wire.api_versions import ApiVersion
from wire.headers import InstanceIdHeader, RequestHeader, RequestStart


class _OnSasl(InstanceIdBroker):
    """Has its fault on listeners with SASL."""

    @property
    def is_faulty(self) -> bool:
        return self.reference.profile.listener in SASL_LISTENERS


class _OnController(InstanceIdBroker):
    """Has its fault on the listeners of a controller."""

    @property
    def is_faulty(self) -> bool:
        return self.reference.profile.listener in CONTROLLER_LISTENERS


@fault(FIRST_ID)
class AcceptsTheZeroIdBeforeAuthentication(_OnSasl):
    """It looks at the id of a first request only on listeners without authentication."""

    def accepts_first_id(self, given: UUID, api_key: int) -> bool:
        return self.is_faulty or super().accepts_first_id(given, api_key)


@fault(FIRST_ID)
class ControllerAcceptsTheZeroId(_OnController):
    """Its controller looks at no id of a first request."""

    def accepts_first_id(self, given: UUID, api_key: int) -> bool:
        return self.is_faulty or super().accepts_first_id(given, api_key)


@fault(FIRST_ID)
class ControllerAcceptsTheZeroIdInDescribeCluster(_OnController):
    """Its controller looks at the first id of ApiVersions alone."""

    def accepts_first_id(self, given: UUID, api_key: int) -> bool:
        is_exempt = self.is_faulty and api_key == DESCRIBE_CLUSTER_KEY
        return is_exempt or super().accepts_first_id(given, api_key)


@fault(CONSTANT)
class ForgetsTheIdOfTheLogin(_OnSasl):
    """It takes any id after authentication, as if another connection began."""

    def accepts_later_id(self, first: UUID, given: UUID, api_key: int) -> bool:
        is_login = api_key in (API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY)
        is_forgotten = self.is_faulty and not is_login
        return is_forgotten or super().accepts_later_id(first, given, api_key)


@fault(CONSTANT)
class NeedsNoIdAfterTheLogin(_OnSasl):
    """After authentication with an id it serves requests with an older header."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        is_login = start.api_key == SASL_AUTHENTICATE_KEY
        return (self.is_faulty and not is_login) or super().accepts_no_id(first, start)


@fault(CONSTANT)
class ControllerAcceptsAnyLaterId(_OnController):
    """Its controller checks the id of the first request alone."""

    def accepts_later_id(self, first: UUID, given: UUID, api_key: int) -> bool:
        return self.is_faulty or super().accepts_later_id(first, given, api_key)


@fault(CONSTANT)
class ControllerServesOlderHeadersAtAnyTime(_OnController):
    """Its controller serves requests without an id on a connection that has one."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        return self.is_faulty or super().accepts_no_id(first, start)


@fault(OLD_HEADERS)
class ControllerRefusesAVersionOfToday(_OnController):
    """Its controller takes ApiVersions v4 for a request that needs an id."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        is_refused = self.is_faulty and start[:2] == (API_VERSIONS_KEY, 4)
        return super().accepts_no_id(first, start) and not is_refused


@fault(LAYOUT)
class AuthenticatorClosesOnTagsInTheHeader(_OnSasl):
    """It reads no tagged field of header v3 on listeners with SASL."""

    def can_read(self, header: InstanceIdHeader) -> bool:
        return not (self.is_faulty and header.unknown_tagged_fields)


@fault(LAYOUT)
class ControllerClosesOnTagsInTheHeader(_OnController):
    """Its controller reads no tagged field of header v3."""

    def can_read(self, header: InstanceIdHeader) -> bool:
        return not (self.is_faulty and header.unknown_tagged_fields)


@fault(EVERY_API)
class ControllerForgetsDescribeCluster(_OnController):
    """Its controller has no version of DescribeCluster with header v3."""

    def listed(self, entry: ApiVersion) -> ApiVersion:
        is_forgotten = self.is_faulty and entry.api_key == DESCRIBE_CLUSTER_KEY
        return entry if is_forgotten else super().listed(entry)


@fault(DISCOVERY)
class AuthenticatorClosesOnUnknownVersions(_OnSasl):
    """It closes on any unknown version on listeners with SASL."""

    def refusal_of_version(self, request: bytes) -> bytes:
        return b"" if self.is_faulty else super().refusal_of_version(request)


@fault(CLIENT_ID)
class ForgetsTheClientIdOfTheLogin(_OnSasl):
    """Requests after authentication have no client id."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        if self.is_faulty:
            return None
        return super().client_id_of(first, header, has_id=has_id)
