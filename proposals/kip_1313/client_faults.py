"""Faults against the clauses of KIP-1313, a proposal."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

from reference_model.clients.model.client_connections import CLIENT_ID, Link
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import FAULTS as FAULTS
from reference_model.faults.clients.registry import fault
from wire.api_keys import CONSUMER_GROUP_HEARTBEAT_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.codec import encode
from wire.headers import INSTANCE_ID_REQUEST_HEADER, NO_INSTANCE_ID, InstanceIdHeader
from wire.instance_id_messages import GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY

LAYOUT = "KIP-1313.header-v3-layout"
SAME = "KIP-1313.id-same-on-all-connections"
ONLY_FIRST = "KIP-1313.client-id-only-first"
MEMBER = "KIP-1313.member-id-aligned"
ACCESSOR = "KIP-1313.instance-id-from-constructor"
TELEMETRY = "KIP-1313.telemetry-old-and-new"
SHARED_ID = UUID(int=0xC0FFEE)

HeaderBytes = Callable[[InstanceIdHeader, int], bytes]
IdFor = Callable[[Link], UUID]
Body = Callable[[Link, int], bytes]
ReportedId = Callable[[], UUID | None]
ClientIdFor = Callable[[Link, int], str | None]


def _is_new(version: int) -> bool:
    return version == INSTANCE_ID_REQUEST_HEADER


@fault(ModelClient.header_bytes, LAYOUT)
def id_is_left_out_of_one_api(
    client: ModelClient, decide: HeaderBytes, header: InstanceIdHeader, version: int
) -> bytes:
    """Sends heartbeats in the new version with the header of today."""
    is_heartbeat = header.request_api_key == CONSUMER_GROUP_HEARTBEAT_KEY
    return decide(header, 2 if is_heartbeat and _is_new(version) else version)


@fault(ModelClient.header_bytes, LAYOUT)
def tags_of_the_header_are_left_out(
    client: ModelClient, decide: HeaderBytes, header: InstanceIdHeader, version: int
) -> bytes:
    """Takes header v3 of heartbeats for one without tagged fields."""
    is_heartbeat = header.request_api_key == CONSUMER_GROUP_HEARTBEAT_KEY
    written = decide(header, version)
    return written[:-1] if is_heartbeat and _is_new(version) else written


@fault(ModelClient.header_bytes, LAYOUT)
def id_comes_twice(
    client: ModelClient, decide: HeaderBytes, header: InstanceIdHeader, version: int
) -> bytes:
    """Writes the id of heartbeats before and after the tagged fields."""
    is_heartbeat = header.request_api_key == CONSUMER_GROUP_HEARTBEAT_KEY
    written = decide(header, version)
    again = header.client_instance_id.bytes
    return written + again if is_heartbeat and _is_new(version) else written


@fault(ModelClient.instance_id_for, SAME, MEMBER)
def id_is_zero(client: ModelClient, decide: IdFor, link: Link) -> UUID:
    """Has no id, and sends zeros."""
    return NO_INSTANCE_ID


@fault(ModelClient.instance_id_for, SAME, MEMBER)
def id_changes_on_a_connection(client: ModelClient, decide: IdFor, link: Link) -> UUID:
    """Makes an id for each request."""
    return uuid4()


@fault(ModelClient.instance_id_for, SAME, MEMBER, TELEMETRY)
def each_connection_has_an_id(client: ModelClient, decide: IdFor, link: Link) -> UUID:
    """Makes an id for each connection but the first one."""
    if link.number == 0:
        return decide(link)
    made: UUID = client.notes.setdefault(link.number, uuid4())
    return made


@fault(ModelClient.instance_id_for, SAME, MEMBER)
def id_is_new_after_a_rebootstrap(client: ModelClient, decide: IdFor, link: Link) -> UUID:
    """Makes an id when it bootstraps, also when it does so again."""
    if link.node is None:
        client.notes["bootstraps"] = client.notes.get("bootstraps", 0) + (
            link.number not in client.notes
        )
        client.notes[link.number] = True
    again = client.notes.get("bootstraps", 1) > 1
    made: UUID = client.notes.setdefault("id", uuid4())
    return made if again else decide(link)


@fault(ModelClient.instance_id_for, SAME, MEMBER, TELEMETRY, ACCESSOR)
def all_clients_share_an_id(client: ModelClient, decide: IdFor, link: Link) -> UUID:
    """Has an id that was written into the program."""
    return SHARED_ID


@fault(ModelClient.client_id_for, ONLY_FIRST)
def client_id_waits_for_the_new_header(
    client: ModelClient, decide: ClientIdFor, link: Link, header_version: int
) -> str | None:
    """Sends the client id again in the first request with header v3, if an older one came before."""
    if not _is_new(header_version) or client.notes.get("named") == link.number:
        return decide(link, header_version)
    client.notes["named"] = link.number
    return CLIENT_ID


@fault(ModelClient.client_id_for, ONLY_FIRST)
def older_headers_have_no_client_id(
    client: ModelClient, decide: ClientIdFor, link: Link, header_version: int
) -> str | None:
    """Sends the client id in a connection's first request alone, also to brokers of today."""
    return CLIENT_ID if link.last_correlation_id == 0 else None


