"""The pytest plugin that connects targets, properties and records.

It plans the cells, judges the examples and classifies the failures.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis.errors import Flaky

from clauses import marks
from clauses.catalogue import Clause, catalogue
from conformance.engine.budgets import examples_on
from conformance.engine.examples_ahead import examples_ahead
from conformance.engine.expectations import drop_unneeded, unmatched_expectations
from conformance.engine.failing_examples import one_by_one
from conformance.engine.hypothesis_profiles import (
    UNSHRUNK,
    load_profile,
    own_seed,
    profile_name,
    seed_for_place,
)
from conformance.engine.interrupts import INTERRUPTS
from conformance.engine.overlapping import JUDGE_EXAMPLE, Overlap, RejudgeSequentially
from conformance.engine.planning import (
    is_judged,
    is_left_out,
    judges_client,
    listener_of,
    planned_run,
    tries_operation,
)
from conformance.engine.prerequisites import why_not_applicable
from conformance.engine.property_judge import JUDGE, PropertyJudge
from conformance.engine.pytest_reports import explain
from conformance.engine.repeating import Repeater
from conformance.runs.run_identity import asks_for_everything, target_facts
from fixtures.errors import HarnessError, NoCredentials
from fixtures.plugin import TARGETS, kind_of
from fixtures.registry.targets import Target
from fixtures.tiers import Kind, tier_in, tier_name
from fixtures.under_test.broker import Broker
from fixtures.under_test.spare_target import SpareTarget
from reports.plugin import RECORDER, clauses_of, show_by_verdict
from reports.records import Verdict
from reports.run.allure_results import label_result
from reports.run.exit_status import ENDED_EARLY
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from reports.run.run_writer import RunWriter
from reports.run.target_facts import NOT_STARTED
from strategies.hypothesis_adapter import (
    body_of,
    is_drawn,
    max_examples_changed,
    pinned_examples,
    replace_body,
    set_seed,
)

REPEATER = pytest.StashKey[Repeater]()
"""Repeats the failures of the current target."""
FAILED_ELSEWHERE = pytest.StashKey[Collection[str]]()
"""Clauses that an example of the property violated, other than the property's own."""
PARTLY = pytest.StashKey[bool]()
"""Set if more was deselected than the tier leaves out."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load Hypothesis's settings before any test module is imported, and choose a seed if none is given."""
    INTERRUPTS.remember()
    if config.option.hypothesis_seed is None:
        seed = seed_for_place()
        # Must happen before Hypothesis's own plugin reads the option.
        config.option.hypothesis_seed = None if seed is None else str(seed)
    load_profile(tier_in(config), seed=_seed(config))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check the clauses that properties name, deselect what the tier leaves out, and plan the cells."""
    tier, kind = tier_in(config), kind_of(config)
    left_out = [item for item in items if is_judged(item) and is_left_out(item, tier, kind)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    judged = [item for item in items if is_judged(item)]
    if judged and config.option.tbstyle == "auto":
        # The report of a failing property shows bytes, so pytest need not read our source for each traceback.
        config.option.tbstyle = "native"
    for item in judged:
        # An unknown clause ends the run before its folder is created.
        clauses_of(item)
        _judge_examples(item)
    if judged and not config.option.collectonly:
        name = tier_name(tier, kind)
        is_whole = asks_for_everything(config) and PARTLY not in config.stash
        config.stash[RECORDER] = planned_run(
            judged,
            RunWriter(
                Path(config.getoption("--runs")),
                catalogue=catalogue(),
                tier=name,
                seed=_seed(config),
                whole=is_whole,
                corrects=config.getoption("--corrects"),
                pinned_examples=_pinned_examples(judged),
            ),
            name,
        )
        if kind is not Kind.MALFORMED:
            config.stash[RECORDER].sends_less()


def _pinned_examples(items: Iterable[pytest.Item]) -> dict[str, int]:
    """Count the pinned examples of each property; they run first, on every target."""
    return {
        _name_of(item): len(pinned_examples(item.obj))  # type: ignore[attr-defined]
        for item in items
    }


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Mark the run as partial if a property of the tier is deselected."""
    for item in items:
        if not is_left_out(item, tier_in(item.config), kind_of(item.config)):
            item.config.stash[PARTLY] = True


