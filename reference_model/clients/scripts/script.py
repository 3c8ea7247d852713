"""Script of what a scripted broker does.

It has the response to each ApiVersions request, on each connection, of each node.

A script is data. Hypothesis draws it, a run stores its `repr` with a failure, and `replay` reads it back. Everything
that a script does not mention is healthy: the broker then behaves like a correct one that supports every version.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Literal

from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import NEWEST_RELEASE, oldest_versions, profile_of
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION
from wire.error_codes import ErrorCode

Range = tuple[int, int, int]
"""An entry of a table: API key, lowest and highest version."""
TRANSACTIONS = "transactions"
"""The option of a client that does transactions. With it scripted brokers serve them, and have every topic."""
CLUSTER_ID = "scripted-cluster-00000"
"""The cluster id that a scripted broker reports unless its script names another."""
ERROR_AFTER_MS = 250
"""How long a scripted broker waits with an error that ends the use of a connection.

A client may send requests without waiting for responses. What it sent with the request that gets the error has come
by then, so what comes later is a reaction to the error."""
LoginRefusal = Literal["", "mechanism", "password", "close"]
"""How a broker refuses to authenticate a client; empty if it does not. See `ConnectionScript`."""


@functools.cache
def healthy_ranges() -> tuple[Range, ...]:
    """Return the table of a healthy scripted broker, by key.

    It lists the APIs of the newest release, each from the lowest version that any release has supported. So every
    client since 0.10.0 shares a version with it.
    """
    lowest = oldest_versions()
    return tuple(
        (entry.api_key, lowest[entry.api_key], entry.max_version)
        for entry in sorted(profile_of(NEWEST_RELEASE).api_keys, key=attrgetter("api_key"))
    )


def base_ranges(base: str) -> tuple[Range, ...]:
    """Return the entries of a table's base, by key; see `Table.base`."""
    if base == "healthy":
        return healthy_ranges()
    if base == "itself":
        return tuple(entry for entry in healthy_ranges() if entry[0] == API_VERSIONS_KEY)
    if base == "empty":
        return ()
    return tuple((entry.api_key, entry.min_version, entry.max_version) for entry in profile_of(base).api_keys)


class _ShortRepr:
    """Leaves out of `repr` what has its default value; the result can still be evaluated."""

    def __repr__(self) -> str:
        arguments = (
            # The repr of an error code is for readers and cannot be evaluated.
            f"{field.name}={int(value) if isinstance(value, ErrorCode) else value!r}"
            for field in fields(self)  # type: ignore[arg-type]
            if (value := getattr(self, field.name)) != field.default
        )
        return f"{type(self).__name__}({', '.join(arguments)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Table(_ShortRepr):
    """The table of an ApiVersions response.

    Attributes:
        base: "healthy": the entries of `healthy_ranges`; "itself": only that of ApiVersions; "empty": none; otherwise
            the release whose recorded table it is, such as "2.8.2".
        changed: entries that replace the base's entry of the same key, or are added in the order of the keys.
        removed: keys whose entries are left out.
        before: further entries before all others, also of keys that are there already.
        after: further entries after all others.
        descending: whether the entries are written from the highest key to the lowest.
        null: whether a null array is written instead of the entries.
        claimed_count: the count that is written, if it is not the number of entries; -1 is that of a null array.
        count_bytes: bytes that are written instead of the count, in flexible versions.
    """

    base: str = "healthy"
    changed: tuple[Range, ...] = ()
    removed: tuple[int, ...] = ()
    before: tuple[Range, ...] = ()
    after: tuple[Range, ...] = ()
    descending: bool = False
    null: bool = False
    claimed_count: int | None = None
    count_bytes: bytes | None = None

    @property
    def entries(self) -> tuple[Range, ...]:
        """The entries in the order in which they are written; none for a null table."""
        if self.null:
            return ()
        ranges = {entry[0]: entry for entry in base_ranges(self.base)}
        ranges.update((entry[0], entry) for entry in self.changed)
        ordered = sorted((ranges[key] for key in ranges.keys() - set(self.removed)), reverse=self.descending)
        return (*self.before, *ordered, *self.after)

    @property
    def is_readable(self) -> bool:
        """Whether the array is well-formed: not null, as long as its count says, and with a count in its usual form."""
        is_counted = self.claimed_count in (None, len(self.entries)) and self.count_bytes is None
        return not self.null and is_counted

    def ranges_of(self, api_key: int) -> tuple[tuple[int, int], ...]:
        """Return the range of each entry for an API, in their order."""
        return tuple((low, high) for key, low, high in self.entries if key == api_key)


