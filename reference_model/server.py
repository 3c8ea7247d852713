"""The reference broker on TCP ports, one for each listener: a thin shell around the state machine.

`kafka-conformance reference-broker` starts it. It prints a JSON object as its first line. It maps listener names to ports, and
"metrics" to the port of the metrics endpoint. The server exits when its standard input ends, so that it never
outlives the run that started it.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import functools
import json
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reference_model.client_software import ClientMetric, Counts
from reference_model.defects import DEFECTS
from reference_model.instance_ids import PROPOSALS, InstanceIdBroker, InstanceIdConnection
from reference_model.jolokia import serve_metrics
from reference_model.listeners import (
    CLIENT_AUTH_LISTENERS,
    CONTROLLER_LISTENERS,
    LISTENERS,
    PLAINTEXT,
    TLS_LISTENERS,
    USUAL_LISTENERS,
)
from reference_model.profile import KIP_TEXT, KRAFT, NEWEST_RELEASE, ZOOKEEPER, profile_of
from reference_model.sasl import CREDENTIALS, Authentication
from reference_model.state_machine import (
    MECHANISMS,
    BrokerConnection,
    ConnectionState,
    Identity,
    ReferenceBroker,
    Stage,
    Tampering,
    TlsOpening,
)
from reference_model.tls import TlsLayer, TlsRefused

CLUSTER_ID = "reference-cluster-0000"
NODE_ID = 1
METRICS = "metrics"
CANNOT_SERVE = 10
"""The exit status if a port is taken, for example."""
NO_CHECK_OF_TIME = ssl.VerifyFlags(0x200000)
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which `ssl` does not name."""
Contexts = Callable[[TlsOpening], ssl.SSLContext]
"""Returns the TLS context for a connection."""


@dataclass(slots=True, kw_only=True)
class _Listener:
    """One listener on a port.

    Attributes:
        broker: the broker that serves this listener.
        proposal: what serves it instead, if the broker follows a proposal.
        contexts: the TLS contexts; None for a listener without TLS.
        open_shells: the protocol objects of the open connections.
    """

    broker: ReferenceBroker
    proposal: InstanceIdBroker | None = None
    contexts: Contexts | None = None
    open_shells: dict[BrokerConnection | InstanceIdConnection, _Protocol] = field(
        default_factory=dict
    )

    def connect(self) -> BrokerConnection | InstanceIdConnection:
        """Open a new connection."""
        return self.broker.connect() if self.proposal is None else self.proposal.connect()

    def open_tls(self, first_bytes: bytes) -> TlsLayer:
        """Start TLS for a client, given its first bytes."""
        assert self.contexts is not None
        name = self.broker.profile.listener
        opening = TlsOpening(
            listener=name,
            first_bytes=first_bytes,
            open_connections=len(self.broker.connections),
            certificate_required=name in CLIENT_AUTH_LISTENERS,
        )
        self.broker.tamper(Stage.TLS, opening)
        return TlsLayer(opening, self.contexts(opening))


