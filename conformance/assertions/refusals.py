"""What a response consists of, whether it serves a request or refuses it."""

from __future__ import annotations

from hypothesis import reject

from conformance.assertions.decoding import decode_answer
from conformance.assertions.errors import MalformedAnswer
from strategies.cluster_ids import Ids
from strategies.field_values import PLAIN_SOFTWARE, Software
from wire.api_versions import ApiVersionsResponse
from wire.exchange import Exchange, Request


def is_plain(sent: Request) -> bool:
    """Return whether a request has plain software and no ids, so that its version alone decides about the response."""
    body = sent.body
    assert body is not None
    software = Software(body.client_software_name, body.client_software_version)
    return software == PLAIN_SOFTWARE and Ids(body.cluster_id, body.node_id) == Ids()


def decode_success_or_refusal(exchange: Exchange, *, api_version: int) -> ApiVersionsResponse:
    """Decode the response to a request that the target may refuse, in the layout of a version.

    Whether a refusal comes, and in which layout, is judged by separate clauses: without one in this the example is
    rejected.

    Raises:
        MalformedAnswer: a plain request gets no response, or it does not decode.
    """
    try:
        return decode_answer(exchange, api_version=api_version)
    except MalformedAnswer:
        if is_plain(exchange.request):
            raise
        reject()
