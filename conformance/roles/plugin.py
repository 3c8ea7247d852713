"""The pytest plugin that connects targets, properties and records, for every role.

It plans the cells, has the role of the run judge each property, and keeps the evidence of failures.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator
from pathlib import Path

import pytest

from clauses import marks
from clauses.catalogue import catalogue
from conformance.engine.baseline_update import update_baseline
from conformance.engine.hypothesis_profiles import load_profile, own_seed, recorded_seed
from conformance.engine.planning import (
    checks_of,
    chosen_of,
    drop_unneeded,
    is_about,
    is_judged,
    is_left_out,
    is_malformed_alone,
    newer_last,
    planned_run,
    unmatched_expectations,
)
from conformance.engine.pytest_reports import explain
from conformance.roles.role import FAILED_ELSEWHERE, PARTLY
from conformance.roles.role_registry import EVERY_ROLE, role_of, role_of_run, roles_of
from conformance.runs.needed_extras import check_clients_can_start, check_targets_can_start
from conformance.runs.run_identity import SUITE, asks_for_everything
from fixtures.choosing.clients import CLIENTS, tries_operations
from fixtures.choosing.listeners import TARGETS, judges_elsewhere, kind_of
from fixtures.choosing.target_options import AUTO
from fixtures.cleanup.confinement import kept_from_others
from fixtures.cleanup.ending_signals import INTERRUPTS, keep_exit_status
from fixtures.errors import NoCredentials
from fixtures.registry.baselines import InvalidBaseline
from fixtures.run_size import Kind, tier_in, tier_name
from reports.command_line.extras import MissingExtra
from reports.plugin import RECORDER, clauses_of, show_by_verdict
from reports.records import Verdict
from reports.run.allure_results import label_result
from reports.run.exit_status import ENDED_EARLY, ExitStatus
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from reports.run.run_writer import RunWriter
from strategies.hypothesis_adapter import is_drawn, pinned_examples, set_seed

_BASELINE = pytest.StashKey[str]()
"""What was written into the baseline, in one sentence."""
_OF_OTHERS = pytest.StashKey[set[Path]]()
"""The folders of the properties of other roles than that of the run."""


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the modules of the roles as plugins, so that each can bring options, hooks and fixtures of its own."""
    for name in dict.fromkeys(role.__module__ for role in EVERY_ROLE):
        if not pluginmanager.is_registered(sys.modules[name]):
            pluginmanager.register(sys.modules[name], name)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Have other people's programs write nothing where the run is kept, from the first that is started."""
    with kept_from_others(Path(config.getoption("--runs"))):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load Hypothesis's settings before any test module is imported, and choose a seed if none is given."""
    INTERRUPTS.handle()
    if config.option.hypothesis_seed is None:
        seed = recorded_seed()
        # Must happen before Hypothesis's own plugin reads the option.
        config.option.hypothesis_seed = None if seed is None else str(seed)
    load_profile(tier_in(config), seed=_seed(config))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse a command line that asks for something that a role cannot judge, or that is not installed."""
    config = session.config
    try:
        check_clients_can_start("judge", (each.client for each in config.stash[CLIENTS]))
        # Clients alone are judged with brokers that the suite plays.
        if tries_operations(config) or not config.stash[CLIENTS]:
            check_targets_can_start("judge", (each.target for each in config.stash[TARGETS]))
    except MissingExtra as error:
        raise pytest.UsageError(error.message) from error
    for role in roles_of(session.config):
        role.refuse()


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
    if len(judged) == len(items):
        items[:] = judged = newer_last(judged, config.getoption("--clauses"))
    if judged and config.option.tbstyle == "auto":
        # The report of a failing property shows bytes, so pytest need not read our source for each traceback.
        config.option.tbstyle = "native"
    for item in judged:
        # An unknown clause ends the run before its folder is created.
        clauses_of(item)
        _prepare(item)
    if judged and not config.option.collectonly:
        name = tier_name(tier, kind)
        folders = [role.folder for role in roles_of(config)]
        is_whole = asks_for_everything(config, folders) and PARTLY not in config.stash
        config.stash[RECORDER] = planned_run(
            judged,
            RunWriter(
                Path(config.getoption("--runs")),
                catalogue=catalogue(),
                tier=name,
                seed=_seed(config),
                whole=is_whole,
                corrects=config.getoption("--corrects"),
                pinned_examples={
                    _name_of(item): len(pinned_examples(item.obj))  # type: ignore[attr-defined]
                    for item in judged
                },
                clause_set=config.getoption("--clauses").name,
            ),
            tier=name,
            clause_set=config.getoption("--clauses"),
            role=role_of(judged[0]).name,
            malformed=[item for item in left_out if is_malformed_alone(item, tier, kind)],
        )
        config.stash[RECORDER].options_of_replay = options_of_replay(config)
        if kind is not Kind.MALFORMED:
            config.stash[RECORDER].sends_less()


def options_of_replay(config: pytest.Config) -> tuple[str, ...]:
    """Return the command line's options for reaching targets, for use with `replay`.

    A stored failure does not contain these options.
    """
    values = {option: config.getoption(option) for option in ("--launcher", "--command-config")}
    words = (word for option, value in values.items() if value not in (None, AUTO) for word in (option, value))
    return (*words, *(["--even-remote"] if judges_elsewhere(config) else []))


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Mark the run as partial if a property of the tier is deselected."""
    for item in items:
        if not is_left_out(item, tier_in(item.config), kind_of(item.config)):
            item.config.stash[PARTLY] = True


def _seed(config: pytest.Config) -> int | None:
    """Return the seed that examples are drawn with; None for a derandomized profile if no seed is given."""
    seed = config.option.hypothesis_seed
    return int(seed) if seed is not None and str(seed).isdecimal() else None