def _seed(config: pytest.Config) -> int | None:
    """Return the seed that examples are drawn with; None for a derandomized profile if no seed is given."""
    seed = config.option.hypothesis_seed
    return int(seed) if seed is not None and str(seed).isdecimal() else None


def _judge_examples(item: pytest.Item) -> None:
    """Insert the judge between Hypothesis and the test's body, once per test function."""
    if any(map(item.get_closest_marker, (marks.STORED, marks.SWEPT))):
        # Such a test passes its examples to the judge itself.
        return
    test = item.obj  # type: ignore[attr-defined]
    if not is_drawn(test):
        raise pytest.UsageError(
            f"{item.nodeid}: a property needs @given, or the mark stored or swept"
        )
    body = body_of(test)
    if not hasattr(body, "judged"):
        replace_body(test, _judged(body))
    if not judges_client(item) and not tries_operation(item):
        # Properties of clients keep one seed, because each script that two of them draw is played only once.
        seed = _seed(item.config)
        set_seed(test, None if seed is None else own_seed(_name_of(item), seed))


def _judged(body: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(body)
    def run(**values: Any) -> None:
        INTERRUPTS.check()
        JUDGE_EXAMPLE.get()(body, values)

    run.judged = True  # type: ignore[attr-defined]
    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Skip a property that does not apply to the target; judge every other one."""
    recorder = item.config.stash.get(RECORDER, None)
    clauses = clauses_of(item)
    if recorder is None or not clauses or judges_client(item) or tries_operation(item):
        return (yield)
    try:
        return (yield from _judge_property(item, recorder, clauses))
    except NoCredentials as lack:
        listener = listener_of(item)
        for clause in clauses:
            key = CellKey(clause.id, listener.target.id, listener.listener)
            recorder.not_applicable(key, str(lack))
        pytest.skip(f"not applicable: {lack}")


def _judge_property(
    item: pytest.Item, recorder: RunRecorder, clauses: tuple[Clause, ...]
) -> Generator[None, None, None]:
    """Judge a property on the target that its test was given."""
    broker: Broker = item.funcargs["broker"]  # type: ignore[attr-defined]
    note_target(recorder, broker)
    broker.begin_property(*(clause.id for clause in clauses))
    needs = [need for mark in item.iter_markers(marks.NEEDS) for need in mark.args]
    for clause in clauses:
        reason = why_not_applicable(clause, needs, broker)
        if reason is not None:
            recorder.not_applicable(CellKey(clause.id, broker.target.id, broker.listener), reason)
            pytest.skip(f"not applicable: {reason}")
        label_result(clause, listener_of(item).id)
    is_secondary = _is_on_secondary_listener(item, broker)
    judge = PropertyJudge(
        recorder,
        broker,
        clauses,
        _name_of(item),
        is_secondary_listener=is_secondary,
        distance_s=broker.distance_s,
        pinned=_pinned_examples([item])[_name_of(item)],
    )
    JUDGE.set(judge)
    try:
        with _fewer_examples(item, broker) if is_secondary else nullcontext():
            return (yield from _run_examples(item, judge, broker))
    except (AssertionError, Flaky):
        if profile_name() != UNSHRUNK:
            repeater = _repeater(item.config, broker.target)
            judge.repeat_failures(one_by_one(partial(repeater.repeat, broker)))
        raise
    finally:
        item.stash[FAILED_ELSEWHERE] = judge.failed_elsewhere


def _run_examples(
    item: pytest.Item, judge: PropertyJudge, broker: Broker
) -> Generator[None, None, None]:
    """Run a property's examples: several at the same time as long as all conform, unless it compares them."""
    in_order = item.get_closest_marker(marks.IN_ORDER) is not None
    pinned = () if in_order else pinned_examples(item.obj)  # type: ignore[attr-defined]
    with examples_ahead(judge, broker, pinned) as ahead:
        if ahead is None:
            overlap = Overlap(judge.judge)
        else:
            overlap = Overlap(ahead.judge, awaited=ahead.awaited, at_once=ahead.at_once)
        JUDGE_EXAMPLE.set(judge.judge if in_order else overlap.judge)
        try:
            result = yield
            overlap.end()
            INTERRUPTS.check()
        except RejudgeSequentially as found:
            judge.begin_again(found.__cause__)
            if ahead is not None:
                ahead.begin_again()
            result = item.runtest()
        judge.raise_first()
        return result


def _repeater(config: pytest.Config, target: Target) -> Repeater:
    """Return the repeater of a target; the repeater of the previous target is closed."""
    repeater = config.stash.get(REPEATER, None)
    if repeater is None or repeater.target is not target:
        _end_repeater(config)
        spare = SpareTarget(target, config.getoption("--launcher"))
        repeater = Repeater(spare, tier=tier_in(config))
        config.stash[REPEATER] = repeater
    return repeater


def _end_repeater(config: pytest.Config) -> None:
    repeater = config.stash.get(REPEATER, None)
    if repeater is None:
        return
    del config.stash[REPEATER]
    try:
        repeater.close()
    except (OSError, HarnessError) as error:
        # The verdicts remain valid, and the run must still get its footer.
        warnings.warn(f"the broker for repeats was not stopped cleanly: {error}", stacklevel=1)


def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | pytest.Session | None
) -> None:
    """Stop the broker that a target's failures were repeated on, so that it disturbs no other target."""
    if not clauses_of(item):
        return
    # In a process that judges a share, the session takes the place of the next property, which is about the same target.
    same = isinstance(nextitem, pytest.Session) or (
        nextitem is not None and _is_about(nextitem, listener_of(item).target)
    )
    if not same:
        _end_repeater(item.config)


