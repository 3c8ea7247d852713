"""Driver of the model client: one operation or repeated ones, with reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from reference_model.clients.model.client_errors import ClientError
from reference_model.clients.model.model_client import ModelClient

ASK_EVERY_MS = 100
MAX_ASK_MS = 1000
"""One of several asks may take this long, so that a later one shows whether the client has recovered."""
OWN_END_MS = 300
"""A driver whose client does not return ends itself this long after its time is over."""

NO_RESULT = "no result after its time"
"""What that driver reports; drivers of real clients begin with the same words."""


class AskResult(NamedTuple):
    """The result of one operation.

    Attributes:
        outcome: whether it succeeded.
        at_ms: when it ended.
        detail: what was found, or the error.
    """

    outcome: Literal["ok", "error"]
    at_ms: int
    detail: str


def ask(client: ModelClient, limit_ms: int) -> AskResult:
    """Let the client fetch metadata once, and wait for it no longer than a limit."""
    try:
        detail = client.fetch_metadata(client.network.now_ms + limit_ms)
    except ClientError as error:
        return AskResult("error", client.network.now_ms, f"{type(error).__name__}: {error}")
    return AskResult("ok", client.network.now_ms, detail)


def drive(
    client: ModelClient, timeout_ms: int, *, keeps_asking: bool, report: Callable[[AskResult], None]
) -> AskResult:
    """Drive a client until its operation ends or the time is over, and return the last result.

    If `keeps_asking` is set, the operation is repeated until the time is over.
    """
    if not keeps_asking:
        return ask(client, timeout_ms)
    while True:
        last = ask(client, min(MAX_ASK_MS, timeout_ms - client.network.now_ms))
        report(last)
        client.network.wait(ASK_EVERY_MS)
        if client.network.now_ms >= timeout_ms:
            return last
