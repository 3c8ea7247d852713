"""The verdicts of other brokers agree with a list, neither more nor less.

Only complete runs are compared.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from packaging.version import Version

from clauses.catalogue import catalogue
from fixtures.registry.clients import Client, all_clients
from fixtures.registry.targets import load_targets
from tests.run_folders import DEFAULT_CLAUSE, example_row, planned_cell, run_header, write_run
from workflows.expected_cells import Verdicts, found_in, main, read_expected

CI = Path(__file__).parents[2] / ".ci"
LISTS = {"other_brokers.json": "expected_brokers", "clients.json": "expected_clients"}
"""Maps each list of `.ci/` to the variable of `.ci/run` that names its targets."""
EXPECTED_VERDICTS = ("violated", "inconclusive", "sometimes_inconclusive", "sometimes_violated")


def write_verdict(
    runs: Path,
    verdict: str,
    *,
    name: str = "run-a",
    reason: str = "no answer came",
    started_at: str = "2026-11-21T14:30:00+00:00",
) -> Path:
    """Write a run of one cell; its verdict is that of its only example."""
    cell = planned_cell(target="a", reason=reason if verdict == "inconclusive" else "")
    header = run_header([cell], run_id=name, started_at=started_at)
    return write_run(runs / name, header, [example_row(header, verdict=verdict)])


def compare(tmp_path: Path, expected: str, *options: str) -> Result:
    """Compare the runs with a list that expects one verdict, or none."""
    entry = {name: [DEFAULT_CLAUSE] if name == expected else [] for name in EXPECTED_VERDICTS}
    (tmp_path / "expected.json").write_text(json.dumps({"a": entry, "b": entry}))
    arguments = [str(tmp_path / "runs"), str(tmp_path / "expected.json"), *options]
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("verdict", "expected", "now"),
    [
        ("violates", "violated", ""),
        ("conforms", "", ""),
        ("inconclusive", "inconclusive", ""),
        ("inconclusive", "sometimes_inconclusive", ""),
        ("conforms", "sometimes_inconclusive", ""),
        ("violates", "sometimes_inconclusive", "violated"),
        ("violates", "sometimes_violated", ""),
        ("inconclusive", "sometimes_violated", ""),
        ("conforms", "sometimes_violated", ""),
        ("violates", "", "violated"),
        ("violates", "inconclusive", "violated"),
        ("inconclusive", "", "inconclusive"),
        ("inconclusive", "violated", "inconclusive"),
        ("conforms", "violated", "neither violated nor inconclusive"),
        ("conforms", "inconclusive", "neither violated nor inconclusive"),
    ],
)
def test_neither_more_nor_less(tmp_path: Path, verdict: str, expected: str, now: str) -> None:
    """A red or inconclusive cell that is gone is as much news as a new one, and is named for what it is now."""
    write_verdict(tmp_path / "runs", verdict)
    result = compare(tmp_path, expected, "--targets", "a")
    assert result.output == (f"a: {DEFAULT_CLAUSE} is {now} now\n" if now else "")
    assert result.exit_code == bool(now)


def test_an_inconclusive_cell_needs_a_reason(tmp_path: Path) -> None:
    """Expected or not, readers of the run want to know what was missing."""
    write_verdict(tmp_path / "runs", "inconclusive", reason="")
    result = compare(tmp_path, "inconclusive")
    wanted = f"a: {DEFAULT_CLAUSE} on plaintext is inconclusive without a reason\n"
    assert (result.output, result.exit_code) == (wanted, 1)


def test_a_run_without_a_footer_does_not_count(tmp_path: Path) -> None:
    """A traceback leaves such a run, with the same exit status as a violation."""
    folder = write_verdict(tmp_path / "runs", "violates")
    (folder / "run.json").write_text("{")
    result = compare(tmp_path, "violated", "--targets", "a")
    assert (result.output, result.exit_code) == ("a: no complete run\n", 1)


def test_targets_of_one_run_are_distinguished(tmp_path: Path) -> None:
    """The verdict of one target is not counted for another one that the run judged too."""
    header = run_header([planned_cell(target=target) for target in ("a", "b", "c")])
    rows = [
        example_row(header, target=target, verdict=verdict)
        for target, verdict in (("a", "conforms"), ("b", "violates"), ("c", "conforms"))
    ]
    write_run(tmp_path / "run", header, rows)
    violated = {target: each.verdicts.violated for target, each in found_in(tmp_path).items()}
    assert violated == {"a": [], "b": [DEFAULT_CLAUSE], "c": []}


@pytest.mark.parametrize("cut_off", ["run-a", "run-b"])
def test_complete_run_counts_next_to_one_that_was_cut_off(tmp_path: Path, cut_off: str) -> None:
    """Whichever folder is read first, an incomplete one does not hide the other."""
    for name in ("run-a", "run-b"):
        write_verdict(tmp_path, "violates", name=name)
    (tmp_path / cut_off / "run.json").write_text("{")
    assert found_in(tmp_path).keys() == {"a"}


@pytest.mark.parametrize(("newest", "older"), [("run-a", "run-b"), ("run-b", "run-a")])
def test_the_newest_run_counts(tmp_path: Path, newest: str, older: str) -> None:
    """Runs are ordered by the time at which they started, whatever their folders are called."""
    runs = tmp_path / "runs"
    write_verdict(runs, "violates", name=newest, started_at="2026-11-21T23:30:00+00:00")
    write_verdict(runs, "conforms", name=older, started_at="2026-11-22T00:10:00+01:00")
    write_verdict(runs, "conforms", name="run-c", started_at="2026-11-20T00:00:00+00:00")
    assert compare(tmp_path, "violated").output == ""


def test_the_list_is_written(tmp_path: Path) -> None:
    """The target that was judged gets its new entry; one that was not judged keeps its own."""
    write_verdict(tmp_path / "runs", "inconclusive")
    assert compare(tmp_path, "violated", "--write").exit_code == 0
    assert read_expected(tmp_path / "expected.json") == {
        "a": Verdicts(violated=[], inconclusive=[DEFAULT_CLAUSE]),
        "b": Verdicts(violated=[DEFAULT_CLAUSE], inconclusive=[]),
    }


def test_what_depends_on_the_machine_stays_in_the_list(tmp_path: Path) -> None:
    """A run cannot show that a clause is only sometimes inconclusive."""
    write_verdict(tmp_path / "runs", "inconclusive")
    compare(tmp_path, "sometimes_inconclusive", "--write")
    expected = read_expected(tmp_path / "expected.json")["a"]
    assert (expected.inconclusive, expected.sometimes_inconclusive) == ([], [DEFAULT_CLAUSE])


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_ci_names_targets_and_clauses_that_exist(name: str) -> None:
    """A target that was renamed would be compared with nothing."""
    expected = read_expected(CI / name)
    known = {target.id for target in load_targets()} | {client.id for client in all_clients()}
    assert expected.keys() <= known
    for verdicts in expected.values():
        named = [clause for clauses in asdict(verdicts).values() for clause in clauses]
        assert set(named) <= {clause.id for clause in catalogue()}
        assert len(set(named)) == len(named)


@pytest.mark.parametrize(("name", "variable"), LISTS.items())
def test_ci_demands_a_complete_run_of_every_target_of_a_list(name: str, variable: str) -> None:
    """A run that was cut off is missed only if its target is named."""
    script = (CI / "run").read_text()
    lines = [line for line in script.splitlines() if line.strip().startswith(variable)]
    named = {word for line in lines for word in line.partition("=")[2].strip('"').split()}
    assert named == read_expected(CI / name).keys()


def test_ci_judges_the_newest_client_of_each_library_from_pypi() -> None:
    """A library that joins the default ring, or has a new version there, needs its expected verdicts."""
    ring = [client for client in all_clients() if client.ring == "default"]
    newest = {client.library: client for client in sorted(ring, key=version_of)}
    assert read_expected(CI / "clients.json").keys() == {each.id for each in newest.values()}


def version_of(client: Client) -> Version:
    """Return a client's version, in its order."""
    return Version(client.version)