def _is_about(item: pytest.Item, target: Target) -> bool:
    return bool(clauses_of(item)) and listener_of(item).target is target


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Stop the broker that failures were repeated on, and report the declarations that a whole run matched with nothing."""
    _end_repeater(session.config)
    recorder = session.config.stash.get(RECORDER, None)
    sends_all = kind_of(session.config) is Kind.MALFORMED
    if recorder is not None and sends_all and exitstatus not in ENDED_EARLY:
        targets = {chosen.target.id: chosen.target for chosen in session.config.stash[TARGETS]}
        drop_unneeded(recorder, targets.values())
        recorder.stale_expectations += unmatched_expectations(recorder, targets.values())


def _is_on_secondary_listener(item: pytest.Item, broker: Broker) -> bool:
    """Return whether a property runs fewer examples because the listener is not the target's first."""
    first = broker.listener == broker.target.listeners[0]
    return not first and item.get_closest_marker(marks.EXHAUSTIVE) is None


def _fewer_examples(item: pytest.Item, broker: Broker) -> AbstractContextManager[None]:
    """Make a property draw only a share of its examples inside the block."""
    change = partial(examples_on, broker.listener, broker.target.listeners)
    return max_examples_changed(item.obj, change)  # type: ignore[attr-defined]


def _name_of(item: pytest.Item) -> str:
    return str(item.function.__name__)  # type: ignore[attr-defined]


def note_target(recorder: RunRecorder, broker: Broker) -> None:
    """Record once how a target was started."""
    running = broker.running
    if recorder.targets[broker.target.id].launcher == NOT_STARTED:
        facts = target_facts(broker.target, launcher=running.launcher, artefacts=running.artefacts)
        recorder.target_started(facts)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep a failure's evidence, and report only gating violations as failed."""
    report = yield
    recorder = item.config.stash.get(RECORDER, None)
    clauses = clauses_of(item)
    if recorder is None or not clauses:
        return report
    if report.skipped:
        show_by_verdict(report, Verdict.NOT_APPLICABLE)
    else:
        listener = listener_of(item)
        ids = [clause.id for clause in clauses]
        if call.when == "call":
            elsewhere: Collection[str] = item.stash.get(FAILED_ELSEWHERE, frozenset[str]())
            ids += sorted(elsewhere)
        keys = [CellKey(id_, listener.target.id, listener.listener) for id_ in ids]
        strict = item.config.getoption("--strict-should")
        explain(report, call, recorder, keys, _name_of(item), strict=strict)
    return report
