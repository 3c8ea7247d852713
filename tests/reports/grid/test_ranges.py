"""Range statements name only the releases in which a clause holds."""

from __future__ import annotations

import pytest

from reports.grid.ranges import JudgedRelease, range_statement, short_cause, short_statement
from reports.records import OPERATION, Verdict

_VERDICTS = {
    "c": Verdict.CONFORMS,
    "v": Verdict.VIOLATES,
    "k": Verdict.KNOWN_VIOLATION,
    "u": Verdict.UNEXPECTED_PASS,
    "i": Verdict.INFORMATIONAL,
    "?": Verdict.INCONCLUSIVE,
    "n": Verdict.NOT_APPLICABLE,
    "o": Verdict.NOT_RUN,
    "-": None,
}
RELEASES = ("0.10.0.1", "1.1.1", "2.2.2", "2.10.0", "4.4.0")
STATEMENTS = {
    "ccccc": "in every release judged (0.10.0.1 to 4.4.0)",
    "nnccc": "since 2.2.2; not applicable before",
    "vvccc": "since 2.2.2; violates in 0.10.0.1 to 1.1.1",
    "ooccc": "since 2.2.2; not run in 0.10.0.1 to 1.1.1",
    "n?ccc": "since 2.2.2; not applicable before; inconclusive in 1.1.1",
    "nncck": "in 2.2.2 to 2.10.0; not applicable before; known violation in 4.4.0",
    "ckckc": "in 0.10.0.1, 2.2.2, 4.4.0; known violation in 1.1.1, 2.10.0",
    "cccco": "in 0.10.0.1 to 2.10.0; not run in 4.4.0",
    "ccckk": "in 0.10.0.1 to 2.2.2; known violation since 2.10.0",
    "cnnnn": "in 0.10.0.1; not applicable since 1.1.1",
    "ciiii": "in 0.10.0.1; informational since 1.1.1",
    "nccnn": "in 1.1.1 to 2.2.2; not applicable before; not applicable since 2.10.0",
    "ccccu": "in 0.10.0.1 to 2.10.0; unexpected pass in 4.4.0",
    "nnnnn": "not applicable in 0.10.0.1 to 4.4.0",
    "kkkkk": "known violation in 0.10.0.1 to 4.4.0",
    "--c--": "in 2.2.2, the only release judged",
    "cc---": "in every release judged (0.10.0.1 to 1.1.1)",
    "ncc--": "in 1.1.1 to 2.2.2; not applicable before",
    "v--cc": "since 2.10.0; violates in 0.10.0.1; not tried in 1.1.1 to 2.2.2",
    "c---c": "in all 2 releases judged (of 5 from 0.10.0.1 to 4.4.0)",
    "c--kc": "in 0.10.0.1, 4.4.0; not tried in 1.1.1 to 2.2.2; known violation in 2.10.0",
}


def _releases(verdicts: str, causes: str = "     ") -> list[JudgedRelease]:
    return [
        JudgedRelease(label=label, verdict=_VERDICTS[verdict], cause=cause.strip())
        for label, verdict, cause in zip(RELEASES, verdicts, causes, strict=True)
    ]


@pytest.mark.parametrize("verdicts", STATEMENTS)
def test_statement_names_the_releases(verdicts: str) -> None:
    """A span with "since" reaches the newest release; a release that was not tried ends a range, and is named
    between others."""
    assert range_statement(_releases(verdicts)) == STATEMENTS[verdicts]


def test_causes_are_named_apart() -> None:
    """Neighbours with the same verdict for different reasons are not one span."""
    sentence = range_statement(_releases("ckkkk", " aabb"))
    assert sentence == "in 0.10.0.1; known violation in 1.1.1 to 2.2.2 (a); known violation since 2.10.0 (b)"


def test_operation_works() -> None:
    """The words are those of operations."""
    statements = {
        "ccccc": "works in every release tried (0.10.0.1 to 4.4.0)",
        "v--cc": "works since 2.10.0; violates in 0.10.0.1; not tried in 1.1.1 to 2.2.2",
        "i--c-": "works in 2.10.0; unsupported in 0.10.0.1; not tried in 1.1.1 to 2.2.2",
        "--c--": "works in 2.2.2, the only release tried",
    }
    for verdicts, statement in statements.items():
        assert range_statement(_releases(verdicts), role=OPERATION) == statement


def test_cause_is_the_beginning_of_a_declaration() -> None:
    assert short_cause("Off by default; listed all the same. (https://x.example/A-1)") == "Off by default"
    assert short_cause("In 4.0.1 it is so (https://x.example)") == "In 4.0.1 it is so"
    assert len(short_cause("long " * 100)) <= 80


def test_column_of_a_table_has_no_causes() -> None:
    """Causes stand on the clause's page."""
    long = "in 0.10 to 3.6; known violation in 3.9 (Off (KIP-848) by default); violates since 4.0 (x)"
    assert short_statement(long) == "in 0.10 to 3.6; known violation in 3.9; violates since 4.0"
    assert len(short_statement("in 1.0, " * 40)) <= 64
