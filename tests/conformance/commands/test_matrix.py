"""`matrix` runs every target without a finished run, one process each.

`matrix` leaves nothing running.

After its table it lists findings of failing runs: cell, what was seen, and how to reproduce it.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clauses.catalogue import catalogue
from conformance.commands import selection
from conformance.commands.matrix import (
    MAX_SEEN,
    finding_lines,
    matrix,
    shard_of,
    verdicts_of,
    worst_status,
)
from conformance.runs.run_identity import file_sha256
from conformance.runs.target_runs import TargetRun, TargetRuns, finished_runs
from fixtures.choosing.target_options import AUTO
from fixtures.errors import InvalidTargetFile
from fixtures.launchers.built_in import reference_targets
from reports.records import Verdict
from reports.run.exit_status import ExitStatus
from reports.run.run_writer import suite_facts
from tests.broken_run_folders import NOT_UTF8
from tests.conformance.suite_runs import REPOSITORY, children_of, survivors
from tests.reports.recorders import failure_of, key_of
from tests.run_folders import (
    DEFAULT_CLAUSE,
    DEFAULT_TARGET,
    clause_entry,
    example_row,
    planned_cell,
    run_header,
    target_entry,
    write_run,
)
from tests.written_failures import write_failure

TARGETS = [f"target-{number}" for number in range(11)]
STARTED_WITHIN_S = 60


def write_finished_run(
    runs: Path,
    target: str,
    *,
    status: int = 0,
    tier: str = "smoke",
    verdicts: Sequence[str] = ("conforms",),
    **changes: Any,
) -> Path:
    """Write the folder of a whole run of this suite against one target; changes are of its header.

    The first cell has an example for each of `verdicts`; "not_run" stands for a second cell without one.
    """
    not_run = [planned_cell("KIP-35.v0-always-served", target)] * ("not_run" in verdicts)
    header = run_header(
        [planned_cell(target=target), *not_run],
        run_id=f"20261121T143000Z-{target.replace('+', '.')}",
        **{
            "suite": dict(suite_facts(catalogue())),
            "tier": tier,
            "whole": True,
            "targets": [target_entry(target, file_sha256=file_sha256(target))],
        }
        | changes,
    )
    header["footer"]["exit_status"] = status
    rows = [
        example_row(header, number, verdict=verdict) for number, verdict in enumerate(verdicts) if verdict != "not_run"
    ]
    return write_run(runs / header["run_id"], header, rows)


def finished(
    runs: Path,
    *targets: str,
    seed: int | None = None,
    launcher: str = "auto",
    operations: Collection[str] = (),
) -> Mapping[str, TargetRun]:
    """Return the targets whose run in the smoke tier need not be repeated."""
    wanted = selection.selected_targets(targets)
    return finished_runs(runs, wanted, tier="smoke", seed=seed, launcher=launcher, operations=operations)


@pytest.mark.parametrize("shards", [1, 2, 3, 11, 12])
def test_shards_are_a_partition(shards: int) -> None:
    """Every target is in exactly one shard, and the sizes of shards differ by one at most."""
    parts = [shard_of(TARGETS, number, shards) for number in range(1, shards + 1)]
    assert Counter(target for part in parts for target in part) == Counter(TARGETS)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("statuses", "worst"),
    [
        ([0, 0], 0),
        ([0, 12], 12),
        ([12, 11], 11),
        ([11, 10], 10),
        ([10, 1, 0], 1),
        ([1, -9], 10),
        ([], 0),
    ],
)
def test_gravest_status_wins(statuses: list[int], worst: int) -> None:
    """A violation outweighs an inconclusive run, and a crash, as a harness error, outweighs both."""
    assert worst_status(statuses) == worst


def test_finished_runs_are_not_run_again(tmp_path: Path) -> None:
    """If every target has a complete run, only the table is printed, with the statuses of those runs."""
    write_finished_run(tmp_path, "reference")
    write_finished_run(tmp_path, "reference+tags-descend", status=1)
    arguments = ["reference", "reference+tags-descend", "--tier", "smoke", "--runs", str(tmp_path)]
    result = CliRunner().invoke(matrix, arguments)
    assert result.exit_code == 1, result.output
    assert "reference+tags-descend" in result.output
    assert result.output.count("before") == 2
    assert len(list(tmp_path.iterdir())) == 2


RELEASE = "apache-kafka-4.4.0"
SUITE_FACTS = dict(suite_facts(catalogue()))


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        pytest.param({}, True, id="equal"),
        pytest.param({"status": 1}, True, id="violated"),
        pytest.param({"status": 1, "verdicts": ("inconclusive",)}, False, id="violated-and-inconclusive"),
        pytest.param({"status": 1, "verdicts": ("violates", "not_run")}, False, id="violated-and-not-run"),
        pytest.param({"status": 10}, False, id="could-not-judge"),
        pytest.param({"status": 11}, False, id="cells-not-run"),
        pytest.param({"tier": "standard"}, False, id="tier"),
        pytest.param({"seed": 8}, False, id="seed"),
        pytest.param({"seed": None}, False, id="no-seed"),
        pytest.param({"whole": False}, False, id="partial"),
        pytest.param({"whole": None}, False, id="older"),
        pytest.param({"suite": SUITE_FACTS | {"commit": "ab" * 20}}, True, id="commit"),
        pytest.param({"suite": SUITE_FACTS | {"code_sha256": "ab" * 32}}, False, id="code"),
        pytest.param({"suite": SUITE_FACTS | {"catalogue_sha256": "ab"}}, False, id="clauses"),
        pytest.param({"targets": [target_entry(RELEASE)]}, False, id="no-target-file"),
        pytest.param({"targets": [target_entry(RELEASE, file_sha256="ab")]}, False, id="target-file"),
    ],
)
def test_only_equal_runs_count_as_finished(changes: dict[str, Any], counts: bool, tmp_path: Path) -> None:
    """An inconclusive or partial run, or one of other code, target, tier or seed, is repeated."""
    write_finished_run(tmp_path, RELEASE, **{"seed": 7} | changes)
    assert list(finished(tmp_path, RELEASE, seed=7)) == [RELEASE] * counts


PRODUCE, CONSUME = "franz-go-1.22.3.produce", "franz-go-1.22.3.consume"


def write_run_of_operations(runs: Path, *rows: str) -> None:
    """Write the folder of a run that tried operations with a release; it lacks those of other clients."""
    header = run_header(
        [planned_cell(row, RELEASE) for row in rows],
        clauses=[clause_entry(row, role="operation") for row in rows],
        targets=[target_entry(RELEASE, file_sha256=file_sha256(RELEASE))],
        suite=SUITE_FACTS,
        tier="smoke",
        whole=False,
    )
    examples = [example_row(header, 1, clause=row, client="franz-go-1.22.3") for row in rows]
    write_run(runs / header["run_id"], header, examples)


@pytest.mark.parametrize(
    ("rows", "asked", "counts"),
    [
        pytest.param((PRODUCE,), (PRODUCE,), True, id="equal"),
        pytest.param((PRODUCE, CONSUME), (PRODUCE,), True, id="more"),
        pytest.param((PRODUCE,), (PRODUCE, CONSUME), False, id="fewer"),
        pytest.param((PRODUCE,), (), False, id="other-role"),
    ],
)
def test_run_of_operations_counts_if_it_has_all_of_them(
    rows: tuple[str, ...], asked: tuple[str, ...], counts: bool, tmp_path: Path
) -> None:
    write_run_of_operations(tmp_path, *rows)
    assert list(finished(tmp_path, RELEASE, operations=asked)) == [RELEASE] * counts


def test_run_that_judges_a_release_is_none_of_operations(tmp_path: Path) -> None:
    """The same release has both kinds of runs."""
    write_finished_run(tmp_path, RELEASE)
    assert list(finished(tmp_path, RELEASE, operations=(PRODUCE,))) == []


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--clients", "--operations"], 2, "either --clients or --operations"),
        (["--client", "franz-go-1.22.3"], 2, "--client chooses whose --operations"),
        (["--operations", "--client", "kafka-ts-*"], 4, "none of these clients has operations"),
        (["--operations", "--client", "no-such"], 4, "no client is named 'no-such'"),
        (["--clients", "--like", RELEASE], 2, "a client is judged as itself"),
        ([RELEASE, "--like", RELEASE], 4, "a target of the registry is judged as"),
        (["no-such-target"], 4, "no target is named"),
        (["reference", "--shard", "3/2"], 2, "'3/2' is not i/n with 1 <= i <= n"),
        (["reference", "--shard", "2/2"], 2, "this shard has no target"),
        (["reference", "--runs", NOT_UTF8], 2, "is not UTF-8"),
    ],
)
def test_wrong_command_line_is_refused(arguments: list[str], status: int, message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(matrix, ["--runs", str(tmp_path), *arguments])
    assert result.exit_code == status, result.output
    assert message in result.output
    assert list(tmp_path.iterdir()) == []


PUBLISHED = {"apache/kafka:4.4.0": "sha256:ab"}
"""The artefacts that a run records for a container of the image in the target's file."""


