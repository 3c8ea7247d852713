"""Why run folders are refused: the name, the sentence and the rule of each reason.

`run_rules` applies them for every reader. The first reason counts, in the order of this module.

Sentences about limits and about unusable names are those of `run_limits` and `record_paths`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from reports.records import RECORD_SCHEMA_VERSION

CLOCKS_DIFFER_BY_H = 1
"""A run that is dated later than this, in hours from now, is not believed: it would stay the newest of its target."""
MAX_NAMED = 20
"""Clauses or targets that a sentence names."""
TESTS_FAILED = 1
"""Exit status of every run with a violation that gates."""
_UNLISTED = "it has {what} of a {name} that its run.json does not list: %s"


class RunRefusal(enum.StrEnum):
    """Why a reader refuses a run folder. No row of a refused folder changes a cell.

    A clause or target is unknown if a cell or row names one that the run's own header does not list. A run is not
    refused if only today's catalogue or registry lacks it: clauses get removed, and users may judge targets of their
    own. A run contradicts itself if its times, its exit status or its role cannot be those of its rows.
    """

    UNUSABLE_NAME = "unusable_name"
    SPECIAL_FILE = "special_file"
    BEYOND_LIMITS = "beyond_limits"
    NO_HEADER = "no_header"
    DAMAGED_HEADER = "damaged_header"
    FOREIGN_SCHEMA = "foreign_schema"
    INVALID_HEADER = "invalid_header"
    UNKNOWN_CLAUSE = "unknown_clause"
    UNKNOWN_TARGET = "unknown_target"
    CUT_OFF = "cut_off"
    CONTRADICTION = "contradiction"
    DAMAGED_FILE = "damaged_file"
    ROW_COUNT_DIFFERS = "row_count_differs"
    CHANGED_FILE = "changed_file"
    INVALID_ROWS = "invalid_rows"
    DUPLICATE_RUN_ID = "duplicate_run_id"
    INVALID_PACK = "invalid_pack"
    JUDGED_OTHERWISE = "judged_otherwise"


class FolderFault(NamedTuple):
    """Why one run folder is refused.

    Attributes:
        refusal: the name of the reason.
        sentence: the reason as a sentence about the folder.
    """

    refusal: RunRefusal
    sentence: str


@dataclass(frozen=True, slots=True)
class RefusalReason:
    """One reason to refuse a run folder; the text after each constant is its rule.

    Attributes:
        refusal: its name in lists.
        sentence: what readers of the lists see, with `%s` and `%d` for what was found.
    """

    refusal: RunRefusal
    sentence: str

    def fault(self, *values: object, more: str = "") -> FolderFault:
        """Return the reason with what was found filled in.

        Args:
            values: what was found.
            more: what follows the sentence.
        """
        sentence = self.sentence % values
        return FolderFault(self.refusal, f"{sentence}: {more}" if more else sentence)


UNUSABLE_NAME = RefusalReason(RunRefusal.UNUSABLE_NAME, "%s")
"""The folder's path and the names in it are UTF-8; the sentence is from `record_paths`."""
SPECIAL_FILE = RefusalReason(RunRefusal.SPECIAL_FILE, "%s is %s, and no plain file")
"""A folder has files and folders in it, and no link, pipe, socket or device."""
SPECIAL_ROOT = RefusalReason(RunRefusal.SPECIAL_FILE, "it is %s; give the run folder itself")
"""The same of what is outside of run folders."""
BEYOND_LIMITS = RefusalReason(RunRefusal.BEYOND_LIMITS, "%s")
"""Files are within `run_limits`, which has the sentences. Files of rows are opened after the header is checked:
one beyond a limit is reported before `DAMAGED_FILE`."""

