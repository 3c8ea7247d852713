"""Faults against the clauses of KIP-1313, a proposal."""

from __future__ import annotations

from uuid import UUID, uuid4

from proposals.kip_1313.client import InstanceIdClient
from proposals.kip_1313.faults.clients_with_sasl import ACCESSOR, LAYOUT, MEMBER, ONLY_FIRST, SAME, TELEMETRY
from proposals.kip_1313.messages import (
    CONSUMER_GROUP_HEARTBEAT_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
)
from reference_model.clients.model.client_connections import CLIENT_ID, Link
from reference_model.faults.clients.registry import FAULTS as FAULTS
from reference_model.faults.clients.registry import fault
from wire.api_keys import GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.codec import encode
from wire.header_versions import INSTANCE_ID_REQUEST_HEADER
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader, RequestHeader

SHARED_ID = UUID(int=0xC0FFEE)


def _is_new(version: int) -> bool:
    return version == INSTANCE_ID_REQUEST_HEADER


def _is_new_heartbeat(header: RequestHeader, version: int) -> bool:
    return header.request_api_key == CONSUMER_GROUP_HEARTBEAT_KEY and _is_new(version)


@fault(LAYOUT)
class IdIsLeftOutOfOneApi(InstanceIdClient):
    """Sends heartbeats in the new version with the header of today."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        return super().header_bytes(header, 2 if _is_new_heartbeat(header, version) else version)


@fault(LAYOUT)
class TagsOfTheHeaderAreLeftOut(InstanceIdClient):
    """Takes header v3 of heartbeats for one without tagged fields."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        written = super().header_bytes(header, version)
        return written[:-1] if _is_new_heartbeat(header, version) else written


@fault(LAYOUT)
class IdComesTwice(InstanceIdClient):
    """Writes the id of heartbeats before and after the tagged fields."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        written = super().header_bytes(header, version)
        assert isinstance(header, InstanceIdHeader)
        again = header.client_instance_id.bytes
        return written + again if _is_new_heartbeat(header, version) else written


@fault(SAME, MEMBER)
class IdIsZero(InstanceIdClient):
    """Has no id, and sends zeros."""

    def instance_id_for(self, link: Link) -> UUID:
        return NO_INSTANCE_ID


@fault(SAME, MEMBER)
class IdChangesOnAConnection(InstanceIdClient):
    """Makes an id for each request."""

    def instance_id_for(self, link: Link) -> UUID:
        return uuid4()


@fault(SAME, MEMBER, TELEMETRY)
class EachConnectionHasAnId(InstanceIdClient):
    """Makes an id for each connection but the first one."""

    def instance_id_for(self, link: Link) -> UUID:
        if link.number == 0:
            return super().instance_id_for(link)
        made: UUID = self.notes.setdefault(link.number, uuid4())
        return made


@fault(SAME, MEMBER)
class IdIsNewAfterARebootstrap(InstanceIdClient):
    """Makes an id when it bootstraps, also when it does so again."""

    def instance_id_for(self, link: Link) -> UUID:
        if link.node is None:
            self.notes["bootstraps"] = self.notes.get("bootstraps", 0) + (link.number not in self.notes)
            self.notes[link.number] = True
        again = self.notes.get("bootstraps", 1) > 1
        made: UUID = self.notes.setdefault("id", uuid4())
        return made if again else super().instance_id_for(link)


@fault(SAME, MEMBER, TELEMETRY, ACCESSOR)
class AllClientsShareAnId(InstanceIdClient):
    """Has an id that was written into the program."""

    def instance_id_for(self, link: Link) -> UUID:
        return SHARED_ID


@fault(ONLY_FIRST)
class ClientIdWaitsForTheNewHeader(InstanceIdClient):
    """Sends the client id again in the first request with header v3, if an older one came before."""

    def client_id_for(self, link: Link, header_version: int) -> str | None:
        if not _is_new(header_version) or self.notes.get("named") == link.number:
            return super().client_id_for(link, header_version)
        self.notes["named"] = link.number
        return CLIENT_ID


@fault(ONLY_FIRST)
class OlderHeadersHaveNoClientId(InstanceIdClient):
    """Sends the client id in a connection's first request alone, also to brokers of today."""

    def client_id_for(self, link: Link, header_version: int) -> str | None:
        return CLIENT_ID if link.last_correlation_id == 0 else None