@fault(ModelClient.client_id_for, ONLY_FIRST)
def first_request_has_no_client_id(
    client: ModelClient, decide: ClientIdFor, link: Link, header_version: int
) -> str | None:
    """Leaves the client id out of ApiVersions with header v3, because no broker needs it there."""
    is_first = link.last_correlation_id == 0 and _is_new(header_version)
    return None if is_first else decide(link, header_version)


@fault(ModelClient.member_id, MEMBER)
def member_id_is_another_one(client: ModelClient, decide: Callable[[Link], str], link: Link) -> str:
    """Makes an id of its own for the group."""
    made: str = client.notes.setdefault("member", str(uuid4()))
    return made


@fault(ModelClient.share_member_id, MEMBER)
def member_id_of_a_share_group_is_another_one(
    client: ModelClient, decide: Callable[[Link], str], link: Link
) -> str:
    """Makes an id of its own for the share group."""
    made: str = client.notes.setdefault("share member", uuid4().hex)
    return made


@fault(ModelClient.telemetry_body, TELEMETRY)
def old_broker_makes_the_id(client: ModelClient, decide: Body, link: Link, version: int) -> bytes:
    """Sends a broker of today the zero id, as clients of today do."""
    request = GET_TELEMETRY_SUBSCRIPTIONS.request()
    return encode(request, version=version) if version == 0 else decide(link, version)


@fault(ModelClient.telemetry_body, TELEMETRY)
def each_broker_gets_another_telemetry_id(
    client: ModelClient, decide: Body, link: Link, version: int
) -> bytes:
    """Makes an id for the telemetry of each connection."""
    made: UUID = client.notes.setdefault(("telemetry", link.number), uuid4())
    request = GET_TELEMETRY_SUBSCRIPTIONS.request(client_instance_id=made)
    return encode(request, version=version) if version == 0 else decide(link, version)


@fault(ModelClient.telemetry_body, TELEMETRY)
def old_brokers_get_another_id_than_new_ones(
    client: ModelClient, decide: Body, link: Link, version: int
) -> bytes:
    """Keeps a second id, for the telemetry of brokers of today."""
    made: UUID = client.notes.setdefault("old brokers", uuid4())
    request = GET_TELEMETRY_SUBSCRIPTIONS.request(client_instance_id=made)
    return encode(request, version=version) if version == 0 else decide(link, version)


@fault(ModelClient.push_body, TELEMETRY)
def metrics_have_another_id(client: ModelClient, decide: Body, link: Link, version: int) -> bytes:
    """Pushes metrics to brokers of today under another id than it asked for subscriptions with."""
    made: UUID = client.notes.setdefault("metrics", uuid4())
    request = PUSH_TELEMETRY.request(client_instance_id=made)
    return encode(request, version=version) if version == 0 else decide(link, version)


@fault(ModelClient.version_of, TELEMETRY)
def new_brokers_get_old_telemetry(
    client: ModelClient, decide: Callable[[Link, int], int], link: Link, api_key: int
) -> int:
    """Uses GetTelemetrySubscriptions v0 with every broker."""
    return 0 if api_key == GET_TELEMETRY_SUBSCRIPTIONS_KEY else decide(link, api_key)


@fault(ModelClient.telemetry_body, TELEMETRY, LAYOUT)
def new_broker_gets_the_id_twice(
    client: ModelClient, decide: Body, link: Link, version: int
) -> bytes:
    """Keeps the id in the body of the new version."""
    request = GET_TELEMETRY_SUBSCRIPTIONS.request(client_instance_id=client.instance_id)
    return encode(request, version=0)


@fault(ModelClient.reported_id, ACCESSOR)
def application_gets_another_id(client: ModelClient, decide: ReportedId) -> UUID | None:
    """Keeps one id for the application and one for the headers."""
    made: UUID = client.notes.setdefault("reported", uuid4())
    return made


@fault(ModelClient.reported_id, ACCESSOR)
def application_gets_a_new_id_each_time(client: ModelClient, decide: ReportedId) -> UUID | None:
    """Makes an id whenever the application asks for it."""
    return uuid4()


@fault(ModelClient.reported_id, ACCESSOR)
def application_waits_for_a_broker(client: ModelClient, decide: ReportedId) -> UUID | None:
    """Has no id for the application before a broker responded, as telemetry had it before."""
    return decide() if client.cluster.nodes else None


@fault(ModelClient.reported_id, ACCESSOR)
def application_gets_zeros_without_a_broker(client: ModelClient, decide: ReportedId) -> UUID | None:
    """Gives the application the zero id before a broker responded."""
    return decide() if client.cluster.nodes else NO_INSTANCE_ID