HEALTHY = Table()
ITSELF = Table(base="itself")
EMPTY = Table(base="empty")


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer(_ShortRepr):
    """What a scripted broker does with one ApiVersions request.

    Attributes:
        action: "answer"; "close" or "reset" the connection instead; "silence": nothing comes any more, not even for
            later requests, and the connection stays open.
        error_code: the error code of the response.
        table: its table.
        layout: the version in whose layout the body is written; None for that of the request. A version that does not
            exist is written as the nearest one that does.
        throttle_time_ms: the throttle time, in versions that have it.
        supported_features: name, lowest and highest level of each supported feature, in versions that have them. As
            correct brokers do, version 3 leaves out features with the lowest level 0.
        finalized_features: name, highest and lowest level of each finalized feature.
        finalized_features_epoch: their epoch; -1 leaves it out.
        unknown_tags: tag and bytes of tagged fields that no client knows, in flexible versions.
        tag_section: bytes that are written instead of the tag section, in flexible versions; for answers without
            features and tagged fields.
        flexible_header: whether the response header is v1, that is, has a tag section. Every correct one is v0.
        correlation_shift: added to the request's correlation id.
        body: bytes that are written instead of the body.
        cut_to: after how many bytes the body ends, inside a frame of the right size; None for all of it.
        trailing: bytes after the body, inside the frame.
        raw: bytes that are written instead of the frame, such as those of another protocol.
        appended: bytes that are written after the frame, of which its size says nothing.
        claimed_size: the size prefix, if it is not the right one.
        pieces: into how many pieces the frame is cut; each is a write of its own.
        delay_ms: the wait before each piece.
        then: what happens to the connection after the response: "stay", "close" or "reset".
        from_version: the first version of ApiVersions that is answered so; an older one gets a healthy answer.
        copies: how many times the frame is sent.
        held_back: whether the response is sent only after that to the next request on the connection.
    """

    action: Literal["answer", "close", "reset", "silence"] = "answer"
    error_code: int = 0
    table: Table = HEALTHY
    layout: int | None = None
    throttle_time_ms: int = 0
    supported_features: tuple[tuple[str, int, int], ...] = ()
    finalized_features: tuple[tuple[str, int, int], ...] = ()
    finalized_features_epoch: int = -1
    unknown_tags: tuple[tuple[int, bytes], ...] = ()
    tag_section: bytes | None = None
    flexible_header: bool = False
    correlation_shift: int = 0
    body: bytes | None = None
    cut_to: int | None = None
    trailing: bytes = b""
    raw: bytes | None = None
    appended: bytes = b""
    claimed_size: int | None = None
    pieces: int = 1
    delay_ms: int = 0
    then: Literal["stay", "close", "reset"] = "stay"
    from_version: int = 0
    copies: int = 1
    held_back: bool = False

    @property
    def gives_table(self) -> bool:
        """Whether it is a success with a well-formed array, by which the broker serves from then on."""
        is_success = self.action == "answer" and self.error_code == ErrorCode.NONE
        return is_success and self.raw is None and self.table.is_readable


