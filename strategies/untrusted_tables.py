"""Scripts of brokers whose responses have a table that is not theirs: with an error code, or in response to another request.

Each table lists a range of Metadata whose newest version no client sends by itself, so that what a client sends shows whether it took
the table for the broker's.
"""

from __future__ import annotations

from hypothesis import strategies as st

from reference_model.clients.scripts.script import Answer, Script, one_node
from strategies.broker_scripts import FAILURE_MS, metadata_ranges
from wire.error_codes import ErrorCode
from wire.primitives import INT16_MAX, INT32_MAX

NEWEST_LISTED = (3, 6, 8)
"""The newest versions of Metadata in such a table: those of the releases whose versions clients guess are others."""
_JUDGED_ELSEWHERE = (
    ErrorCode.NONE,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.REBOOTSTRAP_REQUIRED,
)


def table_with_error(error_code: int, newest: int = NEWEST_LISTED[0]) -> Script:
    """Return a script of a broker that answers every ApiVersions request with an error and a table."""
    table = metadata_ranges(newest - 1, newest)
    return one_node(Answer(error_code=error_code, table=table), timeout_ms=FAILURE_MS)


def tables_with_errors() -> st.SearchStrategy[Script]:
    """Brokers with `table_with_error`: any error that no other clause is about, known or not."""
    known = st.sampled_from([int(code) for code in ErrorCode if code not in _JUDGED_ELSEWHERE])
    unknown = st.sampled_from((1000, INT16_MAX, -2))
    return st.builds(table_with_error, known | unknown, st.sampled_from(NEWEST_LISTED))


def foreign_table(shift: int, newest: int = NEWEST_LISTED[0]) -> Script:
    """Return a script of a broker that answers every ApiVersions request with another correlation id.

    Args:
        shift: how far the id lies above that of the request.
        newest: the newest version of Metadata in the table.
    """
    table = metadata_ranges(newest - 1, newest)
    return one_node(Answer(table=table, correlation_shift=shift), timeout_ms=FAILURE_MS)


def foreign_tables() -> st.SearchStrategy[Script]:
    """Brokers with `foreign_table`, whose id is next to that of the request, or far away."""
    shifts = st.sampled_from((1, -1, INT32_MAX)) | st.integers(2, 1000)
    return st.builds(foreign_table, shifts, st.sampled_from(NEWEST_LISTED))
