"""The change log names what two releases treat differently.

It says whether the profiles of the releases predict it.
"""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands.changes import changes
from conformance.corpus.entries import CorpusEntry, InvalidCorpus
from conformance.releases.release_changes import (
    ProfilePrediction,
    Seen,
    changes_between,
    generated_inputs,
)
from fixtures.client.running_broker import RunningBroker
from fixtures.errors import BrokerDidNotStart
from fixtures.registry.targets import Target
from reports.document.markdown_form import markdown, markdown_of
from reports.grid.change_log import LeftOut, change_report, left_out_blocks
from reports.run.exit_status import ExitStatus

commands_changes = sys.modules["conformance.commands.changes"]

ENTRIES = {name: CorpusEntry(name=name, origin="", data=data) for name, data in (("a", b"long"), ("b", b"s"))}


def seen(word: str, *allowed: str) -> Seen:
    """Return what a release did with one input, and what its profile allows."""
    prediction = ProfilePrediction((frozenset(allowed),), frozenset(["C.a"]))
    return Seen(observation=(word,), prediction=prediction)


def compare(old: Seen, new: Seen) -> list[tuple[str, str, bool, int, str]]:
    """Return the changes between two releases with two inputs."""
    releases = [("1", dict.fromkeys(ENTRIES, old)), ("2", dict.fromkeys(ENTRIES, new))]
    return [
        (change.was, change.became, change.predicted, change.inputs, change.example)
        for change in changes_between(releases, ENTRIES, "plaintext")
    ]


def test_predicted_change_is_one_group_with_its_shortest_input() -> None:
    """Inputs that change in the same way are one group, represented by the shortest."""
    assert compare(seen("x", "x"), seen("y", "y")) == [("x", "y", True, 2, "b")]


def test_unpredicted_change_is_news() -> None:
    """A change is predicted only if each release does what its own profile says."""
    assert compare(seen("x", "x"), seen("y", "x"))[0][2] is False
    assert compare(seen("x", "y"), seen("y", "y"))[0][2] is False


def test_awaited_change_that_does_not_come_is_news() -> None:
    """Profiles that predict a change are also wrong if nothing changes."""
    assert compare(seen("x", "x"), seen("x", "y")) == [("x", "x", False, 2, "b")]


def test_what_both_releases_may_do_is_no_change() -> None:
    """If the model allows both releases either response, a difference is chance."""
    assert compare(seen("x", "x", "y"), seen("y", "x", "y")) == []
    assert compare(seen("x", "x"), seen("x", "x")) == []


def test_lost_answers_are_predicted_where_the_release_may_lose_them() -> None:
    """A missing answer is predicted only for a release that may lose answers."""
    losing = ProfilePrediction((frozenset(["x"]),), frozenset(), losses=frozenset(["closed"]))
    assert losing.covers(("closed",))
    assert not ProfilePrediction((frozenset(["x"]),), frozenset()).covers(("closed",))


def test_drawn_inputs_are_the_same_for_a_seed() -> None:
    """Two logs with the same seed use the same bytes, and another seed draws others."""
    first, again, other = (generated_inputs(30, seed) for seed in (1, 1, 2))
    assert first == again
    assert [entry.data for entry in first] != [entry.data for entry in other]
    assert len(first) > 15


