"""The stages at which planted defects act, and the pause of a connection."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The time for which a broker stops reading a connection to enforce a quota.

    Attributes:
        milliseconds: the length of the pause.
        before_answer: whether the response is delayed too; since Kafka 2.0 it is not.
        afterwards: bytes to send when it ends; empty unless a defect sets them.
    """

    milliseconds: int
    before_answer: bool = False
    afterwards: bytes = b""


class Stage(enum.Enum):
    """The stage at which a planted defect acts, which determines the object it receives.

    - `REACTION`, `RESPONSE` and `ANSWER`: the `RequestContext` of one frame, after the decision, after the message is
      built (ApiVersions responses only), or after the response is encoded.
    - `BYTES`: the `ReceivedBytes` of one read, before they are split into frames.
    - `READ`: the list of all response frames of one read.
    - `SIZE`, `END` and `RESET`: the `StreamEnd` after a refused size, the end of the client's stream, or a reset by the
      client, after which nothing can be sent or kept open.
    - `TLS`: the `TlsOpening` of a connection.
    - `METRIC`: the `ClientMetric`, each time it is queried.
    - `LOG`: an entry (a dict) of the request log before it is written.
    """

    REACTION = "reaction"
    RESPONSE = "response"
    ANSWER = "answer"
    BYTES = "bytes"
    READ = "read"
    SIZE = "size"
    END = "end"
    RESET = "reset"
    TLS = "tls"
    METRIC = "metric"
    LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tampering:
    """The action of a planted defect; `Stage` documents the object passed to `act`."""

    stage: Stage
    act: Callable[[Any], None]
