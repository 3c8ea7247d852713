"""The path of an example from Hypothesis to the target and back.

The module has the one place where a run enters this path.

    @given(sent=...)                    Hypothesis draws the values of an example, and calls the property's body:
      └► examples_go_to                 in its place stands a judge, while the property runs
           └► PropertyJudge.judge       skips the example if a limit is reached; records what became of it
                └► CrashJudge.run       starts a target again that the example has ended
                     └► run_body        begins a new journal, and calls the body that stands in the source:
                          └► Broker.exchange(sent)        opens a connection
                               └► Connection.exchange     writes the frame, and reads the response

and the way back, from the response to the verdict of a cell:

    Connection.exchange                 notes what became of the request in the broker's journal, and returns it:
      └► the property's body            asserts, or an assertion does, for example `conformance.assertions.decoding`
           └► CrashJudge.run            distinguishes a violation from a target that has ended
                └► PropertyJudge        distinguishes it from a fault that another clause judges; keeps failures
                     └► ExampleRecorder has a record for each clause of the property
                          └► RunRecorder        adds it to its cell, whose verdict is `records.cell_verdict`
                               └► RunWriter     writes it; `run_verdicts` reads the verdicts of a finished run again

The examples of a client take the same way to `run_body`; there the body calls `ClientUnderTest.play(script)`. For a
broker that is far away, `ExamplesAhead.judge` stands before `PropertyJudge.judge`: threads call `run_body`, and what
conforms is recorded in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fixtures.cleanup.ending_signals import INTERRUPTS
from fixtures.under_test.judged_target import JudgedTarget
from strategies.hypothesis_adapter import body_replaced

Body = Callable[..., None]
"""A property's body, as it stands in the source."""


@contextmanager
def examples_go_to(judge: Callable[[Body, Mapping[str, Any]], None], test: Callable[..., Any]) -> Iterator[None]:
    """Have a judge called with each example that Hypothesis draws for a test inside the block, in place of its body.

    Args:
        judge: is called with the body, and with the values of the example by name.
        test: the property; one that passes its examples to the judge itself is left alone.
    """

    def take(body: Body, values: Mapping[str, Any]) -> None:
        INTERRUPTS.check()
        judge(body, values)

    with body_replaced(test, take):
        yield


def run_body(judged: JudgedTarget, body: Body, values: Mapping[str, Any]) -> None:
    """Run a property's body once; check that the target is alive after a malformed request or a failure.

    Raises:
        AssertionError: the target violates the clause.
        HarnessError: the example could not be judged.
    """
    judged.begin_example()
    try:
        body(**values)
    except AssertionError:
        # If the target ended in the middle of an example, the failure is no evidence about the clause.
        judged.check_alive()
        raise
    exchanges = (exchange for step in judged.journal for exchange in step.exchanges)
    if any(exchange.request.broken and not exchange.usable for exchange in exchanges):
        judged.check_alive()