@pytest.fixture
def equal_releases(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make two reference brokers with identical answers count as two releases."""
    monkeypatch.setattr(commands_changes, "comparable", list)
    return ["reference", "reference+tags-descend"]


@pytest.mark.slow
def test_what_is_not_compared_is_counted_and_named(tmp_path: Path, equal_releases: list[str]) -> None:
    """TLS cannot carry an input that ends one side of the stream; all forms of the log say so per release."""
    options = ["--listener", "ssl", "--generated", "0", "--out", str(tmp_path)]
    result = CliRunner().invoke(changes, [*equal_releases, *options])
    assert result.exit_code == 0, result.output
    first, second = json.loads((tmp_path / "changes.json").read_text())["left_out"]
    assert first == second | {"release": equal_releases[0]}
    assert "size-larger-than-what-follows" in first["inputs"]
    told = (
        f"on ssl, 2 releases from {equal_releases[0]} to {equal_releases[1]}: {len(first['inputs'])} "
        "inputs, because TLS cannot end only one side of the stream"
    )
    assert told in result.output
    assert f"- {told}" in (tmp_path / "changes.md").read_text().replace("\\", "")


@pytest.mark.slow
def test_what_changes_before_authentication_is_seen(tmp_path: Path, equal_releases: list[str]) -> None:
    """A broker that differs only before authentication, in a second ApiVersions, differs only there."""
    releases = [equal_releases[0], "reference+versions-are-told-again-before-the-handshake"]
    options = ["--listener", "sasl_plaintext", "--generated", "0", "--out", str(tmp_path)]
    result = CliRunner().invoke(changes, [*releases, *options])
    assert result.exit_code == 1, result.output
    found = json.loads((tmp_path / "changes.json").read_text())["changes"]
    assert {(change["listener"], change["predicted"]) for change in found} == {
        ("sasl_plaintext, before authentication", False),
        ("sasl_plaintext, after one ApiVersions", False),
    }


def test_groups_that_releases_leave_out_alike_are_one_line() -> None:
    names = tuple(f"i{number}" for number in range(7))
    left_out = [LeftOut(listener="ssl", release=release, reason="so", inputs=names) for release in "12"] + [
        LeftOut(listener="ssl", release="2", reason="otherwise", inputs=("i0",))
    ]
    assert markdown_of(*left_out_blocks(left_out)).splitlines() == [
        "Not compared everywhere: 7 inputs.",
        "",
        "- on ssl, 2 releases from 1 to 2: 7 inputs, because so \\(i0, i1, i2, i3, i4 and 2 more\\)",
        "- on ssl, 2: 1 input, because otherwise \\(i0\\)",
    ]


def test_release_that_cannot_be_asked_loses_no_other(
    tmp_path: Path, equal_releases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are in the log, the reason is reported, and the status is that of an inconclusive run."""
    healthy = commands_changes.launch

    def launch(target: Target, launcher: str) -> AbstractContextManager[RunningBroker]:
        if target.id == equal_releases[0]:
            raise BrokerDidNotStart("it ended at once")
        running: AbstractContextManager[RunningBroker] = healthy(target, launcher)
        return running

    monkeypatch.setattr(commands_changes, "launch", launch)
    result = CliRunner().invoke(changes, [*equal_releases, "--generated", "0", "--out", str(tmp_path)])
    assert result.exit_code == ExitStatus.HARNESS_ERROR, result.output
    assert f"{equal_releases[0]} could not be compared: it ended at once" in result.output
    assert json.loads((tmp_path / "changes.json").read_text())["releases"] == equal_releases[1:]


@pytest.mark.parametrize("given", [["reference"], ["reference", "reference"]])
def test_listener_of_one_release_alone_is_refused(given: list[str], tmp_path: Path) -> None:
    """With nothing to compare, nothing is started; a release that is given twice counts once."""
    result = CliRunner().invoke(changes, [*given, "--out", str(tmp_path / "log")])
    assert result.exit_code == 2
    words = "two different releases with the listener plaintext are needed; given: reference"
    assert result.output.rstrip().endswith(words)


def test_wrong_corpus_is_named(monkeypatch: pytest.MonkeyPatch, equal_releases: list[str]) -> None:
    """A corpus file with a wrong format causes an error message and no traceback."""

    def load_corpus() -> None:
        raise InvalidCorpus("some.toml: is wrong")

    monkeypatch.setattr(commands_changes, "load_corpus", load_corpus)
    result = CliRunner().invoke(changes, equal_releases)
    assert result.exit_code == 4
    assert "Error: some.toml: is wrong" in result.output


def test_markdown_says_what_is_not_predicted() -> None:
    """Unpredicted changes stand out, with their bytes."""
    releases = [("1", {"b": seen("x", "x")}), ("2", {"b": seen("y", "x")})]
    text = markdown(change_report(["1", "2"], list(changes_between(releases, ENTRIES, "plaintext")), []))
    assert r"- x → y \(1 input, plaintext; **not predicted**\)" in text
    assert "`73`" in text


def test_report_says_where_all_of_a_long_input_is() -> None:
    """The command writes no file without `--out`."""
    entries = {"b": CorpusEntry(name="b", origin="", data=bytes(100))}
    releases = [("1", {"b": seen("x", "x")}), ("2", {"b": seen("y", "x")})]
    text = markdown(change_report(["1", "2"], list(changes_between(releases, entries, "plaintext")), []))
    assert f"`{'00' * 48}` ... \\(100 bytes; --out writes all of them to changes.json\\)" in text


def test_a_planted_difference_ends_with_1(tmp_path: Path, equal_releases: list[str]) -> None:
    """A release with a defect that no profile predicts is news, in JSON and Markdown, and the status says so."""
    releases = [equal_releases[0], "reference+cut-bodies-are-answered"]
    result = CliRunner().invoke(changes, [*releases, "--generated", "0", "--out", str(tmp_path)])
    assert result.exit_code == 1, result.output
    found = json.loads((tmp_path / "changes.json").read_text())["changes"]
    assert {change["predicted"] for change in found} == {False}
    text = (tmp_path / "changes.md").read_text()
    assert text.startswith("# What changed")
    assert "Every input was compared on every release." in text