class _Protocol(asyncio.Protocol):
    """Carries bytes between one socket and one `BrokerConnection`."""

    def __init__(self, listener: _Listener) -> None:
        self._listener = listener
        self._connection = listener.connect()
        self._transport: asyncio.Transport | None = None
        self._tls: TlsLayer | None = None
        self._paused = False
        self._last_read_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._listener.open_shells[self._connection] = self
        self._last_read_at = asyncio.get_running_loop().time()

    def data_received(self, data: bytes) -> None:
        self._measure()
        try:
            self._connection.receive_data(self._without_tls(data))
        except TlsRefused:
            self._connection.drop()
        self._settle_all()

    def _settle_all(self) -> None:
        for shell in self._concerned():
            shell.settle()

    def _concerned(self) -> Sequence[_Protocol]:
        """Return the connections on which this one may have an effect: with a planted defect all, else only itself.

        A walk of all at each read would leave no time for others once many slow clients are connected.
        """
        if self._listener.broker.tampering is None:
            return (self,)
        return tuple(self._listener.open_shells.values())

    def _measure(self) -> None:
        """Tell the model how long this client was idle, and how much the clients have left unread."""
        now = asyncio.get_running_loop().time()
        idle_s, self._last_read_at = now - self._last_read_at, now
        if isinstance(self._connection, BrokerConnection):
            self._connection.idle_ms = int(idle_s * 1000)
        for shell in self._concerned():
            connection = shell._connection
            if isinstance(connection, BrokerConnection) and shell._transport is not None:
                connection.unwritten = shell._transport.get_write_buffer_size()

    def _without_tls(self, data: bytes) -> bytes:
        if self._listener.contexts is None:
            return data
        if self._tls is None:
            self._tls = self._listener.open_tls(data)
        return self._tls.receive_data(data)

    def eof_received(self) -> bool:
        self._connection.receive_eof()
        self.settle()
        # Bytes held back by a pause are sent after it; a planted defect may keep the connection open.
        return self._paused or self._connection.state is not ConnectionState.CLOSED

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.open_shells.pop(self._connection, None)
        if isinstance(self._connection, BrokerConnection) and isinstance(exc, ConnectionError):
            self._connection.receive_reset()
            self._settle_all()
        self._connection.drop()

    def settle(self) -> None:
        """Write pending bytes, and close the socket if the connection is closed."""
        if self._transport is None or self._transport.is_closing() or self._paused:
            return
        pause = self._connection.pause
        if pause is not None:
            self._paused = True
            loop = asyncio.get_running_loop()
            loop.call_later(pause.milliseconds / 1000, self._resume)
        if pause is None or not pause.before_answer:
            self._write(self._connection.data_to_send())
        if self._connection.state is ConnectionState.CLOSED:
            self._transport.close()

    def _resume(self) -> None:
        self._paused = False
        if self._transport is None or self._transport.is_closing():
            return
        self._write(self._connection.data_to_send())
        self._connection.resume()
        self.settle()

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        if self._tls is not None:
            if data:
                self._tls.encrypt(data)
            data = self._tls.data_to_send()
        if data:
            self._transport.write(data)


async def serve(listeners: Mapping[str, _Listener], *, host: str, ports: Mapping[str, int]) -> None:
    """Print the ports, then serve a broker until standard input ends.

    Args:
        listeners: the listeners by name.
        host: the address to listen on.
        ports: the port of a listener by its name, 0 for a free one; the others use free ports as well.
    """
    loop = asyncio.get_running_loop()
    servers: dict[str, asyncio.Server] = {}
    for name, listener in listeners.items():
        servers[name] = await loop.create_server(
            lambda listener=listener: _Protocol(listener),  # type: ignore[misc]
            host,
            ports.get(name, 0),
        )
        listener.broker.address = servers[name].sockets[0].getsockname()[:2]
    servers[METRICS] = await serve_metrics(lambda: _counts(listeners), host)
    bound = {name: server.sockets[0].getsockname()[1] for name, server in servers.items()}
    print(json.dumps(bound), flush=True)  # noqa: T201 - the launcher reads it
    try:
        await loop.run_in_executor(None, sys.stdin.read)
    finally:
        # No `async with`: since Python 3.12 its exit waits until the last client has closed.
        for server in servers.values():
            server.close()


def _counts(listeners: Mapping[str, _Listener]) -> Counts:
    metric = ClientMetric()
    for listener in listeners.values():
        metric.counts |= listener.broker.counts()
        metric.unused += listener.broker.unused_gauges()
    listeners[PLAINTEXT].broker.tamper(Stage.METRIC, metric)
    return metric.counts


def _contexts(options: argparse.Namespace) -> Contexts:
    @functools.cache
    def context_of(required: bool, foreign: bool, expired: bool) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=options.tls_authority)
        context.load_cert_chain(options.tls_certificate, options.tls_key)
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_NONE
        if foreign:
            context.load_verify_locations(options.tls_foreign_authority)
        if expired:
            context.verify_flags |= NO_CHECK_OF_TIME
        return context

    return lambda opening: context_of(
        opening.certificate_required, opening.accepts_foreign, opening.accepts_expired
    )


def write_to(path: Path, entry: dict[str, Any]) -> None:
    """Append an entry to a file, as Kafka writes its request log."""
    with path.open("a") as log:
        log.write(f"Completed request:{json.dumps(entry)}\n")