@dataclass(frozen=True, kw_only=True, repr=False)
class ConnectionScript(_ShortRepr):
    """What happens on one connection.

    Attributes:
        on_open: "serve"; "close": the connection is closed as soon as it is open; "silence": nothing is ever answered.
        newest_version: the newest version of ApiVersions that the broker supports: at most the one with the header v3
            of KIP-1313, a proposal. It refuses a higher one as a correct broker does: UNSUPPORTED_VERSION in the layout
            of v0, with its range of ApiVersions. Such a request gets none of the `answers`.
        refusal: what a version above the newest one gets instead; None for the refusal of a correct broker.
        unasked: a response in the layout of v0, with correlation id 0, that is sent before any request; None for none.
        answers: what is done with the first other ApiVersions request, the second and so on; the last one repeats.
        refused_login: what becomes of SASL: empty if every token is accepted; "mechanism": SaslHandshake gets
            UNSUPPORTED_SASL_MECHANISM; "password": SaslAuthenticate gets SASL_AUTHENTICATION_FAILED; "close": the token
            gets no response. The connection is closed then, as it is in any case after a bare token.
        closes_after: after how many responses to other requests the broker closes the connection; None for never.
        metadata_error: the error code of Metadata responses from version 13 on, which then name no broker and no
            cluster.
        cluster_id: the cluster id in Metadata responses on this connection.
        node_ids: the ids that the nodes have on this connection, by index; empty for those of `node_id`. Metadata names
            the nodes so, and a request with the ids of KIP-1242 gets REBOOTSTRAP_REQUIRED unless they are those of the
            cluster and of this node.
    """

    on_open: Literal["serve", "close", "silence"] = "serve"
    newest_version: int = NEWEST_VERSION
    refusal: Answer | None = None
    unasked: Answer | None = None
    answers: tuple[Answer, ...] = (Answer(),)
    refused_login: LoginRefusal = ""
    closes_after: int | None = None
    metadata_error: int = 0
    cluster_id: str = CLUSTER_ID
    node_ids: tuple[int, ...] = ()

    def answer(self, number: int) -> Answer:
        """Return what is done with an ApiVersions request, counted from 0 on the connection."""
        return self.answers[min(number, len(self.answers) - 1)]

    def id_of(self, node: int) -> int:
        """Return the id that a node has on this connection, given its index in the script."""
        return self.node_ids[node] if self.node_ids else node_id(node)


@dataclass(frozen=True, kw_only=True, repr=False)
class NodeScript(_ShortRepr):
    """What one broker of the cluster does.

    Attributes:
        connections: what happens on the first connection to it, the second and so on; the last one repeats.
        is_listed: whether Metadata lists it; a bootstrap server that it does not list may be the address of a load
            balancer.
    """

    connections: tuple[ConnectionScript, ...] = (ConnectionScript(),)
    is_listed: bool = True

    def connection(self, number: int) -> ConnectionScript:
        """Return what happens on a connection to this node, counted from 0."""
        return self.connections[min(number, len(self.connections) - 1)]


@dataclass(frozen=True, kw_only=True, repr=False)
class Script(_ShortRepr):
    """What a scripted cluster does, and how the client is driven meanwhile.

    Attributes:
        nodes: its brokers. The first one is the bootstrap server; node ids count from 1, and Metadata lists all nodes
            that are `is_listed`.
        heals_after_ms: this time after the client's first connection every node is healthy, on the same ports;
            connections that are open then stay as they are, later ones are healthy. None for never.
        heals_after_connections: how many connections to a node must have been opened before it is healthy as well, so
            that a slow client meets it as it was.
        ends_after: after how many responses to requests other than ApiVersions the play ends, if the client does not
            end before; None if it goes on until the client ends.
        listener: the security of the connections: a name of `reference_model.profiles.listeners`.
        timeout_ms: how long the client may work on its operation.
        keeps_asking: whether the client repeats its operation until the time is over, instead of ending after the
            first.
        options: names of the client's options that it is started with, such as "without_cluster_check".
    """

    nodes: tuple[NodeScript, ...] = (NodeScript(),)
    heals_after_ms: int | None = None
    heals_after_connections: int = 0
    ends_after: int | None = None
    listener: str = PLAINTEXT
    timeout_ms: int = 2000
    keeps_asking: bool = False
    options: tuple[str, ...] = ()

    @property
    def answers(self) -> Iterable[Answer]:
        """Every answer that the script mentions."""
        return (
            answer
            for node in self.nodes
            for connection in node.connections
            for answer in (connection.refusal, *connection.answers)
            if answer is not None
        )


HEALTHY_SCRIPT = Script(timeout_ms=8000)
"""The script of a healthy cluster of one node: a client that fails under it cannot be judged."""


def one_node(*answers: Answer, **others: object) -> Script:
    """Return a script of one node that treats all connections alike; `others` are further attributes of the script."""
    return all_connections(ConnectionScript(answers=answers or (Answer(),)), **others)


def all_connections(*connections: ConnectionScript, **others: object) -> Script:
    """Return a script of one node.

    Args:
        connections: what happens on its first connection, the second and so on; the last one repeats.
        others: further attributes of the script.
    """
    return Script(nodes=(NodeScript(connections=connections),), **others)  # type: ignore[arg-type]


def node_id(node: int) -> int:
    """Return the node id of a node, given its index in the script."""
    return node + 1
