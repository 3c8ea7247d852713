"""Scripts of brokers that are slow, or fail for seconds and then work.

Both take longer than a client waits for one request.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from reference_model.clients.scripts.named_scripts import LONG_PAUSE_MS
from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    Script,
    all_connections,
)
from strategies.broker_scripts import SUCCESS_MS, metadata_ranges
from strategies.nonsense_scripts import (
    RECOVERY_MS,
    broken_tables,
    healing_connections,
    other_errors,
)

FAILS_FOR_MS = 3500
"""As long as three asks of a client that keeps asking: each may take a second."""
WORKS_FOR_RESPONSES = 4
MAX_THROTTLE_MS = 1000
"""Kafka's longest pause with its defaults."""
NEWEST_AFTER_LATE = 4
"""So old a version of Metadata that every client of today knows a newer one, and can use this one."""
ENOUGH_AFTER_LATE = 40
"""How many responses a client gets if the table of its first connection is to come meanwhile."""


def failing_for_long(*, first_works: bool, answer: Answer | None = None) -> Script:
    """Return a script of a broker that fails for as long as several asks take, and then works.

    Args:
        first_works: whether two connections are healthy before, each for some responses.
        answer: what it answers while it fails, after which it closes; None if it closes each connection at once.
    """
    working = ConnectionScript(closes_after=WORKS_FOR_RESPONSES)
    failing = ConnectionScript(on_open="close")
    if answer is not None:
        failing = ConnectionScript(answers=(replace(answer, then="close"),))
    connections = (working, working, failing) if first_works else (failing,)
    return healing_connections(*connections, heals_after_ms=FAILS_FOR_MS)


def brokers_that_fail_for_long() -> st.SearchStrategy[Script]:
    """Brokers with `failing_for_long`, which close connections or answer with nonsense meanwhile."""
    answers = st.none() | broken_tables() | other_errors()
    return st.builds(failing_for_long, first_works=st.booleans(), answer=answers)


def throttling_broker(throttle_time_ms: int) -> Script:
    """Return a script of a healthy broker each of whose tables says for how long the client is throttled."""
    return all_connections(
        ConnectionScript(answers=(Answer(throttle_time_ms=throttle_time_ms),)), timeout_ms=SUCCESS_MS
    )


def throttling_brokers() -> st.SearchStrategy[Script]:
    """Brokers that throttle a client for up to a second."""
    return st.integers(1, MAX_THROTTLE_MS).map(throttling_broker)


def slow_broker(*, pieces: int = 1, delay_ms: int = LONG_PAUSE_MS, always: bool = True) -> Script:
    """Return a script of a healthy broker that takes seconds for a connection's first table.

    It does so on each connection, or on the first alone if `always` is false.
    """
    slow = ConnectionScript(answers=(Answer(pieces=pieces, delay_ms=delay_ms), Answer()))
    connections = (slow,) if always else (slow, ConnectionScript())
    return all_connections(*connections, timeout_ms=RECOVERY_MS)


def slow_brokers() -> st.SearchStrategy[Script]:
    """Brokers that pause for seconds before their table, and perhaps inside its frame.

    The pauses come always, or only on the first connection.
    """
    before = st.integers(LONG_PAUSE_MS // 2, LONG_PAUSE_MS).map(lambda pause: (1, pause))
    inside = st.just((2, LONG_PAUSE_MS // 2))
    return st.builds(
        lambda pauses, always: slow_broker(pieces=pauses[0], delay_ms=pauses[1], always=always),
        before | inside,
        st.booleans(),
    )


def late_table(newest: int = NEWEST_AFTER_LATE, *, always: bool = True) -> Script:
    """Return a script of a broker whose first table comes late, and whose later ones list fewer versions of Metadata.

    Args:
        newest: the newest version of Metadata in the later tables.
        always: whether these come late as well, to a client that asks once. Otherwise they come at once, and a client
            that keeps asking is still at work when the first one comes.
    """
    first = ConnectionScript(answers=(Answer(delay_ms=LONG_PAUSE_MS),))
    table = metadata_ranges(0, newest)
    later = ConnectionScript(answers=(Answer(delay_ms=LONG_PAUSE_MS if always else 0, table=table),))
    return all_connections(
        *(first, later),
        ends_after=None if always else ENOUGH_AFTER_LATE,
        timeout_ms=RECOVERY_MS,
        keeps_asking=not always,
    )


def late_tables() -> st.SearchStrategy[Script]:
    """Brokers with `late_table`."""
    return st.builds(late_table, st.integers(0, NEWEST_AFTER_LATE), always=st.booleans())