@pytest.mark.parametrize(
    ("launcher", "artefacts", "wanted", "images", "counts"),
    [
        pytest.param("process", {}, "process", "built", True, id="process"),
        pytest.param("process", {}, "container", "built", False, id="container-now"),
        pytest.param("container", {}, "process", "built", False, id="process-now"),
        pytest.param("process", {}, "auto", "published", True, id="any-launcher"),
        pytest.param("container", {}, "container", "built", True, id="built"),
        pytest.param("container", {}, "auto", "published", False, id="published-now"),
        pytest.param("container", PUBLISHED, "container", "published", True, id="published"),
        pytest.param("container", PUBLISHED, "auto", "built", False, id="built-now"),
        pytest.param("built-in", {}, "container", "built", True, id="no-choice"),
    ],
)
def test_run_counts_only_where_it_was_started_as_asked(
    launcher: str,
    artefacts: dict[str, str],
    wanted: str,
    images: str,
    counts: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run by another launcher, or of another kind of image, is repeated."""
    monkeypatch.setenv("KAFKA_CONFORMANCE_IMAGES", images)
    entry = target_entry(RELEASE, file_sha256=file_sha256(RELEASE), launcher=launcher)
    entry["artefacts"] = artefacts or entry["artefacts"]
    write_finished_run(tmp_path, RELEASE, targets=[entry])
    assert list(finished(tmp_path, RELEASE, launcher=wanted)) == [RELEASE] * counts


def test_image_of_another_vendor_is_of_one_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that is never built has no kind that could be requested."""
    monkeypatch.delenv("KAFKA_CONFORMANCE_IMAGES", raising=False)
    vendor = "redpanda-26.2.3"
    entry = target_entry(vendor, file_sha256=file_sha256(vendor), launcher="container")
    write_finished_run(tmp_path, vendor, targets=[entry])
    assert list(finished(tmp_path, vendor)) == [vendor]


def test_kind_of_image_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier runs cannot be compared with an unknown kind."""
    monkeypatch.setenv("KAFKA_CONFORMANCE_IMAGES", "baked")
    entry = target_entry(RELEASE, file_sha256=file_sha256(RELEASE), launcher="container")
    write_finished_run(tmp_path, RELEASE, targets=[entry])
    result = CliRunner().invoke(matrix, [RELEASE, "--tier", "smoke", "--runs", str(tmp_path)])
    assert result.exit_code == ExitStatus.HARNESS_ERROR
    assert "Error: KAFKA_CONFORMANCE_IMAGES is 'baked'" in result.output


def test_any_seed_will_do_where_none_is_asked_for(tmp_path: Path) -> None:
    """Without `--seed`, a run with any seed counts."""
    older, newer = "apache-kafka-4.3.1", RELEASE
    write_finished_run(tmp_path, older, seed=7)
    write_finished_run(tmp_path, newer, seed=None)
    assert set(finished(tmp_path, older, newer)) == {older, newer}


def test_run_that_was_cut_off_is_not_finished(tmp_path: Path) -> None:
    """A folder that readers refuse does not count."""
    cut_off = write_finished_run(tmp_path, RELEASE)
    (cut_off / "run.json").write_text("{}")
    assert finished(tmp_path, RELEASE) == {}


def test_untried_targets_are_left_out_of_globs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An untried target is run only if it is named exactly."""
    tried, untried = reference_targets()[0], replace(reference_targets()[1], not_tried="no image")
    monkeypatch.setattr(selection, "targets_named", lambda patterns, like: (tried, untried))
    assert selection.runnable_targets(["*"]) == (tried,)
    assert selection.runnable_targets(["*", untried.id]) == (tried, untried)


def test_wrong_target_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file of the registry with a wrong format causes an error message and no traceback; nothing in it acts on a
    terminal."""

    def refuse(*_: object, **__: object) -> None:
        raise InvalidTargetFile("some.toml: \x1b[2J is missing")

    monkeypatch.setattr(selection, "targets_named", refuse)
    result = CliRunner().invoke(matrix, ["--runs", str(tmp_path)])
    assert result.exit_code == 4
    assert r"Error: some.toml: \x1b[2J is missing" in result.output


@pytest.mark.parametrize("status", [0, 1, 3])
def test_run_without_records_keeps_its_last_lines(status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else explains such a run, whatever its status, and the other runs continue."""
    targets = ["reference", "reference+tags-descend"]
    done: list[TargetRun] = []
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho why\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    runs = TargetRuns(tmp_path, options=[], jobs=2, naming=dict.fromkeys(targets, ()))
    runs.run(targets, done.append, lambda: None)
    assert {run.target for run in done} == {*targets}
    for run in done:
        assert (run.status, run.folder, run.last_lines) == (status, None, ("why",))


@pytest.mark.slow
def test_stopped_matrix_leaves_nothing_running(tmp_path: Path) -> None:
    """Ctrl-C ends the runs and their brokers, with status 2; test_faults_by_stage.py has SIGTERM and SIGKILL."""
    command = [sys.executable, "-m", "conformance", "matrix", "reference", "reference+tags-descend"]
    with subprocess.Popen(
        [*command, "--jobs", "2", "--runs", str(tmp_path / "runs")],
        text=True,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        give_up_at = time.monotonic() + STARTED_WITHIN_S
        while len(list((tmp_path / "runs").glob("*/run.json"))) < 2:
            assert time.monotonic() < give_up_at
            time.sleep(0.2)
        children = children_of(process)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=STARTED_WITHIN_S)
    assert survivors(children) == []
    assert process.returncode == 2, output
    assert "continues" in output


SIGNATURE = "0123456789abcdef"


@pytest.fixture
def failed_run(tmp_path: Path) -> Path:
    """The folder of a run with a violated cell, whose message is long."""
    header = run_header([planned_cell()])
    rows = [example_row(header, verdict="violates", failure_signature=SIGNATURE)]
    folder = write_run(tmp_path / "run", header, rows)
    key = key_of(DEFAULT_CLAUSE, DEFAULT_TARGET)
    write_failure(folder / "failures", failure_of(key, "m" * 10_000, SIGNATURE))
    return folder


def lines_of(folder: Path | None, launcher: str = AUTO) -> list[str]:
    """Return the lines about a run."""
    run = TargetRun(target=DEFAULT_TARGET, status=1, folder=folder)
    return list(finding_lines(run, verdicts_of(run), launcher))


def test_a_violated_cell_is_reported_with_what_was_seen_and_its_command(failed_run: Path) -> None:
    """A long message takes two rows, and the command replays the failure."""
    headline, seen, again = lines_of(failed_run)
    assert headline == f"✕ {DEFAULT_CLAUSE} (plaintext): violates"
    assert seen.startswith("  seen: mm")
    assert len(seen) <= MAX_SEEN
    assert seen.endswith("mm… (complete in failure.json)")
    command = shlex.split(again.removeprefix("  again: "))
    assert command == ["kafka-conformance", "replay", str(failed_run / "failures" / SIGNATURE)]
    assert lines_of(failed_run, "process")[-1] == f"{again} --launcher process"


def test_failure_that_proves_nothing_is_not_reported(failed_run: Path) -> None:
    """A violation next to it that recurs is what the cell rests on."""
    facts = failed_run / "failures" / SIGNATURE / "failure.json"
    repeats = {"class": "flaky", "rate": {"failed": 0, "repeats": 3}}
    facts.write_text(json.dumps(json.loads(facts.read_text()) | {"repeats": repeats}))
    run = TargetRun(target=DEFAULT_TARGET, status=1, folder=failed_run)
    found = dict.fromkeys(verdicts_of(run), Verdict.VIOLATES)
    assert list(finding_lines(run, found)) == [f"✕ {DEFAULT_CLAUSE} (plaintext): violates"]


def test_inconclusive_cell_is_reported_with_its_reason(tmp_path: Path) -> None:
    """A reader learns from the terminal why a matrix ended with 10."""
    header = run_header([planned_cell(reason="the target ended\nin between")])
    folder = write_run(tmp_path / "run", header, [example_row(header, verdict="inconclusive")])
    assert lines_of(folder) == [
        f"? {DEFAULT_CLAUSE} (plaintext): inconclusive",
        "  because: the target ended in between",
    ]


def test_many_lines_are_cut_off_and_counted(failed_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line says how many more lines there are, and where to find them."""
    every = lines_of(failed_run)
    monkeypatch.setattr("conformance.commands.matrix.MAX_LINES", 1)
    assert lines_of(failed_run) == [
        every[0],
        f"and {len(every) - 1} more lines: see {failed_run}",
    ]


def test_a_run_without_a_folder_has_no_findings() -> None:
    """The last lines of its output are shown instead."""
    assert lines_of(None) == []


@pytest.mark.parametrize("option", ["--seed", "--hypothesis-seed"])
def test_the_seed_has_the_name_that_judge_knows_as_well(option: str) -> None:
    ran = CliRunner().invoke(matrix, [option, "-1"])
    assert ran.exit_code == 2
    assert "Invalid value for '--seed' / '--hypothesis-seed': -1" in ran.stderr
