"""A run that judged no MUST of a client is no success, and says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from clauses.catalogue import Role
from reports.records import Verdict
from reports.run.exit_status import ExitStatus, exit_status_of
from reports.run.recorder import RunRecorder
from reports.run.run_summary import summary_markdown
from reports.run.terminal import verdict_table
from reports.run.vacuous_clients import NOT_CHOSEN, vacuous_clients
from tests.reports.recorders import example_of, facts_of, key_of, recorder_for

MUST, OTHER, SHOULD = (
    key_of("KIP-35.client-uses-overlap"),
    key_of("KIP-511.client-errors-on-42"),
    key_of("KIP-97.no-doomed-request"),
)


def client_run(folder: Path, *, judged: bool) -> RunRecorder:
    """Return a run with two MUST and a SHOULD that conforms, of which one MUST is judged or none."""
    recorder = recorder_for(folder, {MUST: "MUST", OTHER: "MUST", SHOULD: "SHOULD"})
    recorder.role = Role.CLIENT
    recorder.targets = {MUST.target: facts_of()}
    recorder.not_applicable(MUST, "it never asks")
    recorder.judged(example_of(Verdict.CONFORMS, SHOULD))
    if judged:
        recorder.judged(example_of(Verdict.CONFORMS, OTHER))
    else:
        recorder.not_applicable(OTHER, "it never asks")
    return recorder


@pytest.mark.parametrize(
    ("stopped_short", "why"), [("it never connected", "it never connected"), ("", NOT_CHOSEN)]
)
def test_run_without_a_judged_must_is_incomplete(
    stopped_short: str, why: str, tmp_path: Path
) -> None:
    """The status is 11, and one sentence stands in the terminal and the summary, in place of a success."""
    recorder = client_run(tmp_path, judged=False)
    recorder.stopped_short[MUST.target] = stopped_short
    assert exit_status_of(recorder, pytest_status=0, strict=False) == ExitStatus.INCOMPLETE
    sentence = f"No MUST was judged of {MUST.target}: {why}."
    assert vacuous_clients(recorder) == {MUST.target: sentence}
    assert list(verdict_table(recorder, width=80))[-1].text == sentence
    assert sentence in summary_markdown(recorder)


def test_run_with_a_judged_must_is_whole(tmp_path: Path) -> None:
    """One MUST is enough: many others may not apply."""
    recorder = client_run(tmp_path, judged=True)
    assert vacuous_clients(recorder) == {}
    assert exit_status_of(recorder, pytest_status=0, strict=False) == 0


def test_brokers_and_chosen_shoulds_are_left_alone(tmp_path: Path) -> None:
    """A broker always has clauses about it, and who asks for a SHOULD alone gets what was asked for."""
    recorder = client_run(tmp_path, judged=False)
    recorder.role = Role.BROKER
    assert vacuous_clients(recorder) == {}
    only = recorder_for(tmp_path, {SHOULD: "SHOULD"})
    only.role = Role.CLIENT
    assert vacuous_clients(only) == {}
