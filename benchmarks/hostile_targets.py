"""What targets that violate everything cost, as ratios to a healthy one in the same tier, and the memory they take.

`python -m benchmarks.hostile_targets [TIER]` judges fakes one after the other: each answers the run's first questions
properly and then turns. A run may take at most three times as long as that on a healthy target, and 1 GiB.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.conformance.fake_targets import (
    Behaviour,
    announce_more_than_comes,
    answer_bombs,
    answer_flexible_bombs,
    answer_garbage,
    answer_http,
    answer_nothing,
    close_at_once,
    flood,
    reference_behaviour,
    serve,
    trickle,
    turning,
)
from tests.conformance.suite_runs import start_suite

TIER = "smoke"
MOST_TIMES_AS_LONG = 3
MOST_MIB = 1024
HOSTILE: Mapping[str, Behaviour] = {
    "closes at once": close_at_once,
    "answers nothing": answer_nothing,
    "answers garbage": answer_garbage,
    "answers as a web server": answer_http,
    "floods": flood,
    "a byte every 0.3 s": trickle,
    "announces 2 GiB": announce_more_than_comes,
    "counts of 2^31 - 1": answer_bombs,
    "the same as varints": answer_flexible_bombs,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run cost.

    Attributes:
        status: its exit status.
        seconds: from its start to its end.
        mib: the most memory that its process had at a time.
    """

    status: int
    seconds: float
    mib: float


def cost_of(behaviour: Behaviour, tier: str) -> Cost:
    """Judge a fake target, and return what that cost."""
    with tempfile.TemporaryDirectory() as runs, serve(behaviour) as target:
        started = time.monotonic()
        process = start_suite(
            *("--bootstrap-server", target.address, "--tier", tier, "-q"), runs=Path(runs)
        )
        assert process.stdout is not None
        # Its output would fill the pipe.
        process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
    return Cost(status=process.returncode, seconds=seconds, mib=used.ru_maxrss / 1024)


def main() -> None:
    """Measure every fake, and print a row for each; ends with 1 where one costs too much."""
    tier = sys.argv[1] if sys.argv[1:] else TIER
    healthy = cost_of(reference_behaviour(), tier)
    if healthy.status:
        raise SystemExit(f"the run on the healthy target ended with {healthy.status}: no measure")
    table = Table(title=f"tier {tier}; healthy: {healthy.seconds:.1f} s", box=None)
    for column in ("target", "exit status", "seconds", "times healthy", "MiB", "bounds"):
        table.add_column(column, justify="left" if column in ("target", "bounds") else "right")
    costs = {"healthy": healthy}
    costs |= {name: cost_of(turning(behaviour), tier) for name, behaviour in HOSTILE.items()}
    too_much = 0
    for name, cost in costs.items():
        ratio = cost.seconds / healthy.seconds
        holds = ratio <= MOST_TIMES_AS_LONG and cost.mib <= MOST_MIB
        too_much += not holds
        numbers = (cost.status, f"{cost.seconds:.1f}", f"{ratio:.1f}", f"{cost.mib:.0f}")
        table.add_row(name, *map(str, numbers), "kept" if holds else "BROKEN")
    Console().print(table)
    raise SystemExit(too_much > 0)


if __name__ == "__main__":
    main()
