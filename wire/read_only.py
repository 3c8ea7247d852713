"""What a read-only run may send: a list of APIs, and the gate that enforces it.

The gate checks every byte of a connection before it is written.

The list is about effects. An API is on it if its requests change nothing, whatever they name; a principal without any
ACL may send each of them, and is at worst refused. What clients send as a matter of course but leaves a trace is not on
it: FindCoordinator creates the internal topic of groups, InitProducerId takes a producer id, GetTelemetrySubscriptions
registers a client. Neither is DescribeDelegationToken, although it only reads: what authenticates as the owner of a
token is in its response.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from wire import api_keys
from wire.codec import decode, decode_prefix
from wire.described_messages import METADATA
from wire.errors import DecodeError, NotReadOnly
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, read_size
from wire.headers import RequestHeader, read_request_start

_START_BYTES = 4
"""API key and version, with which every request begins."""


class ReadOnlyApi(NamedTuple):
    """An API of the list.

    Attributes:
        name: its name in Kafka's schemas.
        reads: what its requests read.
    """

    name: str
    reads: str


READ_ONLY: Mapping[int, ReadOnlyApi] = MappingProxyType(
    {
        api_keys.FETCH_KEY: ReadOnlyApi("Fetch", "no record: the requests name no topic and begin no session"),
        api_keys.LIST_OFFSETS_KEY: ReadOnlyApi("ListOffsets", "no offset: the requests name no topic"),
        api_keys.METADATA_KEY: ReadOnlyApi(
            "Metadata",
            "the brokers of the cluster, in v0 also its topics; never with topics to create",
        ),
        api_keys.OFFSET_FETCH_KEY: ReadOnlyApi("OffsetFetch", "the offsets of a group that does not exist"),
        api_keys.DESCRIBE_GROUPS_KEY: ReadOnlyApi("DescribeGroups", "groups; none is named"),
        api_keys.LIST_GROUPS_KEY: ReadOnlyApi("ListGroups", "the names of groups"),
        api_keys.SASL_HANDSHAKE_KEY: ReadOnlyApi("SaslHandshake", "the mechanisms of a listener"),
        api_keys.API_VERSIONS_KEY: ReadOnlyApi("ApiVersions", "the table of versions, which the suite judges"),
        api_keys.OFFSET_FOR_LEADER_EPOCH_KEY: ReadOnlyApi("OffsetForLeaderEpoch", "ends of epochs; no topic is named"),
        api_keys.DESCRIBE_ACLS_KEY: ReadOnlyApi("DescribeAcls", "access rights"),
        api_keys.DESCRIBE_CONFIGS_KEY: ReadOnlyApi("DescribeConfigs", "settings; none is named"),
        api_keys.DESCRIBE_LOG_DIRS_KEY: ReadOnlyApi("DescribeLogDirs", "sizes of logs"),
        api_keys.LIST_PARTITION_REASSIGNMENTS_KEY: ReadOnlyApi(
            "ListPartitionReassignments", "replicas that are being moved"
        ),
        api_keys.DESCRIBE_CLIENT_QUOTAS_KEY: ReadOnlyApi("DescribeClientQuotas", "quotas"),
        api_keys.DESCRIBE_USER_SCRAM_CREDENTIALS_KEY: ReadOnlyApi(
            "DescribeUserScramCredentials", "which users have a SCRAM password"
        ),
        api_keys.DESCRIBE_QUORUM_KEY: ReadOnlyApi("DescribeQuorum", "the state of the controllers"),
        api_keys.DESCRIBE_CLUSTER_KEY: ReadOnlyApi("DescribeCluster", "the brokers or controllers of the cluster"),
        api_keys.DESCRIBE_PRODUCERS_KEY: ReadOnlyApi("DescribeProducers", "producers; no topic is named"),
        api_keys.DESCRIBE_TRANSACTIONS_KEY: ReadOnlyApi("DescribeTransactions", "transactions; none is named"),
        api_keys.LIST_TRANSACTIONS_KEY: ReadOnlyApi("ListTransactions", "the names of transactions"),
        api_keys.CONSUMER_GROUP_DESCRIBE_KEY: ReadOnlyApi("ConsumerGroupDescribe", "groups; none is named"),
        api_keys.LIST_CONFIG_RESOURCES_KEY: ReadOnlyApi("ListConfigResources", "the names of what has settings"),
        api_keys.DESCRIBE_TOPIC_PARTITIONS_KEY: ReadOnlyApi("DescribeTopicPartitions", "partitions of topics"),
        api_keys.SHARE_GROUP_DESCRIBE_KEY: ReadOnlyApi("ShareGroupDescribe", "groups; none is named"),
        api_keys.STREAMS_GROUP_DESCRIBE_KEY: ReadOnlyApi("StreamsGroupDescribe", "groups; none is named"),
        api_keys.DESCRIBE_SHARE_GROUP_OFFSETS_KEY: ReadOnlyApi(
            "DescribeShareGroupOffsets", "offsets of share groups; none is named"
        ),
    }
)
"""The positive list, by API key. A newer API is off it until somebody puts it on."""


class ReadOnlyGate:
    """Checks the bytes of one connection before they are written, in whatever pieces they come.

    Tokens of an authentication do not pass through it: who sends them answers for them.
    """

    def __init__(self) -> None:
        """Start at the beginning of a connection."""
        self._unchecked = bytearray()

    def check(self, data: bytes) -> None:
        """Take the next bytes, which may be written if this returns.

        A request is checked as soon as its first bytes tell what it is, and again when it is complete. After a refusal
        nothing more may be written to the connection, and every further call raises.

        Raises:
            NotReadOnly: they belong to a request that is not on the list, or to none.
        """
        self._unchecked += data
        while len(self._unchecked) >= SIZE_BYTES + _START_BYTES:
            size = read_size(self._unchecked)
            if not _START_BYTES <= size <= SOCKET_REQUEST_MAX_BYTES:
                raise NotReadOnly(f"a frame of {size} bytes, which is no request")
            payload = bytes(self._unchecked[SIZE_BYTES : SIZE_BYTES + size])
            _check_listed(payload)
            if len(payload) < size:
                return
            _check_body(payload)
            del self._unchecked[: SIZE_BYTES + size]


def _check_listed(payload: bytes) -> None:
    start = read_request_start(payload)
    if start.api_key not in READ_ONLY:
        raise NotReadOnly(f"version {start.api_version} of the API with key {start.api_key}")


def _check_body(payload: bytes) -> None:
    """Check that Metadata creates no topic: it names none, or says that none is to be created."""
    api_key, api_version, _ = read_request_start(payload)
    if api_key != api_keys.METADATA_KEY:
        return
    if api_version not in METADATA.valid_versions:
        raise NotReadOnly(f"Metadata v{api_version}, whose layout is not known")
    header_version = METADATA.request_header_version(api_version)
    try:
        _, start = decode_prefix(RequestHeader, payload, version=header_version)
        body: Any = decode(METADATA.request, payload[start:], version=api_version)
    except DecodeError as error:
        raise NotReadOnly(f"Metadata v{api_version} that cannot be read ({error})") from error
    if body.topics and body.allow_auto_topic_creation:
        raise NotReadOnly(f"Metadata v{api_version}, which may create the topics that it names")
