"""Speed of replaying the corpus, as ratios measured in one run on one machine.

`python -m benchmarks.corpus_replay [TARGET]` starts the target once and measures in turns, on the same bytes:

- plain: a loop that writes the entries that keep the connection open, many at a time, and counts frames;
- replayed: the corpus property's replay of the same entries, each compared with the model's response;
- judged: the same again, with a record of every entry.

The rates depend on the machine and its load, so their ratios are compared.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console

from benchmarks.rates import chosen_target, print_rates, print_ratio, quick_option
from benchmarks.throughput import read_answers
from clauses.catalogue import catalogue
from conformance.corpus.entries import CorpusEntry, load_corpus
from conformance.corpus.replay import Agreed, Remaining, Replay, Stored, batches
from conformance.engine.property_judge import PropertyJudge
from fixtures.client.transport import open_tcp
from fixtures.launchers import launch
from fixtures.under_test.broker import Broker
from reference_model.judging.stored_inputs import cut_frames
from reports.records import PlannedCell
from reports.run.recorder import RunRecorder
from reports.run.run_writer import RunWriter

ROUNDS = 7
QUICK_ROUNDS = 3
REPETITIONS = 20
LONGEST_REPEATED_BYTES = 2048
CLAUSE = "MODEL.agrees-with-reference"


def _numbered(entry: CorpusEntry, number: int) -> CorpusEntry:
    """Return a copy of an entry with its own correlation ids, so that no two have the same bytes."""
    frames = cut_frames(entry.data).whole
    cid = number.to_bytes(4)
    data = b"".join(frame.data[:8] + cid + frame.data[12:] for frame in frames)
    return CorpusEntry(name=f"{entry.name}-{number}", origin=entry.origin, data=data)


def many_entries(broker: Broker) -> list[Stored]:
    """Return many copies of the corpus entries that keep the connection open, except the few very long ones."""
    replay = Replay(broker)
    keeping = list(replay.keeping(load_corpus(), Remaining()))
    numbered = (
        _numbered(each.entry, number)
        for number in range(REPETITIONS)
        for each in keeping
        if len(each.entry.data) <= LONGEST_REPEATED_BYTES
    )
    return list(replay.keeping(numbered, Remaining()))


def plain_loop(broker: Broker, stored: Sequence[Stored]) -> None:
    """Write the entries and read the expected number of frames without looking at them."""
    connection = open_tcp(broker.running.addresses[broker.listener])
    try:
        for batch in batches(stored):
            connection.sendall(b"".join(each.entry.data for each in batch))
            read_answers(connection, sum(len(each.allowed.frames.whole) for each in batch))
    finally:
        connection.close()


def replayed(broker: Broker, stored: Sequence[Stored], agreed: Agreed) -> None:
    """Replay the entries; the model is asked again for each."""
    remaining = Replay(broker).pipelined([each.entry for each in stored], agreed)
    assert not remaining.different


def _judge(broker: Broker, runs: Path) -> PropertyJudge:
    clause = catalogue()[CLAUSE]
    writer = RunWriter(runs, catalogue=catalogue(), tier="deep", seed=None)
    recorder = RunRecorder(writer, tier="deep")
    cell = PlannedCell(clause=CLAUSE, target=broker.target.id, listener=broker.listener)
    recorder.plan([(cell, clause.level.value)], [])
    return PropertyJudge(recorder, broker, (clause,), "test_stored_input_gets_an_allowed_answer")


def _rate(measured: Callable[[], None], frames: int) -> float:
    started = time.perf_counter()
    measured()
    return frames / (time.perf_counter() - started)


def measure(broker: Broker, runs: Path, rounds: int) -> dict[str, list[float]]:
    """Return frames per second for each kind, round by round."""
    stored = many_entries(broker)
    frames = sum(len(each.allowed.frames.whole) for each in stored)
    judge = _judge(broker, runs)
    kinds: dict[str, Callable[[], None]] = {
        "plain loop": lambda: plain_loop(broker, stored),
        "replayed": lambda: replayed(broker, stored, lambda exchanges: None),
        "judged": lambda: replayed(broker, stored, judge.conforms),
    }
    for kind in kinds.values():
        kind()
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, kind in kinds.items():
            rates[name].append(_rate(kind, frames))
    return rates


@click.command(name="benchmarks.corpus_replay")
@click.argument("target_id", metavar="[TARGET]", required=False)
@quick_option
def main(target_id: str | None, quick: bool) -> None:
    """Measure in turns, and print medians and ratios."""
    target, launcher = chosen_target(target_id)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with launch(target, launcher) as running, tempfile.TemporaryDirectory() as runs:
        broker = Broker(running, "plaintext")
        broker.calibrate()
        rates = measure(broker, Path(runs), rounds)
    console = Console()
    title = f"{target.id} as {launcher}: medians of {rounds} rounds"
    print_rates(console, title, "frames per second", rates)
    plain = rates.pop("plain loop")
    for name, values in rates.items():
        print_ratio(console, f"{name} / plain loop", values, plain)


if __name__ == "__main__":
    main()
