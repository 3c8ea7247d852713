"""Interface to the judge for properties that go through their cases themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from conformance.assertions.blame import judged_elsewhere
from conformance.assertions.contradictions import contradicted_must, is_of_model
from conformance.assertions.errors import JudgedElsewhere, Unjudged
from conformance.assertions.violated_musts import ViolatedMust
from conformance.engine.drawing import Body
from conformance.engine.repeating import FailingExample
from fixtures.errors import BrokerGone
from fixtures.under_test.broker import Broker
from fixtures.under_test.judged_target import JudgedTarget
from reference_model.profiles.listeners import first_but_for_tls
from wire.exchange import Exchange, Step


class Judge:
    """Judges the examples of one property on one target: the first failure ends the property, and nothing is recorded.

    That is enough where faults are planted. In a run, `PropertyJudge` takes its place.

    Attributes:
        keep_machine: keeps what was learned of a listener, as `reports.machines.learned.as_json` returns it; None if
            that is not kept.
    """

    keep_machine: Callable[[Mapping[str, Any]], None] | None = None

    def __init__(self, judged: JudgedTarget, clauses: Collection[str]) -> None:
        """Start without examples; the clauses are ids of those that the property judges."""
        self._judged = judged
        self._clauses = clauses
        self._elsewhere: JudgedElsewhere | None = None

    @property
    def is_thorough(self) -> bool:
        """Whether a property that sends a list sends a long one.

        It does so on the first of the listeners that differ in TLS alone.
        """
        assert isinstance(self._judged, Broker)
        listener = self._judged.listener
        return listener == first_but_for_tls(listener, self._judged.running.addresses)

    @property
    def declared(self) -> list[str]:
        """The regular expressions of the violations that are declared for the property's clauses on this listener."""
        judged = self._judged
        return [
            known.match
            for known in judged.target.known_violations
            if any(known.holds_on(clause, judged.listener) for clause in self._clauses)
        ]

    def judge_stored(self, body: Body, values: Mapping[str, Any]) -> bool:
        """Judge an example that was not drawn.

        The example is not shrunk. In a run, later examples are judged even if this example fails.

        Returns:
            Whether the target conforms; if not, `raise_first` raises the violation.

        Raises:
            HarnessError: the example could not be judged.
        """
        body(**values)
        return True

    def conforms(self, exchanges: Sequence[Exchange]) -> None:
        """Take an example that was sent among others and conforms."""

    def differs(self, error: AssertionError, steps: tuple[Step, ...], example: FailingExample) -> None:
        """Take an example that was sent among others and fails; in a run, `raise_first` raises the first such error."""
        raise error

    def notes(self, error: Unjudged, steps: tuple[Step, ...]) -> None:
        """Take something that cannot be judged, with the steps that show it."""

    def leaves_out(self, what: str, *, may_hide: bool = False, is_bound: bool = False) -> None:
        """Note in the property's cells what they leave out; the rest is judged as usual.

        Args:
            what: what is left out, and why.
            may_hide: whether declared violations may be in it, so that they are not gone if they are not seen.
            is_bound: whether `what` is up to where the property excludes a violation: all that it has to judge was
                judged.
        """

    def elsewhere(self, error: BaseException | None) -> JudgedElsewhere | None:
        """Return why a violation of the property's clauses is another clause's fault; None if it is not."""
        if not isinstance(self._judged, Broker):
            return None
        return judged_elsewhere(self._judged, error, self._clauses)

    def contradicted(self, error: AssertionError) -> ViolatedMust | None:
        """Return the MUST that a violation contradicts, if the property's clauses are about the model; else None."""
        if not isinstance(self._judged, Broker) or not all(map(is_of_model, self._clauses)):
            return None
        return contradicted_must(self._judged, error)

    def judged_elsewhere(self, reason: JudgedElsewhere) -> None:
        """Take an example that meets a fault of another clause."""
        self._elsewhere = self._elsewhere or reason

    def blame_for_end(self, gone: BrokerGone, values: Mapping[str, Any]) -> BrokerGone:
        """Take the end of a target that cannot be started again, and return what to raise."""
        return gone

    def blame_for_stop(self, values: Mapping[str, Any]) -> bool:
        """Take that the target may have stopped serving new connections, and return whether there is a fresh one."""
        return False

    def raise_first(self) -> None:
        """End the property.

        Raises:
            AssertionError: the first violation that was not raised yet.
            JudgedElsewhere: there is none, but some examples met a fault that another clause judges.
        """
        if self._elsewhere is not None:
            raise self._elsewhere
