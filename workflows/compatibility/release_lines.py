"""When the lines of Apache Kafka came out, and vendors' names for them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from reference_model.profiles.profile import line_of

_FILE = Path(__file__).with_name("release_lines.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLine:
    """What is known of a line besides its tables; None or empty where no source was found.

    Attributes:
        released: the day of its first release.
        confluent: the number of the Confluent Platform that has it: "7.9".
        confluent_ends: the last day of the standard support of that.
        msk_ends: the last day on which Amazon MSK supports the line.
        note: what an operator has to know besides versions of requests.
    """

    released: date | None = None
    confluent: str = ""
    confluent_ends: date | None = None
    msk_ends: date | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLines:
    """All lines for which something is known.

    Attributes:
        read: the day on which the sources were read.
        lines: by line, such as (3, 9); see `line_of`.
    """

    read: date
    lines: Mapping[tuple[int, ...], ReleaseLine]

    def of(self, release: str) -> ReleaseLine:
        """Return what is known of the line of a release."""
        return self.lines.get(line_of(release), ReleaseLine())


def release_lines() -> ReleaseLines:
    """Read the file of the lines."""
    content: Mapping[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    lines = {line_of(name): ReleaseLine(**values) for name, values in content["lines"].items()}
    return ReleaseLines(read=content["read"], lines=lines)
