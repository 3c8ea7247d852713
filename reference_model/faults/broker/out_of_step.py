"""Defects that get a connection out of step.

They are bytes between responses, responses that come twice, and wrong correlation ids.

What a client reads after them are not the responses to its requests, so all that it asks on the connection looks wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.faults.broker.registry import CORRELATION_ID, OPEN_LISTENERS, defect
from wire.api_keys import PRODUCE_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.primitives import write_int32

ID_ECHOED = "PROTOCOL.correlation-id-echoed"
IN_ORDER = "PROTOCOL.answers-in-order"
SIZE_EXACT = "PROTOCOL.size-prefix-exact"
MANY = 7
"""Number of requests in one read from which a response has a wrong id."""


FIRST_ENTRY, ENTRY_BYTES, THROTTLE_TIME_BYTES = 10, 6, 4
"""Offset of the first entry in a response without its size prefix, and sizes of parts of a v2 response."""


@defect(Stage.ANSWER, SIZE_EXACT)
def a_byte_follows_each_frame(context: RequestContext) -> None:
    """One byte follows the frame of each response; the frame's size does not count it."""
    if context.answer:
        context.answer += b"\0"


@defect(Stage.ANSWER, SIZE_EXACT, listeners=OPEN_LISTENERS)
def flexible_frames_are_padded_to_eight_bytes(context: RequestContext) -> None:
    """From v3, bytes follow a frame up to the next multiple of eight; its size does not count them."""
    if context.answer and context.version >= FIRST_FLEXIBLE_VERSION:
        context.answer += b"\xff" * (-len(context.answer) % 8)


@defect(Stage.ANSWER, SIZE_EXACT, listeners=OPEN_LISTENERS)
def a_large_number_follows_each_table(context: RequestContext) -> None:
    """Five bytes follow the frame of each table, which a client takes for a size that is too large."""
    if context.answer and context.succeeds:
        context.answer += b"\x70\xff\xff\xff\xff"


@defect(Stage.ANSWER, SIZE_EXACT, listeners=OPEN_LISTENERS)
def entries_of_v2_end_with_a_tag_section(context: RequestContext) -> None:
    """Each entry of a v2 table is followed by the empty tag section of v3, so a client reads other entries."""
    if context.answer and context.succeeds and context.reaction.response_version == 2:
        payload = context.answer[SIZE_BYTES:]
        entries = payload[FIRST_ENTRY:-THROTTLE_TIME_BYTES]
        longer = b"".join(entries[at : at + ENTRY_BYTES] + b"\0" for at in range(0, len(entries), ENTRY_BYTES))
        context.answer = encode_frame(payload[:FIRST_ENTRY] + longer + payload[-THROTTLE_TIME_BYTES:])


@defect(Stage.ANSWER, IN_ORDER, listeners=OPEN_LISTENERS)
def each_table_comes_twice(context: RequestContext) -> None:
    """The response with a table is sent twice."""
    if context.succeeds:
        context.answer *= 2


@defect(Stage.ANSWER, IN_ORDER, listeners=OPEN_LISTENERS)
def pipelined_tables_come_twice(context: RequestContext) -> None:
    """The response with a table is sent twice if the next request arrived with its request."""
    if context.succeeds and context.connection.unread:
        context.answer *= 2


@defect(Stage.READ, IN_ORDER)
def first_of_many_answers_comes_twice(answers: list[bytes]) -> None:
    """Of seven or more requests that arrive together, the first gets two responses."""
    if len(answers) >= MANY:
        answers.insert(0, answers[0])


@defect(Stage.READ, IN_ORDER)
def second_of_many_answers_has_a_wrong_id(answers: list[bytes]) -> None:
    """Of seven or more requests that arrive together, the second gets a response with the correlation id 99."""
    if len(answers) >= MANY:
        answers[1] = _with_id(answers[1], 99)


@defect(Stage.READ, IN_ORDER)
def many_answers_share_an_id(answers: list[bytes]) -> None:
    """Seven or more requests that arrive together get responses with the correlation id of the first."""
    if len(answers) >= MANY:
        first = answers[0][CORRELATION_ID]
        answers[:] = [_with_id(each, int.from_bytes(first, signed=True)) for each in answers]


@defect(Stage.ANSWER, "PROTOCOL.no-response-to-acks-0", every_api=True)
def an_id_without_a_response_is_used_up_later(context: RequestContext) -> None:
    """The response to the request after Produce with acks 0 has the correlation id of that one."""
    memory, header = context.connection.memory, context.header
    if header is None:
        return
    if context.answer and "unused id" in memory:
        context.answer = _with_id(context.answer, memory.pop("unused id"))
    elif header.api_key == PRODUCE_KEY and context.reaction.outcome is Outcome.IGNORED:
        memory["unused id"] = header.correlation_id


def _with_id(answer: bytes, correlation_id: int) -> bytes:
    """Return the frame of a response with another correlation id."""
    return answer[: CORRELATION_ID.start] + write_int32(correlation_id) + answer[CORRELATION_ID.stop :]


def _close_unless(context: RequestContext, follows: Callable[[int, int], bool]) -> None:
    """Close the connection if the correlation id of a request does not follow the one before it."""
    if context.header is None:
        return
    memory, own = context.connection.memory, context.header.correlation_id
    before = memory.get("correlation id")
    memory["correlation id"] = own
    if before is not None and not follows(before, own):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, ID_ECHOED, every_api=True)
def correlation_ids_have_to_count_up(context: RequestContext) -> None:
    """Without SASL, a request closes the connection unless its correlation id is the previous one plus one."""
    if context.broker.profile.listener in OPEN_LISTENERS:
        _close_unless(context, lambda before, own: own == before + 1)


@defect(Stage.REACTION, ID_ECHOED, every_api=True)
def correlation_ids_have_to_grow(context: RequestContext) -> None:
    """Without SASL, a request closes the connection unless its correlation id exceeds the previous one."""
    if context.broker.profile.listener in OPEN_LISTENERS:
        _close_unless(context, lambda before, own: own > before)


@defect(Stage.REACTION, ID_ECHOED, every_api=True, breaks_rarely=("PROTOCOL.well-formed-never-closed",))
def equal_correlation_ids_close(context: RequestContext) -> None:
    """Without SASL, a request closes the connection if it has the correlation id of the request before it."""
    if context.broker.profile.listener in OPEN_LISTENERS:
        _close_unless(context, lambda before, own: own != before)
