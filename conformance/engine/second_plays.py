"""Second judgement of a play whose client was late on a busy machine.

It comes before anything about the play is recorded.

Plays come several at a time, and other programs may run next to them. If only time shows a failure, and the client had
to wait for a CPU in that play, it is played again alone. What it does then counts, unless it had to wait again.
"""

from __future__ import annotations

from conformance.assertions.evidence import evidence_of
from conformance.engine.example_recorder import Signatures
from conformance.engine.repeating import FailingExample, run_again
from fixtures.under_test.client import ClientUnderTest
from reports.repeats import ShownBy

MAX_WAIT_MS = 500
"""How long a client may wait for a CPU and its lateness still count as its own.

On an idle machine it is less than 100 ms; at load 20 on two cores a client in Python waits for 1 to 2 s, one on a JVM
for 4 s.
"""
MAX_SECOND_PLAYS = 2
"""How often one example is played again. If the machine is too busy even then, the repeats after the last property
decide."""
MAX_IN_ALL = 12
"""How many second plays of one client there are: each may take as long as its script may."""


class SecondPlays:
    """Second plays of one client, for all of its properties."""

    def __init__(self) -> None:
        """Start without one."""
        self._left = MAX_IN_ALL
        self._standing: set[Signatures] = set()

    def judge(
        self,
        client: ClientUnderTest,
        example: FailingExample,
        error: AssertionError,
        signatures: Signatures,
    ) -> None:
        """Judge a failing example again if it says nothing about the client; return if the client conforms now.

        Raises:
            AssertionError: the failure, if it counts, or another one of the last play.
            HarnessError: the example could not be judged again.
        """
        for _ in range(MAX_SECOND_PLAYS):
            if not self._left or signatures in self._standing or not was_late(client, error):
                break
            self._left -= 1
            client.play_again()
            try:
                run_again(client, example)
            except AssertionError as again:
                error = again
            else:
                return
        if evidence_of(error) is ShownBy.TIME:
            # Others like it need no second play to be recorded next to it.
            self._standing.add(signatures)
        raise error


def was_late(client: ClientUnderTest, error: AssertionError) -> bool:
    """Return whether the machine may be the cause of a failure of the latest play.

    It may be if only time shows the failure, and the client waited for a CPU.
    """
    return evidence_of(error) is ShownBy.TIME and client.waited_ms > MAX_WAIT_MS
