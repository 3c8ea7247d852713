"""Reasons to refuse a run folder, filled in."""

from __future__ import annotations

import pytest

from reports.run_folders import refusal_reasons
from reports.run_folders.refusal_reasons import (
    CHANGED_FILE,
    INVALID_HEADER,
    ROW_COUNT_DIFFERS,
    UNLISTED_OF_CELLS,
    UNLISTED_OF_ROWS,
    FolderFault,
    RefusalReason,
    RunRefusal,
)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (INVALID_HEADER.fault(), (RunRefusal.INVALID_HEADER, "run.json does not follow its schema")),
        (
            INVALID_HEADER.fault(more="$.tier: 100% wrong"),
            (RunRefusal.INVALID_HEADER, "run.json does not follow its schema: $.tier: 100% wrong"),
        ),
        (
            CHANGED_FILE.fault("examples/a%b", "is missing"),
            (RunRefusal.CHANGED_FILE, "examples/a%b is missing since the run was written"),
        ),
        (
            ROW_COUNT_DIFFERS.fault(3, 0, 2, 1),
            (
                RunRefusal.ROW_COUNT_DIFFERS,
                "the footer counts 3 example rows and 0 exchange rows, but only 2 and 1 are readable",
            ),
        ),
        (
            UNLISTED_OF_CELLS["target"].fault("a, b"),
            (RunRefusal.UNKNOWN_TARGET, "it has cells of a target that its run.json does not list: a, b"),
        ),
        (
            UNLISTED_OF_ROWS["clause"].fault("K"),
            (RunRefusal.UNKNOWN_CLAUSE, "it has rows of a clause that its run.json does not list: K"),
        ),
    ],
)
def test_sentences_name_what_was_found(fault: FolderFault, expected: FolderFault) -> None:
    assert fault == expected


def test_every_refusal_has_a_sentence() -> None:
    values = [*vars(refusal_reasons).values(), *UNLISTED_OF_CELLS.values(), *UNLISTED_OF_ROWS.values()]
    assert {value.refusal for value in values if isinstance(value, RefusalReason)} == set(RunRefusal)
