"""Where the model allows more than one outcome: each such choice, with the observation that requires it.

`python -m workflows.documents` writes the list into `docs/allowed-outcomes.md`. A test walks requests of
every kind over every release, and fails if more than one outcome is allowed without one of these.
"""

from __future__ import annotations

import enum


class Choice(enum.Enum):
    """Why more than one outcome is allowed.

    Attributes:
        reason: in a few words, as failures print it.
        allowed: the outcomes.
        observed: what real brokers did, on which releases.
    """

    reason: str
    allowed: str
    observed: str

    def __init__(self, reason: str, allowed: str, observed: str) -> None:
        self.reason = reason
        self.allowed = allowed
        self.observed = observed

    CLIENT_ID_USED_BEFORE = (
        "only the first request with such a client id is lost, because the broker cannot name its metrics",
        "no response and no close, or the usual response",
        'On 0.11.0.3 the first request whose client id contains a newline or one of `" * , : = ?` is never answered; '
        "later requests with the same id are answered, and so are requests in a version that is not served.",
    )
    IDS_UNKNOWN = (
        "the suite does not know the broker's ids",
        "the table, or REBOOTSTRAP_REQUIRED",
        "The broker at a given address names its cluster id and node id neither in Metadata nor in DescribeCluster, "
        "so the suite does not know whether the ids in a request are right.",
    )
    BODY_MAY_NOT_READ = (
        "if the broker cannot decode the request's body, it closes the connection",
        "ILLEGAL_SASL_STATE and then a close, or only a close",
        "After SaslHandshake v1, releases from 1.0 on refuse a request of another API if they can decode it, and close "
        "the connection if not. The model decodes only a few bodies of other APIs.",
    )
    ENDED_AFTER_FRAME = (
        "the client's end of stream arrives directly after a frame",
        "all responses, or a close without some of them; on 0.10.2 and 0.11 also silence",
        "0.10.0.1 to 2.4.1, after authentication if there is any: which of the two a broker reads first is a race. "
        "Before SASL authentication 22 of 22 requests were answered, and from 2.5 on all are.",
    )
    REFUSED_AFTER_FRAME = (
        "after a frame comes a size that the broker refuses, or a size without its frame and then the end of the stream",
        "the close, with or without the responses before it",
        "0.10.0.1, 0.11.0.3, 1.1.1, 2.0.1 and 2.4.1, after authentication if there is any: the responses were lost 20 of "
        "20 times if both arrived in one read, which TCP does not guarantee. From 2.5 on the responses come first.",
    )