def broker_for_listener(
    listener: str,
    *,
    release: str,
    quorum: str = KRAFT,
    tampering: Tampering | None = None,
    log: Callable[[dict[str, Any]], None] | None = None,
) -> ReferenceBroker:
    """Return the reference broker for one listener."""
    return ReferenceBroker(
        profile=profile_of(release, quorum=quorum, listener=listener, follows=KIP_TEXT),
        identity=Identity(cluster_id=CLUSTER_ID, node_id=NODE_ID),
        tampering=tampering,
        authentication=Authentication(credentials=CREDENTIALS, mechanisms=MECHANISMS),
        log=log,
    )


def listeners_of(options: argparse.Namespace) -> dict[str, _Listener]:
    """Return the listeners selected by the command line options."""
    contexts = _contexts(options) if options.tls_certificate else None
    wanted = {*USUAL_LISTENERS, *dict(options.listener_port)}
    names = [
        name
        for name in LISTENERS
        if name in wanted
        and (contexts is not None or name not in TLS_LISTENERS)
        and (options.quorum == KRAFT or name not in CONTROLLER_LISTENERS)
    ]
    log = options.request_log
    brokers = {
        name: broker_for_listener(
            name,
            release=options.release,
            quorum=options.quorum,
            tampering=DEFECTS[options.defect].tampering if options.defect else None,
            log=None if log is None else lambda entry: write_to(log, entry),
        )
        for name in names
    }
    return {
        name: _Listener(
            broker=broker,
            proposal=_following(options.proposal, broker),
            contexts=contexts if name in TLS_LISTENERS else None,
        )
        for name, broker in brokers.items()
    }


def _following(proposal: str | None, broker: ReferenceBroker) -> InstanceIdBroker | None:
    if proposal is None:
        return None
    return InstanceIdBroker(broker, first_client_id_counts=PROPOSALS[proposal])


def _defect_name(text: str) -> str:
    """Return a defect's name as it is.

    Raises:
        ArgumentTypeError: there is no such defect; the message has the nearest names.
    """
    if text not in DEFECTS:
        near = ", ".join(difflib.get_close_matches(text, DEFECTS))
        hint = f"nearest: {near}; " if near else ""
        raise argparse.ArgumentTypeError(
            f"no defect is named {text!r}; {hint}`kafka-conformance targets --defects` lists all"
        )
    return text


def _listener_port(text: str) -> tuple[str, int]:
    name, _, port = text.partition("=")
    return name, int(port)


def option_parser() -> argparse.ArgumentParser:
    """Return the parser of the options of `main`."""
    parser = argparse.ArgumentParser(
        prog="kafka-conformance reference-broker",
        description="Serve the reference broker, with or without a planted defect, until standard input ends.",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--listener-port", action="append", type=_listener_port, default=[], metavar="NAME=PORT"
    )
    parser.add_argument("--release", default=NEWEST_RELEASE)
    parser.add_argument("--quorum", choices=(KRAFT, ZOOKEEPER), default=KRAFT)
    parser.add_argument(
        "--defect",
        type=_defect_name,
        default=None,
        metavar="DEFECT",
        help="a planted defect that `kafka-conformance targets --defects` lists",
    )
    parser.add_argument("--proposal", choices=sorted(PROPOSALS), default=None)
    parser.add_argument("--tls-authority", type=Path, default=None)
    parser.add_argument("--tls-foreign-authority", type=Path, default=None)
    parser.add_argument("--tls-certificate", type=Path, default=None)
    parser.add_argument("--tls-key", type=Path, default=None)
    parser.add_argument("--request-log", type=Path, default=None)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the reference broker, with or without a planted defect.

    Args:
        argv: the options; None for those of this process.
    """
    parser = option_parser()
    options = parser.parse_args(argv)
    listeners = listeners_of(options)
    if not listeners[PLAINTEXT].broker.profile.api_keys:
        parser.error(
            f"there is no recorded table of release {options.release} with {options.quorum}"
        )
    ports = {PLAINTEXT: options.port, **dict(options.listener_port)}
    try:
        asyncio.run(serve(listeners, host=options.host, ports=ports))
    except OSError as error:
        parser.exit(CANNOT_SERVE, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
