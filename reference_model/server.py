"""The reference broker on a TCP port: a thin shell around the state machine.

`python -m reference_model.server` prints the port it listens on as its first line and ends when its standard
input does, so that it never outlives the run that started it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from reference_model.defects import DEFECTS
from reference_model.profile import NEWEST_RELEASE, profile_of
from reference_model.state_machine import (
    BrokerConnection,
    ConnectionState,
    Identity,
    ReferenceBroker,
)

READ_BYTES = 65536
CLUSTER_ID = "reference-cluster-0000"
NODE_ID = 1


class _Protocol(asyncio.Protocol):
    """Carries bytes between one socket and one `BrokerConnection`."""

    def __init__(
        self, broker: ReferenceBroker, open_shells: dict[BrokerConnection, _Protocol]
    ) -> None:
        self._connection = broker.connect()
        self._open_shells = open_shells
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open_shells[self._connection] = self

    def data_received(self, data: bytes) -> None:
        self._connection.receive_data(data)
        # A planted defect may have closed other connections too.
        for shell in tuple(self._open_shells.values()):
            shell.settle()

    def eof_received(self) -> bool:
        if self._connection.state is not ConnectionState.CLOSED:
            self._connection.receive_eof()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._open_shells.pop(self._connection, None)
        self._connection.drop()

    def settle(self) -> None:
        """Write what is due, and close the socket where the connection is closed."""
        if self._transport is None or self._transport.is_closing():
            return
        if data := self._connection.data_to_send():
            self._transport.write(data)
        if self._connection.state is ConnectionState.CLOSED:
            self._transport.close()


async def serve(broker: ReferenceBroker, *, host: str, port: int) -> None:
    """Serve a broker on a port until standard input ends; prints the port first."""
    loop = asyncio.get_running_loop()
    open_shells: dict[BrokerConnection, _Protocol] = {}
    server = await loop.create_server(lambda: _Protocol(broker, open_shells), host, port)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - the launcher reads it
    try:
        await loop.run_in_executor(None, sys.stdin.read)
    finally:
        # No `async with`: from Python 3.12 on its end waits until the last client has closed.
        server.close()


def main() -> None:
    """Serve the reference broker, with or without a planted defect."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--release", default=NEWEST_RELEASE)
    parser.add_argument("--quorum", choices=("kraft", "zookeeper"), default="kraft")
    parser.add_argument("--defect", choices=sorted(DEFECTS), default=None)
    options = parser.parse_args()
    profile = profile_of(options.release, quorum=options.quorum)
    if not profile.api_keys:
        parser.error(f"no table of release {options.release} with {options.quorum} is recorded")
    broker = ReferenceBroker(
        profile=profile,
        identity=Identity(cluster_id=CLUSTER_ID, node_id=NODE_ID),
        tampering=DEFECTS[options.defect].tampering if options.defect else None,
    )
    asyncio.run(serve(broker, host=options.host, port=options.port))


if __name__ == "__main__":
    main()
