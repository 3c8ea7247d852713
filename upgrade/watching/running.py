"""Runs the watching proxy until a signal, a time limit or the end of its command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fixtures.cleanup.ending_signals import heeded_signals
from fixtures.cleanup.unwaited_threads import wait_for_no_thread
from fixtures.client.addresses import Address
from fixtures.open_files import allow_many_open_files
from reference_model.profiles.known_apis import label_of
from upgrade.prediction.releases import Release
from upgrade.prediction.report import WatchReport, report_of
from upgrade.watching.proxy import WatchProxy
from upgrade.watching.sockets import NO_FILES, connect, newest_api_versions, reason_of
from upgrade.watching.tls_sides import TlsSides
from upgrade.watching.watcher import Watcher

BOOTSTRAP_VARIABLE = "KAFKA_BOOTSTRAP_SERVERS"
LOOK_EVERY_S = 0.5
MAX_SHARE = 50
"""How many times as long as showing takes nothing is shown after it."""
COMMAND_ENDING_S = 10.0
"""Enough for 30,000 connections."""
_PROXY_LIMITS = (
    "seen by the proxy: only clients that connect to the listen address",
    "share groups: after a leader has moved, a client may connect to its broker directly",
)


class CannotWatch(Exception):
    """The cluster cannot be watched; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPlan:
    """What is watched, and how.

    Attributes:
        brokers: the bootstrap servers.
        listen: the address to listen on.
        tls_sides: TLS on both sides.
        releases: the releases that are asked about.
        rehearsed: the release that the cluster is made to look like; None for none.
        time_s: how long to watch; None for no limit.
        command: a command that is run meanwhile; empty for none.
    """

    brokers: Sequence[Address]
    listen: Address
    tls_sides: TlsSides
    releases: Sequence[Release]
    rehearsed: Release | None = None
    time_s: float | None = None
    command: Sequence[str] = ()


async def watch_until_ended(
    plan: WatchPlan,
    on_listening: Callable[[Address], None],
    on_report: Callable[[WatchReport], None],
) -> WatchReport:
    """Watch until a signal, the time, or the end of the command.

    Args:
        plan: what is watched.
        on_listening: called with the address on which the proxy listens.
        on_report: called with the report so far, every half second in which something changed.

    Raises:
        CannotWatch: no bootstrap server can be reached.
        CannotListen: the address to listen on cannot be used.
    """
    allow_many_open_files()
    loop = asyncio.get_running_loop()
    # The end does not wait until a resolver gives up a name.
    wait_for_no_thread()
    await _find_cluster(plan)
    began = loop.time()
    watcher = Watcher(lambda: round(1000 * (loop.time() - began)))
    for sentence in _PROXY_LIMITS:
        watcher.observed.note_limit(sentence)
    proxy = WatchProxy(watcher, plan.tls_sides, plan.rehearsed)
    loop.set_exception_handler(partial(_keep_errors_short, proxy))
    command_status = 0

    def report(*, is_last: bool) -> WatchReport:
        # The oracle takes its time, which is the traffic's as long as there is some.
        return report_of(
            watcher.observed,
            watcher.watched,
            plan.releases,
            violations=watcher.violations() if is_last else {},
            remarks=(*proxy.obstacles, *_not_rehearsed(proxy.not_rehearsed)),
            rehearsed="" if plan.rehearsed is None else plan.rehearsed.id,
            command_status=command_status,
        )

    with _signals() as (stop, at_once):
        try:
            address = await proxy.listen(plan.listen, plan.brokers)
            on_listening(address)
            showing = asyncio.create_task(_show(watcher, lambda: on_report(report(is_last=False))))
            try:
                command_status = await _wait_for_end(plan, address, stop)
            finally:
                showing.cancel()
        finally:
            # From now on a signal means that open requests are not waited for.
            stop.set()
            await proxy.end(at_once)
    return report(is_last=True)


