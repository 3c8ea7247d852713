"""Judgement of a target that ends or stops serving while it is judged.

It says what is to blame, and which clause the end violates.

- A target that ends is started again, and the same bytes are sent to the new process. If that ends too, it is a
  violation. If others started the target, the suite waits 15 s for them; a violation while every connection is closed
  is judged again when it is back.
- A target that accepts connections, but serves no new one for 15 s, has stopped: what was sent last is a violation, as
  a crash is. If the suite started it, it is started again. If others did, well-formed requests are not blamed for a
  close, which something in front of a target that was shut down does as well. At an address one more connection stays
  open (`under_test/stopped_serving.py`): if it alone is still served, the target has stopped because of what was sent.
- A target that kept a property waiting is sent a plain request. If it does not respond, and a newly started one does
  not either, it is given up: only `KIP-35.v0-always-served` is judged after that.

Every response of an example is also shown to `fixtures/client/epoch_watch.py`: if the epoch of the features fell,
`FEATURES.epoch-monotone` is violated, whatever the property is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from clauses.catalogue import Clause, catalogue
from conformance.assertions.clause_ids import (
    EPOCH_MONOTONE,
    EVERY_ADVERTISED_VERSION_SERVED,
    MALFORMED_HURTS_NOBODY,
    WELL_FORMED_NEVER_CLOSED,
)
from conformance.assertions.epochs import EpochFell, assert_epoch_never_fell
from conformance.assertions.errors import TargetEnded, crash_in_words
from conformance.assertions.features import lists_features
from conformance.engine.drawing import Body, run_body
from conformance.engine.example_recorder import ExampleRecorder
from fixtures.errors import AcceptsNothing, BrokerGone, HarnessError
from fixtures.under_test.broker import Broker
from fixtures.under_test.judged_target import JudgedTarget
from fixtures.under_test.stopped_serving import how_it_stopped, stays_up, witness_for
from wire.api_keys import API_VERSIONS_KEY
from wire.exchange import Outcome, Step

MAX_STOPS = 3
"""A target that stops serving is started again so often: each stop costs the time in which it may come back by
itself."""
STOPPED = "the target serves no new connection any more after this"


class TargetStopped(AssertionError):
    """The target serves no new connection any more after what was sent to it, and has not been started again."""


def clause_of_crash(steps: Sequence[Step]) -> Clause:
    """Return the clause that a crash after these steps violates.

    A step that sent bytes without awaiting anything counts as malformed: those are no complete frames. A well-formed
    request of another API was in a version that the target lists.
    """
    requests = [each.request for step in steps for each in step.exchanges]
    if any(each.broken for each in requests) or any(step.pieces and not step.exchanges for step in steps):
        return catalogue()[MALFORMED_HURTS_NOBODY]
    is_about_versions = all(each.api_key == API_VERSIONS_KEY for each in requests)
    return catalogue()[WELL_FORMED_NEVER_CLOSED if is_about_versions else EVERY_ADVERTISED_VERSION_SERVED]


class CrashJudge:
    """Runner of the bodies of one property that records violations of other clauses.

    One such clause is about the end of the target.

    Attributes:
        failed_elsewhere: ids of clauses other than the property's own that were violated.
    """

    def __init__(self, judged: JudgedTarget, examples: ExampleRecorder) -> None:
        self.failed_elsewhere: set[str] = set()
        self._judged = judged
        self._examples = examples
        self._is_confirmed = False
        self._witness = witness_for(judged) if isinstance(judged, Broker) else None

    def run(self, body: Body, values: Mapping[str, Any]) -> None:
        """Run a body, and find out whether the example is the cause if the target ends.

        The target is one that is started again, by the suite or by others.

        Raises:
            TargetEnded: the example ends the target, and ends a fresh one as well.
            AssertionError: the target violates the property's clauses in another way.
            HarnessError: the example could not be judged.
        """
        try:
            run_body(self._judged, body, values)
        except AssertionError as error:
            if not self._judged.was_away():
                if not self.blame_for_stop(values):
                    raise
                run_body(self._judged, body, values)
                return
            # What it does now counts.
            run_body(self._judged, body, values)
            raise HarnessError(
                "the target closed every connection for a while, and served the same request afterwards: something "
                "started it again, or it was not reached meanwhile"
            ) from error
        except BrokerGone as gone:
            if self._refuses_for_good(gone):
                self._blame_for_stop(str(gone), values)
                run_body(self._judged, body, values)
                return
            if not self._judged.revives():
                raise self.blame_for_end(gone, values) from gone
            if not self._is_confirmed:
                self._confirm(body, values, gone)
            raise _crash_error(gone) from gone

    def blame(self, error: TargetEnded, steps: tuple[Step, ...], values: Mapping[str, Any]) -> None:
        """Record a crash as a violation of the clause about crashes, unless that is the property's own."""
        clause = clause_of_crash(steps)
        if not self._examples.is_about(clause) and self._examples.is_planned(clause):
            self.differs(clause, error, steps, self._examples.drawn(values))

    def blame_for_end(self, gone: BrokerGone, values: Mapping[str, Any]) -> BrokerGone:
        """Record the end of a target that is not started again, and end all judging of it.

        The latest example that sent anything is to blame: the current one, or the one before it. No example is blamed
        for the end of a target to which other processes sent requests as well.

        Returns:
            Why nothing more can be judged; the reason names the violated clause.
        """
        judged = self._judged
        if isinstance(judged.unreadable, BrokerGone):
            return judged.unreadable
        steps = judged.last_sent
        if not steps:
            return gone
        if judged.is_shared:
            judged.unreadable = BrokerGone(
                f"{gone}; several properties were judged at the same time, so it is not known which request ended it: "
                "judge it with --jobs 1. Nothing more is sent; earlier results are kept"
            )
            return judged.unreadable
        clause = clause_of_crash(steps)
        if not self._examples.is_planned(clause):
            clause = self._examples.clauses[0]
        drawn = self._examples.drawn(values) if steps == tuple(judged.journal) else ""
        self.differs(clause, _crash_error(gone), steps, drawn)
        judged.unreadable = BrokerGone(
            f"{gone}; {clause.id} judges this. Nothing more is sent; earlier results are kept"
        )
        return judged.unreadable

    def blame_for_stop(self, values: Mapping[str, Any]) -> bool:
        """Record that the target has stopped serving new connections, if it has.

        The target stopped after what was sent. Start it again if the suite can.

        Returns:
            Whether there is a fresh target.

        Raises:
            BrokerGone: it has stopped, and is not started again: nothing more can be judged.
        """
        exchanges = (each for step in self._judged.journal for each in step.exchanges)
        # A target that serves nothing leaves something unanswered.
        return any(each.payload is None for each in exchanges) and self._find_stop(values)

    def _find_stop(self, values: Mapping[str, Any]) -> bool:
        judged = self._judged
        outcome = how_it_stopped(judged) if isinstance(judged, Broker) else None
        if outcome is None:
            return False
        does = "closes each new one" if outcome is Outcome.CLOSED else "is silent on each new one"
        how = f"{judged.target.id} accepts connections, but {does}, also with a plain request"
        if judged.can_restart:
            self._blame_for_stop(how, values)
            return True
        # What is in front of a target that was shut down, or is not reached, accepts connections as well.
        if self._witness is None or not self._witness.is_served():
            judged.unreadable = BrokerGone(
                f"{how}; it may have stopped because of what was sent last, or it was shut down, or is not reached. Nothing more "
                "is sent; earlier results are kept"
            )
            raise judged.unreadable
        self._blame_for_stop(f"{how}; one that was opened before is still served", values)
        return True

    def _refuses_for_good(self, gone: BrokerGone) -> bool:
        """Return whether a target that we started still runs, and refuses every connection."""
        judged = self._judged
        is_ours = isinstance(judged, Broker) and judged.can_restart and not judged.is_shared
        return is_ours and isinstance(gone, AcceptsNothing) and stays_up(cast(Broker, judged))

    def _blame_for_stop(self, how: str, values: Mapping[str, Any]) -> None:
        """Record a stop, and start the target again; see `blame_for_stop`."""
        judged = self._judged
        assert isinstance(judged, Broker)
        steps = judged.suspects
        clause = clause_of_crash(steps)
        if not self._examples.is_planned(clause):
            clause = self._examples.clauses[0]
        drawn = self._examples.drawn(values) if steps == tuple(judged.journal) else ""
        self.differs(clause, TargetStopped(f"{STOPPED}\n{how}"), steps, drawn)
        judged.stops += 1
        if judged.stops <= MAX_STOPS and judged.can_restart:
            judged.restart()
            return
        judged.unreadable = BrokerGone(
            f"{how}; {clause.id} judges this. Nothing more is sent; earlier results are kept"
        )
        raise judged.unreadable

    def _confirm(self, body: Body, values: Mapping[str, Any], gone: BrokerGone) -> None:
        """Run a body on the fresh target; return if it ends that one as well."""
        try:
            run_body(self._judged, body, values)
            # After its response or close, a process may take a moment to end.
            self._judged.await_end()
        except BrokerGone:
            self._is_confirmed = True
            # If it does not start again, the next connection reports that.
            with suppress(HarnessError):
                self._judged.restart()
            return
        raise HarnessError(f"{gone}; the same bytes did not end it again") from gone

    def end(self, *, is_clean: bool) -> None:
        """End the property, and record a target that serves nothing any more or an epoch that fell.

        The epoch belongs to the features in the target's responses.

        Args:
            is_clean: whether the property ended without an error.
        """
        if not is_clean or self._judged.patience.was_tried or self._ends_malformed():
            # The reason is kept in `unreadable`, or the next property meets it.
            with suppress(HarnessError):
                self._find_stop({})
        if self._witness is not None:
            self._witness.close()
        with suppress(HarnessError):
            self._judge_epochs()

    def _ends_malformed(self) -> bool:
        """Return whether malformed requests came last while a witness is open.

        The witness of the next property would come too late.
        """
        last_sent = self._judged.last_sent if self._witness is not None else ()
        return clause_of_crash(last_sent).id == MALFORMED_HURTS_NOBODY

    def _judge_epochs(self) -> None:
        clause = catalogue()[EPOCH_MONOTONE]
        if not isinstance(self._judged, Broker) or self._examples.is_about(clause):
            return
        try:
            assert_epoch_never_fell(self._judged)
        except EpochFell as error:
            if self._examples.may_violate(clause) and lists_features(self._judged):
                self.differs(clause, error, error.steps)

    def differs(self, clause: Clause, error: AssertionError, steps: tuple[Step, ...], drawn: str = "") -> None:
        """Record an example that violates a clause, which may be another one than those of the property.

        Args:
            clause: the clause.
            error: the violation.
            steps: what shows it.
            drawn: the values of the example; empty if no single example of the property shows it.
        """
        if not self._examples.is_about(clause):
            self.failed_elsewhere.add(clause.id)
        self._examples.for_clause(clause).differs(error, steps, drawn=drawn)


def _crash_error(gone: BrokerGone) -> TargetEnded:
    """Return the end of a target as a violation, the line that states the reason first."""
    return TargetEnded("\n".join(crash_in_words(str(gone))))
