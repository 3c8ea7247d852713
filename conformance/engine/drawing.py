"""The way of an example from Hypothesis to the target, and the one place where a run enters it.

    @given(sent=...)                    Hypothesis draws the values of an example, and calls the property's body:
      └► examples_go_to                 in its place stands a judge, while the property runs
           └► PropertyJudge.judge       skips the example if a limit is reached; records what became of it
                └► CrashJudge.run       starts a target again that the example has ended
                     └► run_body        begins a new journal, and calls the body that stands in the source:
                          └► Broker.exchange(sent)        opens a connection
                               └► Connection.exchange     writes the frame, and reads the response

The examples of a client take the same way to `run_body`; there the body calls `ClientUnderTest.play(script)`. For a broker that is
far away, `ExamplesAhead.judge` stands before `PropertyJudge.judge`: threads call `run_body`, and what conforms is recorded in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fixtures.cleanup.ending_signals import INTERRUPTS
from strategies.hypothesis_adapter import body_replaced


@contextmanager
def examples_go_to(
    judge: Callable[[Callable[..., None], Mapping[str, Any]], None], test: Callable[..., Any]
) -> Iterator[None]:
    """Have a judge called with each example that Hypothesis draws for a test inside the block, in place of its body.

    Args:
        judge: is called with the body, and with the values of the example by name.
        test: the property; one that passes its examples to the judge itself is left alone.
    """

    def take(body: Callable[..., None], values: Mapping[str, Any]) -> None:
        INTERRUPTS.check()
        judge(body, values)

    with body_replaced(test, take):
        yield
