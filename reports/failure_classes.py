"""The classes of failures by what repeating them alone shows, and what the stored form says; see `reports.run.repeats`."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any


class FailureClass(enum.StrEnum):
    """Why a failure may or may not recur."""

    DETERMINISTIC = "deterministic"
    ORDER = "order"
    LOAD = "load"
    ENVIRONMENT = "environment"
    TOO_SLOW = "too slow"
    FLAKY = "flaky"


def stored_leave_open(repeats: Mapping[str, Any] | None) -> bool:
    """Return whether stored repeats leave open whether the target is at fault, as `reports.run.repeats.Repeats.leaves_open` says.

    Args:
        repeats: what `reports.run.repeats.repeat_facts` returned; None or empty if the failure was not repeated.
    """
    if not repeats:
        return False
    is_gone = not (repeats.get("rate") or {}).get("failed", 1)
    kind = repeats.get("class")
    return kind == FailureClass.TOO_SLOW or (kind == FailureClass.FLAKY and is_gone)
