"""Defects in how versions are served that write in a transaction."""

from __future__ import annotations

from typing import Any

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.clients.rules.transaction_versions import NEWEST_BEFORE_V2
from reference_model.faults.broker.other_apis import is_asked
from reference_model.faults.broker.registry import defect
from wire.api_keys import PRODUCE_KEY, TXN_OFFSET_COMMIT_KEY
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import encode_frame
from wire.message_schemas import message_from
from wire.transaction_messages import PRODUCE, TXN_OFFSET_COMMIT

IN_TRANSACTIONS = "FEATURES.served-in-transactions"
_REFUSED = {"error_code": ErrorCode.UNSUPPORTED_VERSION}


def transactional_write(context: RequestContext, api_key: int, first: int, last: int) -> Any:
    """Return a request that writes in a transaction, in a version of a range, and names a topic; None for any other.

    Args:
        context: the frame.
        api_key: that of Produce or of TxnOffsetCommit.
        first: the first version of the range.
        last: the last one.
    """
    if not is_asked(context, api_key, first, last):
        return None
    assert context.header is not None
    api = PRODUCE if api_key == PRODUCE_KEY else TXN_OFFSET_COMMIT
    try:
        request = api.decode_request(context.payload, context.header.api_version)
    except DecodeError:
        return None
    topics = request.topic_data if api is PRODUCE else request.topics
    return request if topics and request.transactional_id is not None else None


def refuse(context: RequestContext, api_key: int, first: int, last: int) -> None:
    """Answer such a request with UNSUPPORTED_VERSION for each partition."""
    request = transactional_write(context, api_key, first, last)
    if request is None:
        return
    assert context.header is not None
    if api_key == PRODUCE_KEY:
        api = PRODUCE
        topics: list[dict[str, Any]] = [
            {"name": each.name, "topic_id": each.topic_id, "partition_responses": ({"index": 0, **_REFUSED},)}
            for each in request.topic_data
        ]
        message = message_from(api.response, {"responses": topics})
    else:
        api = TXN_OFFSET_COMMIT
        topics = [
            {"name": each.name, "topic_id": each.topic_id, "partitions": ({"partition_index": 0, **_REFUSED},)}
            for each in request.topics
        ]
        message = message_from(api.response, {"topics": topics})
    version, correlation_id = context.header.api_version, context.header.correlation_id
    context.answer = encode_frame(api.response_payload(message, version, correlation_id))


@defect(Stage.ANSWER, IN_TRANSACTIONS, every_api=True)
def writes_of_transaction_v2_are_refused_although_it_is_on(context: RequestContext) -> None:
    """In a transaction Produce v12 and above gets UNSUPPORTED_VERSION, although transaction.version is 2."""
    refuse(context, PRODUCE_KEY, NEWEST_BEFORE_V2[PRODUCE_KEY] + 1, 99)


@defect(Stage.ANSWER, IN_TRANSACTIONS, every_api=True)
def offsets_in_transactions_are_refused_in_the_newest_version(context: RequestContext) -> None:
    """TxnOffsetCommit v6 gets UNSUPPORTED_VERSION, although the table lists it and transaction.version is 2."""
    refuse(context, TXN_OFFSET_COMMIT_KEY, 6, 6)


@defect(Stage.REACTION, IN_TRANSACTIONS, every_api=True)
def old_writes_in_transactions_close(context: RequestContext) -> None:
    """Produce v3 closes the connection if it is one of a transaction."""
    if transactional_write(context, PRODUCE_KEY, 3, 3) is not None:
        context.replace_reaction(outcome=Outcome.CLOSED)
