"""Watching ends with the command, after a time limit or on a signal.

It begins only if the cluster can be reached.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from fixtures.cleanup.ending_signals import ENDING_SIGNALS
from fixtures.client.addresses import Address
from tests.upgrade.watching.rehearsal_checks import serve_old_configs
from tests.upgrade.watching.relay import (
    HOST,
    Handler,
    asking,
    next_frame,
    serve_tables,
    start_broker,
)
from upgrade.prediction.outcomes import PredictedOutcome
from upgrade.prediction.releases import release_named
from upgrade.prediction.report import WatchReport
from upgrade.watching import sockets
from upgrade.watching.proxy import CannotListen
from upgrade.watching.running import (
    CannotWatch,
    WatchPlan,
    _signals,
    watch_until_ended,
)
from upgrade.watching.tls_sides import TlsSides

ENOUGH_S = 30
RELEASE = "apache-kafka-4.4.0"
IN_USE = Address(HOST, -1)
"""Stands for the address of the broker, which is in use."""


def watched(
    *command: str,
    listen: Address | None = None,
    time_s: float | None = None,
    rehearsed: str = "",
    is_killed: bool = False,
    handler: Handler = serve_tables,
    asked_version: int = 3,
) -> WatchReport:
    """Watch a broker that serves ApiVersions, with one client that asks it."""

    async def run() -> WatchReport:
        writers: list[asyncio.StreamWriter] = []
        asked: list[asyncio.Task[None]] = []
        server = await start_broker(handler, writers)
        broker = Address(HOST, int(server.sockets[0].getsockname()[1]))

        async def ask(address: Address) -> None:
            reader, writer = await asyncio.open_connection(address.host, address.port)
            try:
                writer.write(asking(asked_version))
                await next_frame(reader)
            finally:
                # A command that ends at once ends the proxy before the answer.
                writer.close()
            if is_killed:
                os.kill(os.getpid(), signal.SIGTERM)

        plan = WatchPlan(
            brokers=[Address(HOST, 1), broker],
            listen=broker if listen is IN_USE else listen or Address(HOST, 0),
            tls_sides=TlsSides(),
            releases=[release_named(RELEASE)],
            rehearsed=release_named(rehearsed) if rehearsed else None,
            time_s=time_s,
            command=command,
        )
        try:
            return await watch_until_ended(
                plan,
                lambda address: asked.append(asyncio.create_task(ask(address))),
                lambda report: None,
            )
        finally:
            await asyncio.gather(*asked, return_exceptions=True)
            server.close()
            for each in writers:
                each.transport.abort()
            await asyncio.sleep(0)

    return asyncio.run(asyncio.wait_for(run(), ENOUGH_S))


def test_a_signal_ends_it() -> None:
    """After SIGTERM, as after Ctrl-C, the report is complete; a client that only asks is not predicted."""
    report = watched(is_killed=True)
    assert [row.client.software_name for row in report.rows] == ["librdkafka"]
    assert report.outcome is PredictedOutcome.CANNOT_SAY
    assert report.command_status == 0


def test_a_later_signal_does_what_it_did_before() -> None:
    """The report is written after the proxy has ended: SIGTERM then still has the handler of the command."""
    before = {each: signal.getsignal(each) for each in ENDING_SIGNALS}
    handlers = {each: lambda number, frame: None for each in ENDING_SIGNALS}
    try:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        watched(is_killed=True)
        assert {each: signal.getsignal(each) for each in ENDING_SIGNALS} == handlers
    finally:
        for each in ENDING_SIGNALS:
            signal.signal(each, before[each])


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """`nohup` ignores SIGHUP, so that the terminal can be closed."""

    async def handlers() -> list[bool]:
        with _signals():
            return [signal.getsignal(each) is signal.SIG_IGN for each in ENDING_SIGNALS]

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    expected = [each is signal.SIGHUP for each in ENDING_SIGNALS]
    assert asyncio.run(handlers()) == expected


def test_more_connections_than_the_machine_allows_are_one_sentence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What asyncio reports each second as a traceback is noted once; other errors are still reported."""

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next_frame(reader)
        loop = asyncio.get_running_loop()
        for code in (errno.EMFILE, errno.EMFILE, errno.EPIPE):
            error = OSError(code, os.strerror(code))
            loop.call_exception_handler({"message": f"error {code}", "exception": error})
        writer.close()

    report = watched(time_s=0.2, handler=broker)
    assert sum("were not accepted in time: " in each for each in report.remarks) == 1
    assert f"error {errno.EPIPE}" in caplog.text
    assert f"error {errno.EMFILE}" not in caplog.text


def test_a_command_finds_the_address_and_ends_it() -> None:
    """The command gets the listen address, and its failure is reported."""
    report = watched("sh", "-c", 'case "$KAFKA_BOOTSTRAP_SERVERS" in 127.0.0.1:*) exit 3; esac')
    assert report.command_status == 3


def test_a_command_that_runs_too_long_is_ended() -> None:
    """After the time the command is ended, which is no failure of it."""
    assert watched("sleep", "60", time_s=0.2).command_status == 0


def test_a_command_that_ctrl_c_ends_as_well_has_not_failed() -> None:
    """A terminal sends Ctrl-C to the command, too: its status says nothing then."""
    report = watched("sh", "-c", "trap 'exit 7' INT TERM; kill -TERM $PPID; read line")
    assert report.command_status == 0


def test_a_command_that_cannot_be_executed_is_refused(tmp_path: Path) -> None:
    """A file that is no program is one sentence, and not the exit status of a client that breaks."""
    script = tmp_path / "my-app"
    script.write_bytes(b"\x7fELF")
    script.chmod(0o755)
    with pytest.raises(CannotWatch, match="my-app' cannot be started: Exec format error"):
        watched(str(script))


def test_what_cannot_be_rehearsed_is_said() -> None:
    """An API of which the cluster and the release serve no version in common is named."""
    report = watched(time_s=0.2, rehearsed="apache-kafka-4.0.2", handler=serve_old_configs, asked_version=1)
    assert "cannot be rehearsed on this cluster: DescribeConfigs" in report.remarks[-1]
    served = watched(time_s=0.2, rehearsed="apache-kafka-4.0.2")
    assert served.rehearsed == "apache-kafka-4.0.2"
    assert not any("cannot be rehearsed" in each for each in served.remarks)


def test_an_address_in_use_is_refused() -> None:
    """The sentence names the address."""
    with pytest.raises(CannotListen, match=r"cannot listen on 127\.0\.0\.1"):
        watched(listen=IN_USE)


def test_a_cluster_that_is_not_there_is_refused() -> None:
    """The sentence names every bootstrap server with its reason."""
    plan = WatchPlan(brokers=[Address(HOST, 1)], listen=Address(HOST, 0), tls_sides=TlsSides(), releases=[])
    with pytest.raises(CannotWatch, match=r"127\.0\.0\.1:1: .*--command-config"):
        asyncio.run(watch_until_ended(plan, print, print))


def test_a_slow_resolver_does_not_delay_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    gave_up: list[str] = []

    def resolve(host: str, *_: object, **__: object) -> None:
        go.wait(ENOUGH_S)
        gave_up.append(host)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(sockets, "CONNECT_S", 0.05)
    slow = Address("slow.invalid", 1)
    plan = WatchPlan(brokers=[slow], listen=Address(HOST, 0), tls_sides=TlsSides(), releases=[])
    with pytest.raises(CannotWatch, match=r"slow\.invalid:1: no connection within"):
        asyncio.run(watch_until_ended(plan, print, print))
    assert not gave_up
    go.set()
