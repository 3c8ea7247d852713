"""Pytest plugin that keeps the run folder, verdicts and exit status of a run."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from clauses.catalogue import CatalogueError, Clause
from clauses.clause_sets import EVERYTHING, NEXT, ClauseSet, clause_set, clause_sets
from clauses.marks import CLAUSE, MARKS
from clauses.operations import clause_or_row
from reports.command_line.extras import GRID, MissingExtra, check_extra
from reports.command_line.job_log import commands_stopped
from reports.records import VERDICTS_WITH_FAILURES, Verdict
from reports.run.exit_status import ENDED_EARLY, ExitStatus, exit_status_of, reason_of
from reports.run.recorder import RunRecorder, remarks
from reports.run.run_summary import summary_markdown
from reports.run.run_writer import load
from reports.run.terminal_failures import failure_lines
from reports.run.terminal_lines import MARKUP, Line
from reports.run.verdict_table import verdict_table
from reports.run_folders.record_paths import fault_of_runs
from reports.wording.verdict_labels import SYMBOLS, WORDS

RECORDER = pytest.StashKey[RunRecorder]()
"""The run's recorder; absent if nothing is judged."""
_SESSION = pytest.StashKey[pytest.Session]()

RUN_FOLDER_FILE = "--run-folder-file"
"""The option with which a program that starts the suite learns the run folder."""


_SHOWN_BY = "shown_by_verdict"


def folder_for_runs(text: str) -> str:
    """Return the value of `--runs`.

    Raises:
        argparse.ArgumentTypeError: no reader could use a run in that folder.
    """
    if fault := fault_of_runs(text):
        raise argparse.ArgumentTypeError(fault)
    return text


def set_named(name: str) -> ClauseSet:
    """Return the value of `--clauses`.

    Raises:
        argparse.ArgumentTypeError: there is no such set.
    """
    try:
        return clause_set(name)
    except CatalogueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the records."""
    group = parser.getgroup("kafka-conformance", "Kafka conformance: records")
    group.addoption(
        "--runs",
        type=folder_for_runs,
        default="runs",
        metavar="DIR",
        help="folder in which the run creates its own folder (default: runs)",
    )
    group.addoption(
        RUN_FOLDER_FILE,
        metavar="FILE",
        type=Path,
        help="file that gets the path of the run folder, for programs that start the suite",
    )
    group.addoption(
        "--corrects",
        metavar="RUN_ID",
        help="run id of an earlier run; in the history, this run replaces it for every target that both judge",
    )
    group.addoption(
        "--clauses",
        type=set_named,
        default=EVERYTHING,
        metavar="SET",
        help=f"judge by what a release of this suite asked ({', '.join(clause_sets())}): what is newer is judged and shown "
        f"as well, and fails nothing (default: {NEXT}, everything)",
    )
    group.addoption(
        "--strict-should",
        action="store_true",
        help="a violated SHOULD also fails the run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks."""
    for mark, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Have a CI job's log carry out no commands until the end: what comes may have words of the target in it."""
    session.config.stash[_SESSION] = session
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    stopped = ExitStack()
    # Not to standard output, which pytest captures.
    stopped.enter_context(commands_stopped(lambda text: reporter.write(text, flush=True)))
    session.config.add_cleanup(stopped.close)


def clauses_of(item: pytest.Item) -> tuple[Clause, ...]:
    """Return the clauses, or the row of the grid of operations, that a test names, with the levels of the run's set.

    Raises:
        pytest.UsageError: one is not in the catalogue.
    """
    try:
        named = [clause_or_row(mark.args[0]) for mark in item.iter_markers(CLAUSE)]
    except CatalogueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error
    asked: ClauseSet = item.config.getoption("--clauses")
    return tuple(map(asked.as_asked, named))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Say where the run folder is, and end a run before its first test if that cannot be written."""
    recorder = session.config.stash.get(RECORDER, None)
    if recorder is None:
        return
    if recorder.writer.fault:
        pytest.exit(recorder.writer.fault, returncode=ExitStatus.HARNESS_ERROR)
    _tell_run_folder(session.config.getoption(RUN_FOLDER_FILE), recorder)


def _tell_run_folder(file: Path | None, recorder: RunRecorder) -> None:
    """Write the path of the run folder to a file, instead of whatever a client or broker may have put there."""
    if file is not None:
        file.unlink(missing_ok=True)
        file.write_text(str(recorder.writer.folder.resolve()), encoding="utf-8")


def run_folder_in(file: Path) -> Path | None:
    """Return the run folder that a run wrote into its file; None if the run ended before it had one."""
    return Path(file.read_text(encoding="utf-8")) if file.is_file() else None


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Note the load of the machine, and judge nothing more once the records cannot be written."""
    note_progress(item.session)


