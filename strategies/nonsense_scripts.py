"""Scripts of brokers that send incorrect responses, or no response.

No correct broker sends such responses to a correct client.

In most of them the client cannot work, so its timeout is short. A broker that heals ends the play soon after the client
works again, so that timeout is the longest one that a client has for it.

Some responses have a table that is not the broker's: with an error code, or in response to another request. Such a
table lists a range of Metadata whose newest version no client sends by itself, so that what a client sends shows
whether it took the table for the broker's.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    EMPTY,
    HEALTHY,
    ITSELF,
    Answer,
    ConnectionScript,
    Script,
    Table,
    all_connections,
    healthy_ranges,
    one_node,
)
from strategies.broker_scripts import FAILURE_MS, always_answering, metadata_ranges, old_versions
from strategies.weights import one_branch
from wire.api_keys import METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.error_codes import ErrorCode
from wire.primitives import INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN

RECOVERY_MS = 10_000
HEALS_AFTER_MS = 700
HEALS_AFTER_CONNECTIONS = 2
"""A client that comes only when the broker is healthy shows nothing; Java may need so long to start on a busy
machine."""
ABSURD_SIZE = 1_000_000_000
"""Bytes of a frame that no client should make room for."""
DAYS_MS = 1_000_000_000
TLS_ALERT = bytes.fromhex("15 03 03 00 02 02 46")
"""What a listener with TLS sends to a client without: a fatal alert. Its first four bytes, read as a size, are
352,518,912."""
OTHER_PROTOCOLS = (
    TLS_ALERT,
    bytes.fromhex("15 03 01 00 02 02 28"),
    bytes.fromhex("15 03 03 00 02 01 00"),
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.6\r\n",
)
"""What servers of other protocols send first: more alerts of TLS, HTTP, whose first bytes are 1,213,486,160 as a
size, and SSH."""
UNUSABLE_TABLES = (
    Table(changed=((METADATA_KEY, 60, 70),)),
    Table(changed=((METADATA_KEY, -3, -1),)),
    Table(changed=((METADATA_KEY, 7, 2),)),
    Table(removed=(METADATA_KEY,)),
    EMPTY,
)
"""Tables that can be read and list no version of Metadata that a client can use: above its own, negative, reversed,
or none."""
_KEYS = tuple(key for key, _, _ in healthy_ranges())


DUPLICATE_TAG = bytes.fromhex("02 0a0161 0a0161")
ENDLESS_COUNT = bytes.fromhex("808080808001")
"""A count in more bytes than a count may have."""
HUGE_FEATURE_COUNT = bytes.fromhex("01 0005ffffffff0f")
"""The supported features, which claim to be four thousand million."""
_ODD_TAG_SECTIONS = (
    DUPLICATE_TAG,
    bytes.fromhex("02 0b0161 0a0161"),
    # More fields, and more bytes, than follow.
    bytes.fromhex("05 0a0161"),
    bytes.fromhex("01 0a7f61"),
    bytes.fromhex("01 0affffffff0f61"),
    # Fields that clients know: of a wrong size, or with a senseless count inside.
    bytes.fromhex("01 000105"),
    HUGE_FEATURE_COUNT,
    bytes.fromhex("01 010400000000"),
    bytes.fromhex("01 0200"),
    bytes.fromhex("01 03020101"),
    b"",
)
NEWEST_LISTED = (3, 6, 8)
"""The newest versions of Metadata in such a table: those of the releases whose versions clients guess are others."""
_JUDGED_ELSEWHERE = (
    ErrorCode.NONE,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.REBOOTSTRAP_REQUIRED,
)


def other_errors() -> st.SearchStrategy[Answer]:
    """Responses with an error code that has no meaning here, known or unknown; some with a table."""
    meaningful = (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION, ErrorCode.INVALID_REQUEST)
    known = st.sampled_from([code for code in ErrorCode if code not in meaningful])
    unknown = st.sampled_from((137, 1000, INT16_MAX, -2, INT16_MIN))
    tables = st.sampled_from((EMPTY, HEALTHY))
    return st.builds(Answer, error_code=(known | unknown).map(int), table=tables)


def misframed_refusals() -> st.SearchStrategy[Answer]:
    """UNSUPPORTED_VERSION that ends too early, is written in a flexible layout, or has a null table."""
    error = int(ErrorCode.UNSUPPORTED_VERSION)
    tables = st.sampled_from((ITSELF, EMPTY, HEALTHY))
    cut = st.integers(0, 11).map(lambda end: Answer(error_code=error, table=ITSELF, layout=0, cut_to=end))
    flexible = st.builds(
        Answer,
        error_code=st.just(error),
        table=tables,
        layout=st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
    )
    null = st.just(Answer(error_code=error, table=Table(null=True), layout=0))
    return cut | flexible | null


def broken_tables() -> st.SearchStrategy[Answer]:
    """Tables that are null, cut off, longer or shorter than they claim, or in the layout of another version."""
    counts = st.sampled_from((0, 1, 1000, INT32_MAX)) | st.integers(0, 2000)
    surplus = st.binary(min_size=1, max_size=4) | st.binary(min_size=21, max_size=40)
    return st.one_of(
        st.just(Answer(table=Table(null=True))),
        st.integers(0, 60).map(lambda end: Answer(cut_to=end)),
        counts.map(lambda count: Answer(table=Table(claimed_count=count))),
        st.integers(0, NEWEST_VERSION).map(lambda version: Answer(layout=version)),
        st.just(Answer(table=EMPTY)),
        st.binary(max_size=40).map(lambda body: Answer(body=body)),
        surplus.map(lambda more: Answer(trailing=more)),
    )


def odd_tables() -> st.SearchStrategy[Answer]:
    """Tables that can be decoded and make no sense: ranges of any numbers, duplicates, in descending order."""
    numbers = st.integers(-3, 20) | st.sampled_from((INT16_MIN, INT16_MAX))
    keys = st.sampled_from(_KEYS) | st.just(METADATA_KEY)
    entries = st.lists(st.tuples(keys, numbers, numbers), min_size=1, max_size=6).map(tuple)
    tables = st.one_of(
        st.builds(Table, after=entries),
        st.builds(Table, changed=entries),
        st.builds(Table, before=entries, descending=st.booleans()),
        st.just(Table(descending=True)),
    )
    return tables.map(lambda table: Answer(table=table))


def odd_tag_sections() -> st.SearchStrategy[Answer]:
    """Healthy tables with a tag section that is duplicate, descending, overrun, of a wrong size or oddly counted."""
    # A count of no fields in more bytes than it needs, in one too many, and one that never ends.
    counts = st.sampled_from((b"\x80\0", bytes(4 * [0x80]) + b"\0", ENDLESS_COUNT, b"\xff" * 10))
    sections = st.sampled_from(_ODD_TAG_SECTIONS) | counts | st.binary(max_size=12)
    return sections.map(lambda section: Answer(tag_section=section))


def odd_counts() -> st.SearchStrategy[Answer]:
    """Tables whose count is negative, or is written in more bytes than it needs or may have."""
    negative = st.sampled_from((-2, INT32_MIN)).map(lambda count: Table(claimed_count=count))
    in_bytes = st.sampled_from(
        (b"\xce\x80\0", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f", ENDLESS_COUNT, b"\x80")
    )
    return (negative | in_bytes.map(lambda count: Table(count_bytes=count))).map(lambda table: Answer(table=table))


def odd_throttle_times() -> st.SearchStrategy[Answer]:
    """Healthy tables with a negative throttle time, or one of days."""
    times = st.sampled_from((-1, INT32_MIN, DAYS_MS, INT32_MAX))
    return times.map(lambda time: Answer(throttle_time_ms=time))


def repeated_answers() -> st.SearchStrategy[Answer]:
    """Healthy tables and refusals that come two or three times."""
    kinds = st.sampled_from((Answer(), Answer(error_code=35, table=ITSELF, layout=0)))
    return st.builds(replace, kinds, copies=st.integers(2, 3))


def misaddressed_answers() -> st.SearchStrategy[Answer]:
    """Healthy tables that the client cannot find: with another correlation id, or a tag section in the header."""
    shifts = st.sampled_from((1, -1, INT32_MAX)) | st.integers(1, 1000)
    return st.just(Answer(flexible_header=True)) | shifts.map(
        lambda shift: Answer(correlation_shift=shift, then="close")
    )


def misframed_answers() -> st.SearchStrategy[Answer]:
    """Healthy tables in a frame that claims another size.

    If it claims far more than the broker sends, the connection stays open: some clients allocate the frame only if they
    read its size before the close. No size lies near 100 MB, which many clients accept by default: a few such buffers,
    freed sooner or later, use about as much memory as a client may.
    """
    small = st.sampled_from((-1, 0, 1, 2, 3, 4, 5, 1000, INT32_MIN)) | st.integers(6, 400)
    large = st.sampled_from((10_000_000, ABSURD_SIZE, INT32_MAX))
    pieces = st.integers(1, 3)
    stays_open = st.sampled_from((-1, 0, 1, 2, 3))
    ends = st.sampled_from(("close", "reset"))
    return (
        st.builds(Answer, claimed_size=small, pieces=pieces, then=ends)
        | st.builds(Answer, claimed_size=stays_open)
        | st.builds(Answer, claimed_size=large, pieces=pieces)
    )


def other_protocols() -> st.SearchStrategy[Answer]:
    """Bytes of another protocol in place of the table or after it, and the end of the connection."""
    data, ends = st.sampled_from(OTHER_PROTOCOLS), st.sampled_from(("close", "reset"))
    return st.builds(Answer, raw=data, then=ends) | st.builds(Answer, appended=data, then=ends)


def nonsense_answers() -> st.SearchStrategy[Answer]:
    """Responses to ApiVersions that no correct broker sends, each over at once or followed by a close.

    A refusal that can be read is not among them, whatever range it names: other clauses are about that.
    """
    return st.one_of(
        one_branch(broken_tables()),
        one_branch(misframed_refusals()),
        one_branch(misaddressed_answers()),
        one_branch(misframed_answers()),
        one_branch(odd_tables()),
        one_branch(odd_tag_sections()),
        one_branch(odd_counts()),
        one_branch(odd_throttle_times()),
        one_branch(repeated_answers()),
        one_branch(other_protocols()),
        one_branch(other_errors()),
    )


def unasked_response(unasked: Answer) -> Script:
    """Return a script of a healthy broker that sends a response before any request."""
    return all_connections(ConnectionScript(unasked=unasked), timeout_ms=FAILURE_MS)


def brokers_that_talk_nonsense() -> st.SearchStrategy[Script]:
    """Brokers with `nonsense_answers`, or that send a response before any request."""
    early = st.builds(
        Answer,
        table=st.sampled_from((HEALTHY, EMPTY)),
        correlation_shift=st.integers(0, 2),
        copies=st.integers(1, 2),
    )
    return nonsense_answers().map(always_answering) | early.map(unasked_response)


def healing(answer: Answer) -> Script:
    """Return a script of a broker that sends a response until it heals, and closes the connection after it.

    A client may keep a table as long as its connection is open, whatever the table says.
    """
    then = "close" if answer.then == "stay" else answer.then
    return healing_connections(ConnectionScript(answers=(replace(answer, then=then),)))


def healing_after_a_huge_frame() -> Script:
    """Return a script of a broker that begins the largest frame, soon closes the connection, and later heals.

    A client that makes room for it has done so before it learns of the end.
    """
    return healing(Answer(claimed_size=INT32_MAX, pieces=3, delay_ms=100))


def healing_connections(*connections: ConnectionScript, heals_after_ms: int = HEALS_AFTER_MS) -> Script:
    """Return a script of a broker that heals.

    Args:
        connections: what happens until then on its first connection, the second and so on; the last one repeats.
        heals_after_ms: when it heals, if it has seen each of them, and the last one twice.
    """
    return all_connections(
        *connections,
        heals_after_ms=heals_after_ms,
        heals_after_connections=len(connections) - 1 + HEALS_AFTER_CONNECTIONS,
        timeout_ms=RECOVERY_MS,
        keeps_asking=True,
    )


def brokers_that_heal() -> st.SearchStrategy[Script]:
    """Brokers that send `nonsense_answers`, close or reset, and are healthy after a while.

    A connection ends before or after the table.
    """
    ends = st.sampled_from(
        (
            *(Answer(action="close"), Answer(action="reset")),
            *(Answer(then="close"), Answer(then="reset")),
        )
    )
    closed = st.just(healing_connections(ConnectionScript(on_open="close")))
    # A client may keep to a throttle time of days.
    answers = nonsense_answers().filter(lambda answer: answer.throttle_time_ms < DAYS_MS)
    return (ends | one_branch(answers)).map(healing) | closed


def swapping_broker() -> Script:
    """Return a script of a broker that answers every second request of a connection before the first one."""
    pair = (Answer(held_back=True), Answer())
    return one_node(*(pair * 3), timeout_ms=FAILURE_MS)


def without_answer(action: str = "close", *, on_open: str = "serve", newest: int | None = None) -> Script:
    """Return a script of a broker that gives no response to ApiVersions, or only up to version `newest`."""
    answer = Answer(action=action)  # type: ignore[arg-type]
    if newest is None:
        connection = ConnectionScript(on_open=on_open, answers=(answer,))  # type: ignore[arg-type]
    else:
        connection = ConnectionScript(newest_version=newest, refusal=answer)
    return all_connections(connection, timeout_ms=FAILURE_MS)


def brokers_before_api_versions() -> st.SearchStrategy[Script]:
    """Brokers that do not answer ApiVersions or its newer versions, or answer late.

    They close, reset or stay silent on ApiVersions or its newer versions, or close or stay silent on every connection.
    A late response comes after the next request, or after the response to that request.
    """
    actions = st.sampled_from(("close", "reset", "silence"))
    return st.one_of(
        st.builds(without_answer, actions),
        st.builds(without_answer, on_open=st.sampled_from(("close", "silence"))),
        st.builds(without_answer, actions, newest=old_versions()),
        st.just(always_answering(Answer(held_back=True))),
        st.just(swapping_broker()),
    )


def table_with_error(error_code: int, newest: int = NEWEST_LISTED[0]) -> Script:
    """Return a script of a broker that answers every ApiVersions request with an error and a table."""
    table = metadata_ranges(newest - 1, newest)
    return always_answering(Answer(error_code=error_code, table=table))


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
    return always_answering(Answer(table=table, correlation_shift=shift))


def foreign_tables() -> st.SearchStrategy[Script]:
    """Brokers with `foreign_table`, whose id is next to that of the request, or far away."""
    shifts = st.sampled_from((1, -1, INT32_MAX)) | st.integers(2, 1000)
    return st.builds(foreign_table, shifts, st.sampled_from(NEWEST_LISTED))
