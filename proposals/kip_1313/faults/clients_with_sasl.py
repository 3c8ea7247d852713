"""Planted faults of KIP-1313 clients: SASL, and requests that lack the id.

KIP-1313 is a proposal. The faults on SASL break clauses that apply only to a client with SASL.
"""

from __future__ import annotations

import dataclasses
from uuid import UUID, uuid4

from proposals.kip_1313.client import InstanceIdClient
from proposals.kip_1313.messages import (
    CONSUMER_GROUP_HEARTBEAT_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS,
    SHARE_GROUP_HEARTBEAT_KEY,
)
from reference_model.clients.model.client_connections import CLIENT_ID, Link
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.codec import encode
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader, RequestHeader

LAYOUT = "KIP-1313.header-v3-layout"
SAME = "KIP-1313.id-same-on-all-connections"
ONLY_FIRST = "KIP-1313.client-id-only-first"
MEMBER = "KIP-1313.member-id-aligned"
ACCESSOR = "KIP-1313.instance-id-from-constructor"
TELEMETRY = "KIP-1313.telemetry-old-and-new"


def _is_new_token(header: RequestHeader, version: int) -> bool:
    return header.request_api_key == SASL_AUTHENTICATE_KEY and version == 3


# Its id under SASL


@fault(SAME, MEMBER)
class EachAuthenticationHasAnId(InstanceIdClient):
    """Makes an id for each connection that authenticates, but the first one."""

    def instance_id_for(self, link: Link) -> UUID:
        if not link.is_authenticated or link.number == 0:
            return super().instance_id_for(link)
        made: UUID = self.notes.setdefault(link.number, uuid4())
        return made


class _TokenWithAnotherId(InstanceIdClient):
    """Has another id in SaslAuthenticate."""

    def id_of_token(self) -> UUID:
        raise NotImplementedError

    def completed(self, link: Link, header: RequestHeader) -> InstanceIdHeader:
        completed = super().completed(link, header)
        if header.request_api_key != SASL_AUTHENTICATE_KEY:
            return completed
        return dataclasses.replace(completed, client_instance_id=self.id_of_token())


@fault(SAME)
class TokenHasTheZeroId(_TokenWithAnotherId):
    """Leaves the id of SaslAuthenticate zero."""

    def id_of_token(self) -> UUID:
        return NO_INSTANCE_ID


@fault(SAME)
class TokenHasAnIdOfItsOwn(_TokenWithAnotherId):
    """Makes an id for each token."""

    def id_of_token(self) -> UUID:
        return uuid4()


@fault(LAYOUT)
class TokenHasTheHeaderOfToday(InstanceIdClient):
    """Sends the new version of SaslAuthenticate with header v2."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        return super().header_bytes(header, 2 if _is_new_token(header, version) else version)


@fault(LAYOUT)
class TokenHasNoTagsInItsHeader(InstanceIdClient):
    """Leaves the tagged fields out of the header of SaslAuthenticate."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        written = super().header_bytes(header, version)
        return written[:-1] if _is_new_token(header, version) else written


@fault(LAYOUT)
class TokenHasItsIdTwice(InstanceIdClient):
    """Writes the id of SaslAuthenticate before and after the tagged fields."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        written = super().header_bytes(header, version)
        return written + self.instance_id.bytes if _is_new_token(header, version) else written


# Its client id under SASL


@fault(ONLY_FIRST)
class TokenRepeatsTheClientId(InstanceIdClient):
    """Sends the client id again with SaslAuthenticate in the new version."""

    def completed(self, link: Link, header: RequestHeader) -> InstanceIdHeader:
        completed = super().completed(link, header)
        is_token = header.request_api_key == SASL_AUTHENTICATE_KEY
        return dataclasses.replace(completed, client_id=CLIENT_ID) if is_token else completed


@fault(ONLY_FIRST)
class HandshakeHasNoClientId(InstanceIdClient):
    """Leaves the client id out of SaslHandshake, which has an older header."""

    def completed(self, link: Link, header: RequestHeader) -> InstanceIdHeader:
        completed = super().completed(link, header)
        is_step = header.request_api_key == SASL_HANDSHAKE_KEY
        return dataclasses.replace(completed, client_id=None) if is_step else completed


@fault(ONLY_FIRST)
class ClientIdComesAgainAfterAuthentication(InstanceIdClient):
    """Takes the first request after authentication for the first one of its connection."""

    def client_id_for(self, link: Link, header_version: int) -> str | None:
        if link.is_authenticated and self.credentials and self.notes.get("named") != link.number:
            self.notes["named"] = link.number
            return CLIENT_ID
        return super().client_id_for(link, header_version)


# Its other ids under SASL


@fault(MEMBER)
class MemberIdIsThatOfTheLogin(InstanceIdClient):
    """Is a member of groups under an id that it makes for its user."""

    def member_id(self, link: Link) -> str:
        made: str = self.notes.setdefault("member", str(uuid4()))
        return made if self.credentials else super().member_id(link)


@fault(TELEMETRY)
class LeavesItsIdToOldBrokersWithSasl(InstanceIdClient):
    """Has older brokers make the id of its telemetry if it authenticates."""

    def telemetry_body(self, link: Link, version: int) -> bytes:
        if version > 0 or not self.credentials:
            return super().telemetry_body(link, version)
        return encode(GET_TELEMETRY_SUBSCRIPTIONS.request(), version=0)


@fault(ACCESSOR)
class ApplicationWaitsForTheLogin(InstanceIdClient):
    """Has no id for the application before it is authenticated."""

    def reported_id(self) -> UUID | None:
        return super().reported_id() if self.cluster.nodes or not self.credentials else None


@fault(MEMBER)
class MemberIdOfAStreamsGroupIsAnotherOne(InstanceIdClient):
    """Makes an id of its own for the streams group."""

    def streams_member_id(self, link: Link) -> str:
        made: str = self.notes.setdefault("streams member", str(uuid4()))
        return made


@fault(MEMBER)
class MemberIdOfAStreamsGroupIsEmpty(InstanceIdClient):
    """Lets the coordinator make the id of a member of a streams group."""

    def streams_member_id(self, link: Link) -> str:
        return ""


@fault(MEMBER)
class MemberIdOfAStreamsGroupIsCutOff(InstanceIdClient):
    """Keeps the first half of the id for the streams group."""

    def streams_member_id(self, link: Link) -> str:
        return super().streams_member_id(link)[:18]


# Requests that lack the id although their connection began with one


class _OldVersionOfOneApi(InstanceIdClient):
    """Speaks a version of today of one API with every broker."""

    without_id: tuple[int, int]

    def version_of(self, link: Link, api_key: int) -> int:
        version = super().version_of(link, api_key)
        old_key, old_version = self.without_id
        return min(version, old_version) if api_key == old_key else version


@fault(SAME)
class MetadataHasNoId(_OldVersionOfOneApi):
    """Knows no new version of Metadata, on a connection that begins with an id."""

    without_id = METADATA_KEY, 13


@fault(SAME)
class HeartbeatsHaveNoId(_OldVersionOfOneApi):
    """Knows no new version of ConsumerGroupHeartbeat, on a connection that begins with an id."""

    without_id = CONSUMER_GROUP_HEARTBEAT_KEY, 1


@fault(SAME)
class HeartbeatsOfAShareGroupHaveNoId(_OldVersionOfOneApi):
    """Knows no new version of ShareGroupHeartbeat, on a connection that begins with an id."""

    without_id = SHARE_GROUP_HEARTBEAT_KEY, 1