async def _show(watcher: Watcher, show: Callable[[], None]) -> None:
    """Show the report so far, again and again.

    The pause between two looks grows with the time that a look takes, so many clients do not slow the watcher down.
    """
    loop = asyncio.get_running_loop()
    shown, pause_s = -1, LOOK_EVERY_S
    while True:
        await asyncio.sleep(pause_s)
        if watcher.requests != shown:
            shown, began = watcher.requests, loop.time()
            show()
            pause_s = max(LOOK_EVERY_S, MAX_SHARE * (loop.time() - began))


def _keep_errors_short(proxy: WatchProxy, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Note connections that were refused because too many files are open.

    asyncio would print this error each second. Its default handler gets all other errors.
    """
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in NO_FILES:
        proxy.obstruct(f"connections were not accepted in time: {reason_of(error)}")
    else:
        loop.default_exception_handler(context)


def _not_rehearsed(api_keys: Collection[int]) -> list[str]:
    """Return the sentence about what a rehearsal cannot show, if there is something."""
    if not api_keys:
        return []
    names = ", ".join(sorted(map(label_of, api_keys)))
    return [
        f"cannot be rehearsed on this cluster: {names}; it serves no version of them that the release serves, so a program has to do without"
    ]


@contextlib.contextmanager
def _signals() -> Iterator[tuple[asyncio.Event, asyncio.Event]]:
    """Yield two events: the first signal sets one, every later signal the other."""
    stop, at_once = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    before = {each: signal.getsignal(each) for each in heeded_signals()}

    def arrived() -> None:
        (at_once if stop.is_set() else stop).set()

    for number in before:
        loop.add_signal_handler(number, arrived)
    try:
        yield stop, at_once
    finally:
        for each, handler in before.items():
            # It sets the default, by which a signal would end the program before the report is written.
            loop.remove_signal_handler(each)
            signal.signal(each, handler)


async def _wait_for_end(plan: WatchPlan, address: Address, stop: asyncio.Event) -> int:
    """Wait; return the exit status of the command, if it ended by itself, else 0."""
    process = None
    waiting: list[asyncio.Task[object]] = [asyncio.create_task(stop.wait())]
    if plan.command:
        environment = {**os.environ, BOOTSTRAP_VARIABLE: str(address)}
        process = await _start_command(plan.command, environment)
        waiting.append(asyncio.create_task(process.wait()))
    await asyncio.wait(waiting, timeout=plan.time_s, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    status = 0 if process is None else await _end_command(process)
    # Ctrl-C reaches the command, too, and may end it first.
    return 0 if stop.is_set() else status


async def _start_command(command: Sequence[str], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start a command.

    Raises:
        CannotWatch: it cannot be executed.
    """
    try:
        return await asyncio.create_subprocess_exec(*command, env=environment)
    except OSError as error:
        raise CannotWatch(
            f"the command {command[0]!r} cannot be started: {error.strerror}; "
            "is it a program, or a script that begins with #! and its interpreter?"
        ) from error


async def _end_command(process: asyncio.subprocess.Process) -> int:
    """End a command that still runs; return its exit status if it ended by itself."""
    if process.returncode is not None:
        return process.returncode
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), COMMAND_ENDING_S)
    except TimeoutError:
        process.kill()
        await process.wait()
    return 0


async def _find_cluster(plan: WatchPlan) -> None:
    """Connect to the first bootstrap server that can be reached. For a rehearsal it has to answer as well.

    Raises:
        CannotWatch: there is none.
    """
    problems = []
    for address in plan.brokers:
        try:
            if plan.rehearsed is not None:
                await newest_api_versions(address, plan.tls_sides)
            else:
                _, writer = await connect(address, plan.tls_sides)
                writer.close()
        except OSError as error:
            problems.append(f"{address}: {reason_of(error)}")
        else:
            return
    raise CannotWatch(
        f"no bootstrap server can be used: {'; '.join(problems)}; is the address right, and does it need --command-config?"
    )