NO_HEADER = RefusalReason(RunRefusal.NO_HEADER, "it has no run.json, or an empty one")
DAMAGED_HEADER = RefusalReason(RunRefusal.DAMAGED_HEADER, "run.json is not a complete JSON object")
"""Nothing follows the object, and nothing in it is nested more deeply than `wire.foreign_json.MAX_DEPTH`."""
FOREIGN_SCHEMA = RefusalReason(
    RunRefusal.FOREIGN_SCHEMA,
    f"record_schema_version is %s; this version of the suite reads only {RECORD_SCHEMA_VERSION}",
)
INVALID_HEADER = RefusalReason(RunRefusal.INVALID_HEADER, "run.json does not follow its schema")
"""It follows `reports.run_schema`, its numbers fit into the roll-up's columns, its times exist in the calendar, and no
cell is planned twice."""
UNLISTED_OF_CELLS = {
    "clause": RefusalReason(RunRefusal.UNKNOWN_CLAUSE, _UNLISTED.format(what="cells", name="clause")),
    "target": RefusalReason(RunRefusal.UNKNOWN_TARGET, _UNLISTED.format(what="cells", name="target")),
}
"""By the column of the cells: the header lists the clause and the target of each planned cell."""
CUT_OFF = RefusalReason(RunRefusal.CUT_OFF, "run.json has no footer: the run did not end")
DATED_IN_THE_FUTURE = RefusalReason(RunRefusal.CONTRADICTION, "it is dated in the future: %s")
"""Neither of its times is later than in `CLOCKS_DIFFER_BY_H`; the sentence names the later one."""
FINISHED_TOO_EARLY = RefusalReason(RunRefusal.CONTRADICTION, "it finished before it started, at %s")

DAMAGED_FILE = RefusalReason(
    RunRefusal.DAMAGED_FILE, "%s: not readable as Parquet, or a column is missing or has another type"
)
"""Each file of rows has the columns of the records, if the rows that can be read are not as many as they should be."""
ROW_COUNT_DIFFERS = RefusalReason(
    RunRefusal.ROW_COUNT_DIFFERS,
    "the footer counts %d example rows and %d exchange rows, but only %d and %d are readable",
)
CHANGED_FILE = RefusalReason(RunRefusal.CHANGED_FILE, "%s %s since the run was written")
"""If the footer has hashes, the files are those that it lists, with these hashes: none "has changed", "is missing or
empty" or "was added". Spark does not list empty files, so no reader distinguishes them from missing ones."""

UNLISTED_OF_ROWS = {
    "clause": RefusalReason(RunRefusal.UNKNOWN_CLAUSE, _UNLISTED.format(what="rows", name="clause")),
    "target": RefusalReason(RunRefusal.UNKNOWN_TARGET, _UNLISTED.format(what="rows", name="target")),
}
"""By the column of the rows: the header lists the clause and target of each row that belongs to no planned cell."""
INVALID_ROWS = RefusalReason(
    RunRefusal.INVALID_ROWS, "%d example rows do not follow the record schema or belong to no planned cell"
)
"""Each row has all that is never null, the run's id, a verdict of an example and a phase, and is of a planned cell."""
CLIENTS_IN_ROWS = RefusalReason(RunRefusal.CONTRADICTION, "its clauses are those of brokers, but its rows name clients")
"""With a clause for brokers, no row names a client."""
NO_CLIENTS_IN_ROWS = RefusalReason(
    RunRefusal.CONTRADICTION, "its clauses are those of clients, but it has rows that name no client"
)
"""Without one, each row names a client."""
UNEXPLAINED_STATUS = RefusalReason(RunRefusal.CONTRADICTION, "its exit status is %d, but it has violations of %s")
"""A run with a violation of a clause that gates ends with `TESTS_FAILED`, unless the violation's cell does not apply,
or is declared as violated, flaky or unproven. The other way round is no contradiction: a run also ends with 1 because a
declared violation is gone, or because a test that belongs to no cell failed."""
DUPLICATE_RUN_ID = RefusalReason(RunRefusal.DUPLICATE_RUN_ID, "its run id is that of %s")
"""Of several runs with the same id, the first by folder counts, those of packs last, unless one is known already."""
INVALID_PACK = RefusalReason(RunRefusal.INVALID_PACK, "%s")
"""The file of a pack is as `kafka-conformance pack` wrote it; the sentence is from `run_pack`."""
JUDGED_OTHERWISE = RefusalReason(RunRefusal.JUDGED_OTHERWISE, "%s")
"""What the run in a pack states follows from the bytes in it; the sentence is from `conformance.packs`."""
