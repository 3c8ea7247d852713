"""Where the model allows more than one outcome: each such choice, with the observation that requires it.

`python -m tests.documents.allowed_outcomes` writes the list into `docs/allowed-outcomes.md`. A test walks requests of
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
        "only the first request with such a client id is lost, as its metrics get no name",
        "silence for good, or the usual answer",
        'On 0.11.0.3 the first request whose client id holds a newline or one of `" * , : = ?` is never answered; '
        "later ones with the same id are, and so is a version that is not served.",
    )
    IDS_UNKNOWN = (
        "the ids of the broker are not known to us",
        "the table, or REBOOTSTRAP_REQUIRED",
        "A broker at a given address that names its cluster id and node id neither in Metadata nor in DescribeCluster: "
        "we cannot tell whether the ids of a request are right.",
    )
    BODY_MAY_NOT_READ = (
        "the body of the request may not read, which closes the connection",
        "ILLEGAL_SASL_STATE and then the close, or the close alone",
        "After SaslHandshake v1 releases from 1.0 on refuse a request of another API that reads, and close on one that "
        "does not. The model reads no bodies of other APIs but a few that are written down.",
    )
    ENDED_AFTER_FRAME = (
        "the client's end of stream arrives directly after a frame",
        "the answers, or the close without some of them; on 0.10.2 and 0.11 also silence",
        "0.10.0.1 to 2.4.1, on a connection that is served: which of the two a broker reads first is a race. Before SASL "
        "authentication 22 of 22 were answered, and from 2.5 on all are.",
    )
    REFUSED_AFTER_FRAME = (
        "a size that is refused, or a size without its frame and then the end of stream, arrives after a frame",
        "the close without the answers before it, or with them",
        "0.10.0.1, 0.11.0.3, 1.1.1, 2.0.1 and 2.4.1, on a connection that is served: lost 20 of 20 times if both arrive "
        "in one read, which TCP does not promise. From 2.5 on the answers come first.",
    )