@fault(ONLY_FIRST)
class FirstRequestHasNoClientId(InstanceIdClient):
    """Leaves the client id out of ApiVersions with header v3, because no broker needs it there."""

    def client_id_for(self, link: Link, header_version: int) -> str | None:
        is_first = link.last_correlation_id == 0 and _is_new(header_version)
        return None if is_first else super().client_id_for(link, header_version)


@fault(MEMBER)
class MemberIdIsAnotherOne(InstanceIdClient):
    """Makes an id of its own for the group."""

    def member_id(self, link: Link) -> str:
        made: str = self.notes.setdefault("member", str(uuid4()))
        return made


@fault(MEMBER)
class MemberIdOfAShareGroupIsAnotherOne(InstanceIdClient):
    """Makes an id of its own for the share group."""

    def share_member_id(self, link: Link) -> str:
        made: str = self.notes.setdefault("share member", uuid4().hex)
        return made


class _OtherTelemetryId(InstanceIdClient):
    """Has another id for the telemetry of brokers of today."""

    def old_id(self, link: Link) -> UUID:
        raise NotImplementedError

    def telemetry_body(self, link: Link, version: int) -> bytes:
        if version > 0:
            return super().telemetry_body(link, version)
        request = GET_TELEMETRY_SUBSCRIPTIONS.request(client_instance_id=self.old_id(link))
        return encode(request, version=0)


@fault(TELEMETRY)
class OldBrokerMakesTheId(_OtherTelemetryId):
    """Sends a broker of today the zero id, as clients of today do."""

    def old_id(self, link: Link) -> UUID:
        return NO_INSTANCE_ID


@fault(TELEMETRY)
class EachBrokerGetsAnotherTelemetryId(_OtherTelemetryId):
    """Makes an id for the telemetry of each connection."""

    def old_id(self, link: Link) -> UUID:
        made: UUID = self.notes.setdefault(("telemetry", link.number), uuid4())
        return made


@fault(TELEMETRY)
class OldBrokersGetAnotherIdThanNewOnes(_OtherTelemetryId):
    """Keeps a second id, for the telemetry of brokers of today."""

    def old_id(self, link: Link) -> UUID:
        made: UUID = self.notes.setdefault("old brokers", uuid4())
        return made


@fault(TELEMETRY)
class MetricsHaveAnotherId(InstanceIdClient):
    """Pushes metrics to brokers of today under another id than it asked for subscriptions with."""

    def push_body(self, link: Link, version: int) -> bytes:
        made: UUID = self.notes.setdefault("metrics", uuid4())
        request = PUSH_TELEMETRY.request(client_instance_id=made)
        return encode(request, version=version) if version == 0 else super().push_body(link, version)


@fault(TELEMETRY, SAME)
class NewBrokersGetOldTelemetry(InstanceIdClient):
    """Uses GetTelemetrySubscriptions v0 with every broker."""

    def version_of(self, link: Link, api_key: int) -> int:
        return 0 if api_key == GET_TELEMETRY_SUBSCRIPTIONS_KEY else super().version_of(link, api_key)


@fault(TELEMETRY, LAYOUT)
class NewBrokerGetsTheIdTwice(InstanceIdClient):
    """Keeps the id in the body of the new version."""

    def telemetry_body(self, link: Link, version: int) -> bytes:
        request = GET_TELEMETRY_SUBSCRIPTIONS.request(client_instance_id=self.instance_id)
        return encode(request, version=0)


@fault(ACCESSOR)
class ApplicationGetsAnotherId(InstanceIdClient):
    """Keeps one id for the application and one for the headers."""

    def reported_id(self) -> UUID | None:
        made: UUID = self.notes.setdefault("reported", uuid4())
        return made


@fault(ACCESSOR)
class ApplicationGetsANewIdEachTime(InstanceIdClient):
    """Makes an id whenever the application asks for it."""

    def reported_id(self) -> UUID | None:
        return uuid4()


@fault(ACCESSOR)
class ApplicationWaitsForABroker(InstanceIdClient):
    """Has no id for the application before a broker responded, as telemetry had it before."""

    def reported_id(self) -> UUID | None:
        return super().reported_id() if self.cluster.nodes else None


@fault(ACCESSOR)
class ApplicationGetsZerosWithoutABroker(InstanceIdClient):
    """Gives the application the zero id before a broker responded."""

    def reported_id(self) -> UUID | None:
        return super().reported_id() if self.cluster.nodes else NO_INSTANCE_ID
