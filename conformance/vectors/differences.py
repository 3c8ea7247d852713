"""Says in one sentence what a response has that a vector does not allow."""

from __future__ import annotations

from conformance.vectors.broker_vectors import Outcomes
from reference_model.broker.rules.reaction import AnswerKind
from reference_model.judging.agreement import Agreement
from reference_model.judging.outcome_texts import in_words, what_it_answered
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import ApiVersionsResponse
from wire.codec import decode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome
from wire.frames import SIZE_BYTES
from wire.headers import CORRELATION_ID_BYTES

FIRST_BODY_BYTE = SIZE_BYTES + CORRELATION_ID_BYTES
"""Offset of the body in the frame of a response to ApiVersions."""


def what_differs(exchange: Exchange, allowed: Outcomes, agreement: Agreement, *, stays_open: bool = False) -> str:
    """Return the sentence about what a broker did other than a vector allows.

    Args:
        exchange: a frame, and what became of it.
        allowed: the outcomes that the vector allows.
        agreement: knows the broker's own table, with which a response is compared.
        stays_open: whether the response is right, but not that the connection stays open after it.
    """
    tables = [each for each in allowed if each.outcome is Outcome.ANSWER and each.kind is AnswerKind.API_VERSIONS]
    if stays_open:
        detail = ", and the connection stays open"
    elif exchange.payload is None or not tables:
        detail = ""
    else:
        detail = _of_body(exchange, exchange.payload, allowed, tables[0].response_version, agreement)
    return f"the vector allows {in_words(allowed)}; {what_it_answered(exchange)}{detail}"


def _of_body(exchange: Exchange, payload: bytes, allowed: Outcomes, version: int, agreement: Agreement) -> str:
    try:
        response = decode(ApiVersionsResponse, payload[CORRELATION_ID_BYTES:], version=version)
    except DecodeError as error:
        where = f"{error.field_path}: " if error.field_path else ""
        return (
            f", but byte {FIRST_BODY_BYTE + error.start} of the frame is wrong for v{version}: {where}{error.problem}"
        )
    fields = agreement.what_differs(exchange, allowed)
    differing = "".join(f"; {field}: {texts}" for field, texts in fields.items() if field != "error_code")
    return f" in v{version} listing {listing_of(response)}{differing}"


def listing_of(response: ApiVersionsResponse) -> str:
    """Return what a response lists: nothing, ApiVersions alone, or so many APIs."""
    keys = [entry.api_key for entry in response.api_keys]
    return "nothing" if not keys else "itself" if keys == [API_VERSIONS_KEY] else f"{len(keys)} APIs"
