"""Runs the model client in a process of its own, over real sockets: `python -m reference_model.client_process`.

It has the arguments and prints the lines of every driver of a client; docs/add-a-client.md describes both.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import ssl
import sys
import threading
import time
from typing import Any

from reference_model.clients.client_errors import Aborted, Hung
from reference_model.clients.driving import NO_RESULT, OWN_END_MS, Ask, drive
from reference_model.clients.faults import FAULTS, plant
from reference_model.clients.model_client import ModelClient
from reference_model.clients.negotiation import OPTIONS, SOFTWARE_VERSION
from reference_model.clients.network import Address, Unreachable

CONNECT_TIMEOUT_S = 1.0
RECEIVED_BYTES = 65536


class SocketStream:
    """A TCP connection."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def send(self, data: bytes) -> None:
        """Send bytes; raise `Unreachable` if the connection is closed."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Unreachable(str(error)) from error

    def receive(self, within_ms: int) -> bytes:
        """Return what has arrived; raise `Unreachable` at the end of the stream."""
        self._socket.settimeout(within_ms / 1000)
        try:
            data = self._socket.recv(RECEIVED_BYTES)
        except TimeoutError:
            return b""
        except OSError as error:
            raise Unreachable(str(error)) from error
        if not data:
            raise Unreachable("end of stream")
        return data

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


class SocketNetwork:
    """TCP connections, with TLS if there is a context for it, and the time since the start."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._started = time.monotonic()
        self._context = context

    @property
    def now_ms(self) -> int:
        """Milliseconds since the start."""
        return round((time.monotonic() - self._started) * 1000)

    def wait(self, milliseconds: int) -> None:
        """Sleep."""
        time.sleep(milliseconds / 1000)

    def open(self, address: Address) -> SocketStream:
        """Open a connection; raise `Unreachable` if it is refused."""
        try:
            connected = socket.create_connection(address, CONNECT_TIMEOUT_S)
            if self._context is not None:
                connected = self._context.wrap_socket(connected, server_hostname=address.host)
        except OSError as error:
            raise Unreachable(str(error)) from error
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return SocketStream(connected)


def main() -> None:
    """Drive a model client, with a planted fault if one is named, and end with 0 if its last operation succeeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT")
    parser.add_argument("--timeout", type=float, default=5.0, metavar="S")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--fault", choices=sorted(FAULTS))
    parser.add_argument("--option", action="append", default=[], choices=OPTIONS)
    parser.add_argument("--tls-ca", metavar="FILE")
    parser.add_argument("--username")
    parser.add_argument("--password")
    arguments = parser.parse_args()
    host, _, port = arguments.bootstrap.rpartition(":")
    context = ssl.create_default_context(cafile=arguments.tls_ca) if arguments.tls_ca else None
    client = ModelClient(
        SocketNetwork(context),
        Address(host, int(port)),
        arguments.option,
        (arguments.username, arguments.password) if arguments.username else None,
    )
    if arguments.fault:
        plant(client, FAULTS[arguments.fault])
    timeout_ms = round(arguments.timeout * 1000)
    watchdog = _end_by_itself((timeout_ms + OWN_END_MS) / 1000)
    _print({"event": "created", "at_ms": client.network.now_ms, **_id_of(client)})
    try:
        last = drive(
            client,
            timeout_ms,
            keeps_asking=arguments.again,
            report=lambda asked: _print_ask(asked, client),
        )
    except Aborted:
        os.kill(os.getpid(), signal.SIGABRT)
        raise
    except Hung:
        watchdog.cancel()
        while True:
            signal.pause()
    _finish(last)


def _end_by_itself(after_s: float) -> threading.Timer:
    watchdog = threading.Timer(after_s, lambda: _finish(Ask("error", 0, NO_RESULT)))
    watchdog.daemon = True
    watchdog.start()
    return watchdog


def _id_of(client: ModelClient) -> dict[str, Any]:
    reported = client.reported_id()
    return {} if reported is None else {"client_instance_id": str(reported)}


def _print_ask(asked: Ask, client: ModelClient) -> None:
    about = {"event": asked.outcome, "at_ms": asked.at_ms, "detail": asked.detail}
    _print({**about, **_id_of(client)})


def _finish(last: Ask) -> None:
    names = {"client": "model", "version": SOFTWARE_VERSION}
    _print({**names, "outcome": last.outcome, "detail": last.detail})
    os._exit(0 if last.outcome == "ok" else 1)


def _print(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
