"""What may become of a client with another release, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PredictedOutcome(StrEnum):
    """What becomes of a client with another release."""

    WORKS = "works"
    SERVED = "is served"
    BREAKS = "breaks"
    CANNOT_SAY = "cannot say"


WORST_FIRST = (
    PredictedOutcome.BREAKS,
    PredictedOutcome.CANNOT_SAY,
    PredictedOutcome.SERVED,
    PredictedOutcome.WORKS,
)
"""The outcomes. A client that is served sent only what a release serves; whether it needs more is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Why a client does not simply work with a release.

    Attributes:
        outcome: what one request leads to.
        api_key: the API of that request; None if the reason is none.
        api_version: its version.
        refused_since: the first releases that refuse it, such as "4.0"; empty if no earlier one served it, or nothing
            is refused.
        sentence: the reason, to be read after the client's name.
        command: the command that shows more; empty if there is none.
    """

    outcome: PredictedOutcome
    sentence: str
    api_key: int | None = None
    api_version: int | None = None
    refused_since: str = ""
    command: str = ""
