"""What a property that goes through its cases itself tells the judge of its examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.assertions.judging import JudgedElsewhere, Unjudged
from conformance.engine.drawing import Body
from conformance.engine.repeating import FailingExample
from fixtures.errors import BrokerGone
from wire.exchange import Exchange, Step


class Judge(ABC):
    """Judges the examples of one property on one target: `PropertyJudge` in a run, another one where faults are planted.

    Attributes:
        keep_machine: keeps what was learned of a listener, as `reports.machines.learned.as_json` returns it; None if that is
            not kept.
    """

    keep_machine: Callable[[Mapping[str, Any]], None] | None

    @property
    @abstractmethod
    def is_thorough(self) -> bool:
        """Whether a property that sends a list may send a long one."""

    @abstractmethod
    def judge_stored(self, body: Body, values: Mapping[str, Any]) -> bool:
        """Judge an example that was not drawn: it is not shrunk, and later examples are judged even if it fails.

        Returns:
            Whether the target conforms; if not, `raise_first` raises the violation.

        Raises:
            HarnessError: the example could not be judged.
        """

    @abstractmethod
    def conforms(self, exchanges: Sequence[Exchange]) -> None:
        """Take an example that was sent among others and conforms."""

    @abstractmethod
    def differs(
        self, error: AssertionError, steps: tuple[Step, ...], example: FailingExample
    ) -> None:
        """Take an example that was sent among others and fails; `raise_first` raises the first such error."""

    @abstractmethod
    def notes(self, error: Unjudged, steps: tuple[Step, ...]) -> None:
        """Take something that cannot be judged, with the steps that show it."""

    @abstractmethod
    def leaves_out(self, what: str, *, may_hide: bool = False, is_bound: bool = False) -> None:
        """Note in the property's cells what they leave out; the rest is judged as usual.

        Args:
            what: what is left out, and why.
            may_hide: whether declared violations may be in it, so that they are not gone if they are not seen.
            is_bound: whether `what` is up to where the property excludes a violation: all that it has to judge was judged.
        """

    @abstractmethod
    def elsewhere(self, error: BaseException | None) -> JudgedElsewhere | None:
        """Return why a violation of the property's clauses is another clause's fault; None if it is not."""

    @abstractmethod
    def judged_elsewhere(self, reason: JudgedElsewhere) -> None:
        """Take an example that meets a fault of another clause."""

    @abstractmethod
    def blame_for_end(self, gone: BrokerGone, values: Mapping[str, Any]) -> BrokerGone:
        """Take the end of a target that cannot be started again, and return what to raise."""

    @abstractmethod
    def raise_first(self) -> None:
        """End the property.

        Raises:
            AssertionError: the first violation that was not raised yet.
            JudgedElsewhere: there is none, but some examples met a fault that another clause judges.
        """
