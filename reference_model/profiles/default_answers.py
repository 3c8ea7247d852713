"""The smallest responses of every API of the newest release, as `default_answers.csv` has them: every field has its default value."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from typing import NamedTuple

from reference_model.profiles.profile import FOLDER


class DefaultAnswer(NamedTuple):
    """One response.

    Attributes:
        payload: its bytes after the correlation id.
        error_at: where its error code begins in them; None if it has none at the top level.
    """

    payload: bytes
    error_at: int | None


@functools.cache
def default_answers() -> Mapping[tuple[int, int], DefaultAnswer]:
    """Return the responses by API key and version."""
    with (FOLDER / "default_answers.csv").open(encoding="utf-8") as lines:
        return {
            (int(row["api_key"]), int(row["api_version"])): DefaultAnswer(
                payload=bytes.fromhex(row["answer"]),
                error_at=int(row["error_at"]) if row["error_at"] else None,
            )
            for row in csv.DictReader(lines)
        }