def _prepare(item: pytest.Item) -> None:
    """Check that a property's examples can be judged, and give it a seed of its own.

    Properties of clients keep one seed, because each script that two of them draw is played only once.
    """
    if checks_of(item.iter_markers()):
        # Such a test passes its examples to the judge itself.
        return
    test = item.obj  # type: ignore[attr-defined]
    if not is_drawn(test):
        raise pytest.UsageError(
            f"{item.nodeid}: a property needs @given, or the mark stored or swept with its {marks.CHECKS}"
        )
    if not role_of(item).shares_examples:
        seed = _seed(item.config)
        set_seed(test, None if seed is None else own_seed(_name_of(item), seed))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Add the folders of proposals to a command line that asks for all properties of the run's role."""
    config = session.config
    paths = {(config.invocation_params.dir / argument).resolve() for argument in config.args}
    own, *proposed = role_of_run(config).folders()
    if not paths.isdisjoint({SUITE, own}):
        config.args += map(str, proposed)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect only the properties of the run's role."""
    if _OF_OTHERS not in config.stash:
        every = {folder for role in roles_of(config) for folder in role.folders()}
        config.stash[_OF_OTHERS] = every - {*role_of_run(config).folders()}
    return True if collection_path in config.stash[_OF_OTHERS] else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Have the role judge a property that applies to its target; skip any other."""
    recorder = item.config.stash.get(RECORDER, None)
    clauses = clauses_of(item)
    if recorder is None or not clauses:
        return (yield)
    role = role_of(item)
    judged = item.funcargs[role.parameter]  # type: ignore[attr-defined]
    needs = [need for mark in item.iter_markers(marks.NEEDS) for need in mark.args]
    try:
        role.begin(item, judged)
        reasons = [role.why_not_applicable(clause, needs, judged) for clause in clauses]
        for clause in clauses:
            label_result(clause, chosen_of(item).id)
        if not any(reasons):
            yield from role.judge(item, judged)
            return
    except NoCredentials as lack:
        reasons = [str(lack)] * len(clauses)
    for clause, reason in zip(clauses, reasons, strict=True):
        if reason:
            recorder.not_applicable(CellKey(clause.id, judged.target.id, judged.listener), reason)
    pytest.skip(f"not applicable: {next(filter(None, reasons))}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | pytest.Session | None) -> None:
    """Have the role leave a target after its last property, while the target is still there."""
    if not is_judged(item):
        return
    # In a process that judges a share, the session takes the place of the next property, which is about the same
    # target.
    target = chosen_of(item).target
    if nextitem is None or (isinstance(nextitem, pytest.Item) and not is_about(nextitem, target)):
        role_of(item).leave(item)


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Keep only where the interrupt came: pytest parses the source of each entry, which takes seconds."""
    excinfo.traceback = excinfo.traceback[-1:]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
    """End what roles still have running, and report the declarations that a whole run matched with nothing.

    Once the run is complete, no signal changes its exit status.
    """
    for role in roles_of(session.config):
        role.close()
    recorder = session.config.stash.get(RECORDER, None)
    if recorder is not None and INTERRUPTS.came:
        # Whatever pytest knows of it: the interrupt may have come while it dealt with another error.
        recorder.stop()
    sends_all = kind_of(session.config) is Kind.MALFORMED
    if recorder is not None and sends_all and exitstatus not in ENDED_EARLY:
        compare_declarations(session.config, recorder)
    is_baseline_lost = False
    if recorder is not None and session.config.getoption("--update-baseline"):
        is_whole = not recorder.stopped and exitstatus not in ENDED_EARLY
        is_baseline_lost = not _update_baseline(session.config, recorder, is_whole=is_whole)
    result = yield
    if is_baseline_lost and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = ExitStatus.HARNESS_ERROR
    if recorder is not None and not recorder.stopped:
        keep_exit_status()
    return result


def _update_baseline(config: pytest.Config, recorder: RunRecorder, *, is_whole: bool) -> bool:
    """Write the baseline if the run is whole, and keep what became of it; return False if that was not possible."""
    if not is_whole:
        config.stash[_BASELINE] = "not written, because the run is not whole"
        return True
    (target,) = {each.target.id: each.target for each in role_of_run(config).choose()}.values()
    try:
        config.stash[_BASELINE] = update_baseline(config.getoption("--baseline"), recorder, target)
    except (OSError, InvalidBaseline) as error:
        config.stash[_BASELINE] = f"could not be written: {error}"
        return False
    return True


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was written into the baseline."""
    written = terminalreporter.config.stash.get(_BASELINE, "")
    if written:
        terminalreporter.write_line(f"baseline: {written}")


def compare_declarations(config: pytest.Config, recorder: RunRecorder) -> None:
    """Compare what is declared for the targets of a run, whatever its role is, with what was found."""
    chosen = role_of_run(config).choose()
    targets = {each.target.id: each.target for each in chosen if each.target.id in recorder.targets}
    drop_unneeded(recorder, targets.values())
    recorder.stale_expectations += unmatched_expectations(recorder, targets.values())


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Let no further signal change the exit status of a run that was interrupted."""
    if INTERRUPTS.came:
        keep_exit_status()


def _name_of(item: pytest.Item) -> str:
    return str(item.function.__name__)  # type: ignore[attr-defined]


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
        chosen = chosen_of(item)
        ids = [clause.id for clause in clauses]
        if call.when == "call":
            elsewhere: Collection[str] = item.stash.get(FAILED_ELSEWHERE, frozenset[str]())
            ids += sorted(elsewhere)
        keys = [CellKey(id_, chosen.target.id, chosen.listener) for id_ in ids]
        strict = item.config.getoption("--strict-should")
        explain(report, call, recorder, keys, _name_of(item), strict=strict)
    return report
