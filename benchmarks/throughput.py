"""Speed of judging examples, as ratios measured in one run on one machine.

`python -m benchmarks.throughput [TARGET]` starts the target once and measures in turns:

- generated: examples per second of one property's strategy, with a body that does nothing;
- in memory: the same examples, judged on the reference broker in this process, without a socket;
- judged: the same examples, each sent to the live broker on its own connection and asserted on, while the next
  ones are drawn, as in the suite;
- connections: plain sockets, a new connection per request and sentinel, no Hypothesis;
- pipelined: a plain loop that writes a hundred requests at a time on one connection.

The rates depend on the machine and its load, so their ratios are compared.
"""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import Callable, Mapping

import click
from hypothesis import given, seed, settings
from rich.console import Console

from benchmarks.rates import chosen_target, print_rates, print_ratio, quick_option
from clauses.tiers import Tier
from conformance.assertions.judging import error_code_of
from conformance.engine.hypothesis_profiles import load_profile
from conformance.engine.repeating import run_body
from fixtures.launchers import launch
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.targets import select_targets
from fixtures.under_test.broker import Broker
from fixtures.under_test.first_requests import probe_request
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from reference_model.profiles.profile import REFERENCE
from strategies.api_versions import api_versions_requests
from wire.error_codes import ErrorCode
from wire.exchange import Request
from wire.frames import FrameReader
from wire.sentinel import sentinel_for

ROUNDS = 9
QUICK_ROUNDS = 3
WARMING_ROUNDS = 5
"""Until then the broker's JVM is still compiling, on a core that both processes need."""
EXAMPLES = 400
REQUESTS_PER_WRITE = 100
WRITES = 20
READ_BYTES = 65536


def _property_rate(body: Callable[[Request], None], number: int) -> float:
    """Return examples per second of a property over well-formed requests, drawn with the round's seed."""
    seen = 0

    @seed(number)
    @settings(max_examples=EXAMPLES, database=None)
    @given(sent=api_versions_requests())
    def judged(sent: Request) -> None:
        nonlocal seen
        seen += 1
        body(sent)

    gc.collect()
    started = time.perf_counter()
    judged()
    return seen / (time.perf_counter() - started)


def generated_rate(broker: Broker, number: int) -> float:
    """Return examples per second with a body that does nothing."""
    return _property_rate(lambda sent: None, number)


def judged_rate(broker: Broker, number: int) -> float:
    """Return examples per second when each is sent, answered, decoded and asserted on."""

    def judge(sent: Request) -> None:
        assert error_code_of(broker.exchange(sent)) is not ErrorCode.INVALID_REQUEST

    return _property_rate(lambda sent: run_body(broker, judge, {"sent": sent}), number)


def in_memory_rate(broker: Broker, number: int) -> float:
    """Return the rate of `judged_rate` for the reference broker in this process."""
    (reference,) = select_targets([REFERENCE], extra=reference_targets())
    return judged_rate(InMemoryBroker(in_memory_target(reference), broker.listener), number)


def read_answers(connection: socket.socket, count: int) -> None:
    """Read `count` frames."""
    reader = FrameReader()
    while count:
        reader.receive_data(connection.recv(READ_BYTES))
        while count and reader.next_payload() is not None:
            count -= 1


def connection_rate(broker: Broker) -> float:
    """Return requests per second, each with a sentinel and on a new connection, without Hypothesis."""
    request = probe_request(0)
    data = request.data + sentinel_for(request.correlation_id).data
    address = broker.running.addresses[broker.listener]
    started = time.perf_counter()
    for _ in range(EXAMPLES):
        with socket.create_connection(address) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(data)
            read_answers(connection, 2)
    return EXAMPLES / (time.perf_counter() - started)


def pipelined_rate(broker: Broker) -> float:
    """Return requests per second of a loop that pipelines requests on one connection."""
    data = probe_request(0).data * REQUESTS_PER_WRITE
    address = broker.running.addresses[broker.listener]
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        started = time.perf_counter()
        for _ in range(WRITES):
            connection.sendall(data)
            read_answers(connection, REQUESTS_PER_WRITE)
        return REQUESTS_PER_WRITE * WRITES / (time.perf_counter() - started)


MEASUREMENTS: Mapping[str, Callable[[Broker, int], float]] = {
    "generated, no I/O": generated_rate,
    "judged, in memory": in_memory_rate,
    "judged, live broker": judged_rate,
    "plain sockets, a connection each": lambda broker, number: connection_rate(broker),
    "plain socket, pipelined": lambda broker, number: pipelined_rate(broker),
}


@click.command(name="benchmarks.throughput")
@click.argument("target_id", metavar="[TARGET]", required=False)
@quick_option
def main(target_id: str | None, quick: bool) -> None:
    """Measure in turns, and print medians and ratios."""
    load_profile(Tier.STANDARD)
    target, launcher = chosen_target(target_id)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    rates: dict[str, list[float]] = {name: [] for name in MEASUREMENTS}
    with launch(target, launcher) as running:
        broker = Broker(running, "plaintext")
        broker.calibrate()
        for number in range(WARMING_ROUNDS + rounds):
            for name, measure in MEASUREMENTS.items():
                rate = measure(broker, number)
                if number >= WARMING_ROUNDS:
                    rates[name].append(rate)
    console = Console()
    title = f"{target.id} as {launcher}: medians of {rounds} rounds"
    print_rates(console, title, "per second", rates)
    no_io, in_memory, live, each, pipelined = rates.values()
    for name, over, under in (
        ("judged / generated", live, no_io),
        ("judged / judged in memory", live, in_memory),
        ("judged / plain sockets, a connection each", live, each),
        ("judged / plain socket, pipelined", live, pipelined),
    ):
        print_ratio(console, name, over, under)


if __name__ == "__main__":
    main()
