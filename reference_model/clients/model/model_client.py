"""Correct model of a Kafka client.

It asks each broker for its versions, then fetches metadata in a version that both support, and, if it has that option,
does a transaction.

Sans-IO: it uses connections and a clock only as `network.Network` provides them. Every decision is a method of its own,
of this class or of those below it (`transactions.py`, `authentication.py`, `negotiation.py`, `features.py`,
`client_connections.py`), so that a planted fault can replace exactly one.
"""

from __future__ import annotations

from proposals import provided
from reference_model.clients.model.client_connections import (
    REQUEST_TIMEOUT_MS,
    KnownBroker,
    KnownCluster,
    Link,
)
from reference_model.clients.model.client_errors import (
    ClientError,
    ConnectionLost,
    Nonsense,
    RebootstrapRequired,
    RequestRefused,
)
from reference_model.clients.model.negotiation import (
    REBOOTSTRAPS_AFTER_1_S,
    WITHOUT_REBOOTSTRAP,
)
from reference_model.clients.model.network import HostPort
from reference_model.clients.model.transactions import Transactions
from reference_model.clients.scripts.script import TRANSACTIONS
from wire.api_keys import METADATA_KEY
from wire.codec import encode
from wire.described_messages import METADATA
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.message_schemas import Api

FIRST_BACKOFF_MS = 100
MAX_BACKOFF_MS = 1000
REBOOTSTRAP_AFTER_MS = 1000
"""How long the client waits for metadata before it begins again, with the option for it."""


class ModelClient(Transactions):
    """A client with one bootstrap server that fetches metadata again and again, as its application asks.

    Attributes:
        metadata_api: the API by which it fetches metadata.
    """

    metadata_api: Api = METADATA

    _turn = 0
    _failures_in_a_row = 0

    def fetch_metadata(self, until_ms: int) -> str:
        """Fetch metadata from a node of the cluster; bootstrap first if none is known.

        Args:
            until_ms: until when a failure is followed by another attempt.

        Returns:
            what was found, in words.

        Raises:
            ClientError: it did not succeed in time.
        """
        self.until_ms = until_ms
        attempt, earlier = 0, None
        while True:
            try:
                return self.attempt()
            except ClientError as error:
                self.after_failure(error)
                pause = self.backoff_ms(error, attempt)
                if isinstance(error, ConnectionLost) and not self.left_ms and earlier is not None:
                    # The end of its time cut this attempt off, so the one before it says more.
                    raise earlier from error
                if isinstance(error, RequestRefused) or self.left_ms <= pause:
                    raise
                earlier = error
            attempt += 1
            self.network.wait(pause)

    def attempt(self) -> str:
        """Try once to fetch metadata, and to do a transaction if the client has that option."""
        if not self.cluster.nodes:
            self.cluster = self.metadata_from(self.link_to(None))
        node = self.next_node()
        self.cluster = self.metadata_from(self.link_to(node))
        self._failures_in_a_row = 0
        if TRANSACTIONS in self.options:
            return self.transact()
        return f"{len(self.cluster.nodes)} nodes of cluster {self.cluster.cluster_id}"

    def next_node(self) -> KnownBroker:
        """Return the node whose turn it is, beginning with the last one."""
        if not self.cluster.nodes:
            raise Nonsense("the metadata lists no node")
        self._turn += 1
        return self.cluster.nodes[-self._turn % len(self.cluster.nodes)]

    def metadata_from(self, link: Link) -> KnownCluster:
        """Fetch metadata on a connection; close it if that fails."""
        try:
            link.table = self.authenticated_table(link)
            version = self.version_of(link, METADATA_KEY)
            cluster = self.metadata_in(link, version)
            self.after_metadata(link)
            return cluster
        except DecodeError as error:
            self.close(link)
            raise Nonsense(f"Metadata: {error}") from error
        except ClientError:
            self.close(link)
            raise

    def metadata_in(self, link: Link, version: int) -> KnownCluster:
        """Fetch metadata on a connection in a version."""
        api = self.metadata_api
        request = api.request(topics=(), allow_auto_topic_creation=False)
        body = encode(request, version=version)
        header_version = api.request_header_version(version)
        response = self.exchange(link, METADATA_KEY, version, body, header_version)
        metadata = api.read_response(response, version)
        if metadata.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            raise RebootstrapRequired("Metadata got REBOOTSTRAP_REQUIRED")
        return KnownCluster(
            cluster_id=metadata.cluster_id,
            nodes=tuple(KnownBroker(each.node_id, HostPort(each.host, each.port)) for each in metadata.brokers),
        )

    def after_metadata(self, link: Link) -> None:
        """Do what a client does on a connection once it has metadata: one of today does nothing."""

    # What happens after a failure.

    def backoff_ms(self, error: ClientError, attempt: int) -> int:
        """Return the pause after a failed attempt, counted from 0."""
        return min(FIRST_BACKOFF_MS << attempt, MAX_BACKOFF_MS)

    def patience_ms(self, link: Link) -> int:
        """Return the longest wait for a response on a connection.

        A broker that sends no metadata in time cannot be used.
        """
        limit = REBOOTSTRAP_AFTER_MS if REBOOTSTRAPS_AFTER_1_S in self.options else REQUEST_TIMEOUT_MS
        return min(super().patience_ms(link), limit)

    def after_failure(self, error: ClientError) -> None:
        """Rebootstrap if the broker asks for it, or if no known node can be used."""
        self._failures_in_a_row += 1
        no_node_left = 0 < len(self.cluster.nodes) <= self._failures_in_a_row
        if isinstance(error, RebootstrapRequired) or no_node_left:
            self.rebootstrap()

    def rebootstrap(self) -> None:
        """Begin again at the bootstrap server, without anything that was known about the cluster."""
        if WITHOUT_REBOOTSTRAP in self.options:
            return
        for link in list(self.links.values()):
            self.close(link)
        self.cluster = KnownCluster()
        self._failures_in_a_row = 0


def client_class() -> type[ModelClient]:
    """Return the class of the model client: one that follows every proposal, if there are some."""
    following: tuple[type[ModelClient], ...] = tuple(provided("client")) or (ModelClient,)
    return following[0] if len(following) == 1 else type("ClientOfProposals", following, {})
