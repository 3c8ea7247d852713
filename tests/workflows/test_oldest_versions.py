"""The oldest version of a library that works is searched by halving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from fixtures.client_processes.driver_process import DriverResult
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import one_node
from reports.document.markdown_form import markdown
from workflows.oldest_versions.document import DOCUMENT, document_of, in_short, write_document
from workflows.oldest_versions.results import DATA_FILE, Oldest, Tried, read_found, write_found
from workflows.oldest_versions.searching import MAX_TRIED, oldest_of, tried_on


def searched(count: int, works_from: int, unclear: int = -1) -> Oldest:
    """Search among versions named by their numbers, of which those from one on work."""

    def try_(version: str) -> Tried:
        failures = {} if int(version) >= works_from else {"produce": "it hangs"}
        words = "consume works in 1 of 2 runs" if int(version) == unclear else ""
        return Tried(version=version, failures={} if words else failures, unclear=words)

    return oldest_of("some-client", "apache-kafka-4.0.2", [str(each) for each in range(count)], try_)


@pytest.mark.parametrize(
    ("count", "works_from", "oldest", "before", "tried"),
    [
        pytest.param(1, 0, "0", None, "0", id="only one"),
        pytest.param(9, 0, "0", None, "0 8", id="all work"),
        pytest.param(9, 9, None, "8", "8", id="none works"),
        pytest.param(2, 1, "1", "0", "0 1", id="two"),
        pytest.param(9, 3, "3", "2", "0 2 3 4 8", id="halves"),
        pytest.param(9, 8, "8", "7", "0 4 6 7 8", id="only the newest"),
    ],
)
def test_oldest_is_found_by_halving(
    count: int, works_from: int, oldest: str | None, before: str | None, tried: str
) -> None:
    found = searched(count, works_from)
    assert (found.works.version if found.works else None) == oldest
    assert (found.fails.version if found.fails else None) == before
    assert (found.tried, found.untried, found.unclear) == (tuple(tried.split()), 0, "")


@pytest.mark.parametrize("works_from", [1, 2, 33, 63, 64])
def test_65_versions_take_no_more_than_may_be_tried(works_from: int) -> None:
    found = searched(65, works_from)
    assert found.works == Tried(version=str(works_from), failures={})
    assert len(found.tried) <= MAX_TRIED


def test_what_was_not_tried_between_two_is_counted() -> None:
    found = searched(1000, 500)
    assert found.works is not None
    assert found.fails is not None
    assert found.untried == int(found.works.version) - int(found.fails.version) - 1 > 0
    assert len(found.tried) == MAX_TRIED


def test_version_that_is_unstable_ends_the_search() -> None:
    found = searched(9, 3, unclear=4)
    assert found.unclear == "4: consume works in 1 of 2 runs"
    assert found.tried == ("0", "4", "8")
    assert found.works == Tried(version="8", failures={})


@dataclass
class FakeBench:
    """Plays what it is given of one operation, and that every other one works."""

    results: Sequence[DriverResult]
    operation: str = "produce"
    operations: Sequence[str] = ("metadata", "produce", "list-topics")
    played: list[str] = field(default_factory=list)

    def play(self, operation: str, removals: object, time_s: float) -> Play:
        """Return the next result."""
        result = OK if operation != self.operation else self.results[self.played.count(operation)]
        self.played.append(operation)
        return Play(recording=NOTHING, result=result)


def result(outcome: str | None, detail: str = "", **changes: Any) -> DriverResult:
    """Return how a driver ended."""
    usual: dict[str, Any] = {
        "exit_status": 0 if outcome == "ok" else 1,
        "signal": None,
        "killed_for": "",
        "duration_ms": 200,
        "peak_rss_mb": 20.0,
        "asks": (),
        "output": "",
        "has_reported": outcome is not None,
    }
    return DriverResult(outcome=outcome, detail=detail, **{**usual, **changes})


OK = result("ok")
FAILS = result("error", "it went\nwrong")
NOTHING = Recording(script=one_node())


@pytest.mark.parametrize(
    ("results", "failures", "unclear", "is_driven"),
    [
        pytest.param([OK], {}, "", True, id="works"),
        pytest.param([FAILS, FAILS], {"produce": "wrong"}, "", True, id="fails twice"),
        pytest.param([FAILS, OK], {}, "produce works in 1 of 2 runs; otherwise: wrong", True, id="unstable"),
        pytest.param([result(None, killed_for="time")] * 2, {"produce": "it hangs"}, "", True, id="hangs"),
        pytest.param([result("error", "java.lang.NoSuchMethodError: 'x'")] * 2, {"produce": "java.lang.NoSuchMethodError: 'x'"}, "", False, id="too old for the driver"),
        pytest.param([result(None, output="Traceback\nImportError: no (/a/b.py)")] * 2, {"produce": "ImportError: no"}, "", False, id="driver"),
    ],
)  # fmt: skip
def test_what_fails_is_tried_again(
    results: Sequence[DriverResult], failures: dict[str, str], unclear: str, is_driven: bool
) -> None:
    bench: Any = FakeBench(results)
    tried = tried_on(bench, "1.0")
    assert tried.operations == ("metadata", "produce")
    assert (tried.failures, tried.unclear, tried.works) == (failures, unclear, not failures and not unclear)
    assert tried.is_driven is is_driven


def test_version_without_operations_does_not_work() -> None:
    bench: Any = FakeBench([OK], operations=("list-topics",))
    tried = tried_on(bench, "1.0")
    assert (tried.works, tried.is_driven, tried.failures) == (
        False,
        False,
        {"driver": "it has none of these operations"},
    )


def test_records_that_are_not_compressed_are_a_failure() -> None:
    bench: Any = FakeBench([OK], operations=("metadata", "produce", "compressed-produce"))
    assert tried_on(bench, "1.0").failures == {"compressed-produce": "its records are not compressed with gzip"}


def test_table_has_the_words_of_the_clients() -> None:
    works = Tried(version="2.11.0", software="2.11.0-rdkafka-2.11.1", failures={}, operations=("metadata", "produce"))
    fails = Tried(
        version="2.10.1",
        failures={"produce": "no magic", "consume": "no magic", "metadata": "it hangs"},
        switched_off=("MsgVer1", "Sasl"),
    )
    undriven = Tried(version="1.0", failures={"produce": "ImportError"}, is_driven=False)
    usual = Oldest(
        library="some-client",
        release="apache-kafka-4.0.2",
        published=20,
        works=works,
        fails=fails,
        untried=0,
        tried=("2.10.1", "2.11.0"),
        day="2026-11-30",
        commit="0123456789abcdef",
    )
    rows = [
        usual,
        replace(usual, fails=undriven, untried=3),
        replace(usual, works=None, unclear="2.11.0: x"),
        replace(usual, fails=None),
    ]
    text = markdown(document_of(rows))
    for words in (
        "| 2026-11-30 at 0123456789ab |",
        "`python -m workflows.oldest_versions some-client --broker apache-kafka-4.0.2 --out docs`",
        "2.11.0 (librdkafka 2.11.1)",
        "its driver has no compressed-produce, consume, consume-in-group",
        "produce, consume: `no magic`",
        "its log: Disabling feature MsgVer1, Sasl",
        "1.0: it cannot be driven here",
        "3 older ones were not tried",
        "not certain: 2.11.0: x",
        "none is older",
    ):
        assert words in text.replace("\\", "")


def test_library_that_is_measured_again_replaces_its_row(tmp_path: Path) -> None:
    """Other rows stay, and are ordered by library and release."""
    assert read_found(tmp_path) == ()
    first, other = searched(9, 3), replace(searched(9, 9), library="another-client")
    later = replace(searched(9, 4), day="2026-12-01")
    write_found([first, other], tmp_path)
    write_found([*read_found(tmp_path), later], tmp_path)
    assert read_found(tmp_path) == (other, later)
    assert (tmp_path / DATA_FILE).read_text().count("apache-kafka-4.0.2") == 2
    write_document(tmp_path)
    assert (
        "| another-client | apache-kafka-4.0.2 | none | 8<br>produce: `it hangs` |" in (tmp_path / DOCUMENT).read_text()
    )


def test_short_table_marks_what_is_no_limit_of_the_broker() -> None:
    """Nothing older is there, or nothing older can be driven."""
    undriven = Tried(version="1.0", failures={"installation": "no"}, is_driven=False)
    limited = searched(9, 3)
    rows = [
        limited,
        replace(limited, fails=undriven),
        searched(9, 0),
        replace(limited, unclear="consume works in 1 of 2 runs"),
        searched(9, 9),
        replace(limited, untried=2),
    ]
    more = " or older"
    assert list(map(in_short, rows)) == ["3", f"3{more}", f"0{more}", "not certain", "none", f"3{more}"]
