"""Cluster of scripted brokers without sockets or a clock.

Bytes of a client go in, bytes and closes come out, and everything is recorded.

Whoever carries the bytes, sockets or a simulation, says what time it is, and obeys each `Write` of a connection in
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reference_model.clients.scripts.recording import (
    MAX_BYTES,
    MAX_CONNECTIONS,
    MAX_REQUESTS,
    Recording,
    SeenConnection,
)
from reference_model.clients.scripts.script import TRANSACTIONS, ConnectionScript, Script
from reference_model.clients.scripts.scripted_connection import (
    Address,
    Answered,
    ScriptedConnection,
    Write,
)
from reference_model.profiles.listeners import SASL_LISTENERS
from wire.api_keys import FETCH_KEY, JOIN_GROUP_KEY, METADATA_KEY

__all__ = [
    "Address",
    "ScriptedCluster",
    "ScriptedConnection",
    "Write",
]

MAX_ON_ONE_CONNECTION = 20
"""ApiVersions requests on one connection. Clients that retry in good order stayed far below, those that loop sent
thousands."""
MAX_IN_ALL = 200
"""ApiVersions requests of a client over all connections. More end the play soon, so no rule may allow more."""
MAX_OPEN = 1_000
"""How many connections may be open at a time. Each takes an open file, and the memory of an unfinished request."""
LOOP_IS_MEASURED_MS = 1000
"""How long a loop of ApiVersions requests goes on before the play ends, so that its rate is known."""
RECOVERY_IS_SEEN_MS = 300
"""How long after Metadata on a healthy connection the play goes on, so that the client can report its success."""
HEALTHY_CONNECTION = ConnectionScript()
SHOW_USE = frozenset({METADATA_KEY, FETCH_KEY, JOIN_GROUP_KEY})
"""APIs whose answer shows that a client uses the cluster."""


class ScriptedCluster:
    """The brokers of one script, and what they have seen so far.

    Attributes:
        script: what the brokers do.
        addresses: the address of each node of the script, in the same order.
        used_ms: when the client first got an answer that shows that it uses the cluster; None if it never did.
    """

    def __init__(self, script: Script, addresses: Sequence[Address]) -> None:
        self.script = script
        self.addresses = tuple(addresses)
        self._listed = {
            node: address
            for node, (address, each) in enumerate(zip(self.addresses, script.nodes, strict=False))
            if each.is_listed
        }
        self._unserved: dict[tuple[int, int], None] = {}
        self._all_requests = 0
        self._api_versions_requests = 0
        self._seen: list[Answered] = []
        self._recorded_bytes = 0
        self._connections: list[ScriptedConnection] = []
        self._on_node: Counter[int] = Counter()
        self._all_connections = 0
        self._open = self._most_open = 0
        self._healed_ms: int | None = None
        self._responses = 0
        self._loops_since_ms: int | None = None
        self._recovered_ms: int | None = None
        self.used_ms: int | None = None

    def connect(self, node: int, now_ms: int) -> ScriptedConnection:
        """Accept a connection to a node, given by its index in the script."""
        if self.script.heals_after_ms is not None and not self._all_connections:
            self._healed_ms = now_ms + self.script.heals_after_ms
        is_healthy = (
            self._healed_ms is not None
            and now_ms >= self._healed_ms
            and self._on_node[node] >= self.script.heals_after_connections
        )
        script = self.script.nodes[node].connection(self._on_node[node])
        self._on_node[node] += 1
        connection = ScriptedConnection(
            HEALTHY_CONNECTION if is_healthy else script,
            SeenConnection(number=self._all_connections, node=node, opened_ms=now_ms, is_healthy=is_healthy),
            addresses=self._listed,
            needs_sasl=self.script.listener in SASL_LISTENERS,
            serves_transactions=TRANSACTIONS in self.script.options,
            see=self._see,
            closed=self._closed,
        )
        self._all_connections += 1
        self._open += 1
        self._most_open = max(self._open, self._most_open)
        if len(self._connections) < MAX_CONNECTIONS:
            self._connections.append(connection)
        return connection

    def enough(self, now_ms: int) -> str:
        """Return why the play may end now; empty if it must go on."""
        if self._loops_since_ms is not None and now_ms - self._loops_since_ms > LOOP_IS_MEASURED_MS:
            return "the client asks for ApiVersions in a loop"
        if self._most_open > MAX_OPEN:
            return f"the client keeps more than {MAX_OPEN:,} connections open"
        if self._recovered_ms is not None and now_ms - self._recovered_ms > RECOVERY_IS_SEEN_MS:
            return "the client has recovered"
        if self.script.ends_after is not None and self._responses >= self.script.ends_after:
            return "the client got enough responses"
        return ""

    @property
    def has_open_connections(self) -> bool:
        """Whether a recorded connection is open."""
        return any(connection.seen.closed_ms is None for connection in self._connections)

    def recording(self, *, duration_ms: int, cut_short: str = "") -> Recording:
        """Return what was seen."""
        return Recording(
            script=self.script,
            connections=tuple(each.seen_until(duration_ms) for each in self._connections),
            requests=tuple(each.seen_until(duration_ms) for each in self._seen),
            all_connections=self._all_connections,
            all_requests=self._all_requests,
            api_versions_requests=self._api_versions_requests,
            duration_ms=duration_ms,
            cut_short=cut_short,
            unserved=tuple(self._unserved),
        )

    def _closed(self) -> None:
        self._open -= 1

    def _see(self, answered: Answered) -> None:
        """Record a request, and note what ends the play."""
        request, connection = answered.request, answered.connection
        self._all_requests += 1
        if answered.is_unknown:
            self._unserved.setdefault((request.api_key, request.api_version))
        # A request without its connection says too little about what the client knew.
        has_room = len(self._seen) < MAX_REQUESTS and self._recorded_bytes < MAX_BYTES
        if has_room and request.connection < MAX_CONNECTIONS:
            self._seen.append(answered)
            self._recorded_bytes += len(request.data)
        if request.is_about_versions:
            self._api_versions_requests += 1
            is_loop = (
                connection.seen.api_versions_requests > MAX_ON_ONE_CONNECTION
                or self._api_versions_requests > MAX_IN_ALL
            )
            if is_loop and self._loops_since_ms is None:
                self._loops_since_ms = request.at_ms
        elif request.is_served:
            self._responses += 1
            if request.api_key in SHOW_USE and self.used_ms is None:
                self.used_ms = request.at_ms
        recovers = connection.seen.is_healthy and request.api_key == METADATA_KEY
        if recovers and request.is_served and self._recovered_ms is None:
            self._recovered_ms = request.at_ms