def note_progress(session: pytest.Session) -> None:
    """Do after each property what a run has to: see `pytest_runtest_teardown`."""
    recorder = session.config.stash.get(RECORDER, None)
    if recorder is None:
        return
    recorder.writer.note_load(load())
    if recorder.writer.fault:
        session.shouldstop = "judging stops, because results cannot be recorded"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Set the exit status from the cells, and write the footer last."""
    recorder = session.config.stash.get(RECORDER, None)
    if recorder is None:
        return
    if recorder.stopped:
        # By an interrupt. pytest may know of another error that Python made of it.
        exitstatus = pytest.ExitCode.INTERRUPTED
    elif exitstatus in ENDED_EARLY:
        recorder.stop()
    strict = session.config.getoption("--strict-should")
    status = exit_status_of(recorder, pytest_status=exitstatus, strict=strict)
    summary = recorder.writer.folder / "summary.md"
    recorder.writer.attempt(lambda: summary.write_text(summary_markdown(recorder)))
    if recorder.stopped:
        # Keep what was judged; without a footer no reader takes the folder for a complete run.
        recorder.writer.flush()
    else:
        recorder.finish(int(status))
    # Now that nothing of others runs any more.
    recorder.writer.attempt(lambda: _tell_run_folder(session.config.getoption(RUN_FOLDER_FILE), recorder))
    if recorder.writer.fault:
        status = exit_status_of(recorder, pytest_status=exitstatus, strict=strict)
    session.exitstatus = status


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_keyboard_interrupt() -> Generator[None, object, object]:
    """Complain about nothing that is not closed: an interrupt comes between `open` and `with`, too."""
    warnings.simplefilter("ignore")
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_unconfigure(config: pytest.Config) -> Generator[None, object, None]:
    """Keep the exit status when pytest finds at the very end that something was not closed.

    It would end with 1, which is a violation.
    """
    try:
        yield
    except Exception as error:
        session = config.stash.get(_SESSION, None)
        if session is None or RECORDER not in config.stash:
            raise
        sys.stderr.write("a bug in this suite; please report it:\n")
        traceback.print_exception(error)
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = ExitStatus.HARNESS_ERROR


def show_by_verdict(report: pytest.TestReport, verdict: Verdict) -> None:
    """Have pytest count a property under its verdict; its own lists of failed and skipped tests then leave it out.

    The findings of the run have all that is to say about it.
    """
    setattr(report, _SHOWN_BY, verdict.value)


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, tuple[str, Mapping[str, bool]]] | None:
    """Return count, symbol, and word with colour of a property that did not pass.

    Failures are counted as findings, because what is repeated at the end of a run may change the verdict.
    """
    value = getattr(report, _SHOWN_BY, None)
    if value is None:
        return None
    verdict = Verdict(value)
    count = "with findings" if verdict in VERDICTS_WITH_FAILURES else WORDS[verdict]
    return count, SYMBOLS[verdict], (WORDS[verdict], MARKUP.get(verdict, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the findings, the verdicts, and the path of the records; with `-v` also what conforms or does not apply."""
    recorder = terminalreporter.config.stash.get(RECORDER, None)
    if recorder is None:
        return
    terminalreporter.section("verdicts")
    width = terminalreporter._tw.fullwidth
    complete = terminalreporter.config.get_verbosity() > 0
    config = terminalreporter.config
    # The exit status that pytest passes to this hook is the one from before the cells decided it.
    status = int(config.stash[_SESSION].exitstatus)
    reason = reason_of(recorder, status, strict=config.getoption("--strict-should"))
    for line in (
        *failure_lines(recorder, width=width, complete=complete),
        *verdict_table(recorder, width=width, complete=complete, status=status, reason=reason),
        *map(Line, remarks(recorder)),
    ):
        terminalreporter.write_line(line.text, **line.markup)
    terminalreporter.write_line("")
    if recorder.writer.fault:
        terminalreporter.write_line(recorder.writer.fault, red=True, bold=True)
        return
    folder = recorder.writer.folder
    terminalreporter.write_line(f"records: {folder}")
    terminalreporter.write_line(f"load:    {recorder.writer.load_words}")
    seed = recorder.writer.header["seed"]
    if seed is not None:
        terminalreporter.write_line(f"seed:    --hypothesis-seed {seed} draws the same examples again")
    if recorder.stopped:
        terminalreporter.write_line("the run was interrupted, so the grid will leave out its folder")
    else:
        terminalreporter.write_line(f"report:  {_how_to_report(folder)}")


def _how_to_report(folder: Path) -> str:
    """Return the command that makes a grid of a run, or what has to be installed for it."""
    try:
        check_extra(GRID, "kafka-conformance grid")
    except MissingExtra as missing:
        return missing.message
    return f"kafka-conformance grid {folder} --out report"
