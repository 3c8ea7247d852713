"""Runs the suite against several targets, one run each, for the `matrix` command."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clauses.catalogue import catalogue
from clauses.clause_sets import NEXT
from conformance.runs.run_identity import file_sha256
from conformance.runs.suite_processes import EndedRun, SuiteProcesses
from fixtures.artefacts.kafka_home import HOME
from fixtures.cleanup.temporary_folder import temporary_folder
from fixtures.images.broker_image import ran_from_wanted_image
from fixtures.launchers import is_as_wanted
from fixtures.registry.targets import Target
from reports.plugin import RUN_FOLDER_FILE, run_folder_in
from reports.records import HEADER_FILE, OPERATION, UNSETTLED_VERDICTS
from reports.run.exit_status import ExitStatus
from reports.run.run_folder import Header, complete_runs, run_verdicts
from reports.run.run_writer import suite_facts

LAST_LINES = 12
WORDLESS_STATUSES = (0, 1, *ExitStatus)
"""Exit statuses that a run's records explain; for any other, the run's last lines are shown."""
UNFINISHED_STATUSES = (ExitStatus.HARNESS_ERROR, ExitStatus.INCOMPLETE)
"""Exit statuses of runs that are worth repeating: they could not judge everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRun:
    """One finished run against one target.

    Attributes:
        target: the target's id.
        status: the run's exit status; negative if a signal ended it.
        folder: the run folder; None if there is no complete one.
        seconds: how long the run took; None if it was already done before.
        last_lines: the end of its output, if no records explain its status.
    """

    target: str
    status: int
    folder: Path | None
    seconds: float | None = None
    last_lines: tuple[str, ...] = ()


def finished_runs(
    runs: Path,
    targets: Iterable[Target],
    *,
    tier: str,
    seed: int | None,
    launcher: str,
    operations: Collection[str] = (),
    clause_set: str = NEXT,
) -> Mapping[str, TargetRun]:
    """Return the complete single-target runs below a folder, which need not be repeated.

    Args:
        runs: folder of run folders.
        targets: the targets to run.
        tier: the tier.
        seed: the seed that the runs must have; None accepts any.
        launcher: the launcher that the runs must have used; "auto" accepts any.
        operations: the rows that a run of operations must have; none for runs that judge every clause.
        clause_set: the name of the set of clauses that the runs must have judged by.

    Returns:
        The newest run of each target, by target id.

    Raises:
        HarnessError: the requested kind of image does not exist.
    """
    suite = suite_facts(catalogue())
    wanted = {target.id: target for target in targets}
    finished: dict[str, TargetRun] = {}
    for folder, header in complete_runs(sorted(runs.glob(f"*/{HEADER_FILE}"))):
        is_as_asked = header["tier"] == tier and seed in (None, header.get("seed"))
        is_as_asked = is_as_asked and header.get("clause_set", NEXT) == clause_set
        is_as_asked = is_as_asked and _has_asked_for(header, operations)
        if is_as_asked and _is_of(header, suite) and _is_done(folder, header):
            (facts,) = header["targets"]
            target = wanted.get(facts["id"])
            if target is not None and _was_started_so(target, facts, launcher):
                status = header["footer"]["exit_status"]
                finished[target.id] = TargetRun(target=target.id, status=status, folder=folder)
    return finished


def _was_started_so(target: Target, facts: Mapping[str, Any], launcher: str) -> bool:
    """Return whether a run used the requested launcher and, for a container, the requested kind of image.

    A run of a build counts only if the build is the same, and judged like the same release.
    """
    if HOME in target.launchers and (facts["artefacts"], facts.get("like")) != _build(target):
        return False
    return is_as_wanted(facts["launcher"], launcher) and (
        facts["launcher"] != "container" or ran_from_wanted_image(target, facts["artefacts"])
    )


def _build(target: Target) -> tuple[dict[str, str], str | None]:
    """Return what distinguishes two runs of a build in a folder: its jars, and the release that it is judged like."""
    jars = dict(target.artefacts.jars) if target.artefacts else {}
    return jars, target.like.id if target.like else None


def arguments_naming(target: Target) -> tuple[str, ...]:
    """Return the arguments of `pytest conformance/` that choose a broker: its id, or the folder of a build."""
    if HOME not in target.launchers:
        return "--broker", target.id
    folder = str(target.launchers[HOME]["folder"])
    return "--kafka-home", folder, "--like", target.judged_as.id


def _has_asked_for(header: Header, operations: Collection[str]) -> bool:
    """Return whether a run planned these operations, or else everything that clauses ask of a target."""
    planned = {clause["id"] for clause in header["clauses"] if clause["role"] == OPERATION}
    if operations:
        return planned.issuperset(operations)
    return not planned and header.get("whole") is True


def _is_done(folder: Path, header: Header) -> bool:
    """Return whether a run judged every cell of one target.

    The exit status of a run that found a violation does not show whether other cells are undecided.
    """
    if len(header["targets"]) != 1 or header["footer"]["exit_status"] in UNFINISHED_STATUSES:
        return False
    return not any(verdict in UNSETTLED_VERDICTS for verdict in run_verdicts(folder, header).values())


def _is_of(header: Header, suite: Mapping[str, str | None]) -> bool:
    """Return whether a run used this suite's code and the target's current file.

    Commits are not compared: two commits may have the same code.
    """
    names = ("version", "catalogue_sha256", "code_sha256")
    return all(header["suite"].get(name) == suite[name] for name in names) and all(
        target.get("file_sha256") == file_sha256(target["id"]) for target in header["targets"]
    )


class TargetRuns:
    """Runs against targets, `jobs` at a time."""

    def __init__(
        self,
        runs: Path,
        *,
        options: Sequence[str],
        jobs: int,
        naming: Mapping[str, Sequence[str]],
    ) -> None:
        """Set up without starting a run.

        Args:
            runs: folder for the run folders.
            options: further options for every run.
            jobs: how many run at a time.
            naming: by the target's id, the arguments that choose it.
        """
        self._options = ["--runs", str(runs), *options]
        self._naming = naming
        self._processes = SuiteProcesses[str](jobs=jobs)

    @property
    def current(self) -> tuple[str, ...]:
        """The targets that are being judged."""
        return self._processes.current

    def run(
        self,
        targets: Sequence[str],
        finished: Callable[[TargetRun], None],
        tick: Callable[[], None],
    ) -> None:
        """Run against every target, and end every process, even if an error is raised.

        `tick` is called several times a second.
        """
        with temporary_folder() as files:
            file_of = {target: files / target for target in targets}
            options = {
                target: [*self._naming[target], RUN_FOLDER_FILE, str(file), *self._options]
                for target, file in file_of.items()
            }
            self._processes.run(
                options,
                lambda target, run: finished(_finished(target, run, file_of[target])),
                tick,
            )


def _finished(target: str, run: EndedRun, file: Path) -> TargetRun:
    run_folder = run_folder_in(file)
    headers = [] if run_folder is None else [run_folder / HEADER_FILE]
    folder = next((each for each, _ in complete_runs(headers)), None)
    explained = folder is not None and run.status in WORDLESS_STATUSES
    return TargetRun(
        target=target,
        status=run.status,
        folder=folder,
        seconds=run.seconds,
        last_lines=() if explained else run.lines[-LAST_LINES:],
    )
