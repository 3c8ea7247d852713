"""What clients other than Kafka's own can send, as far as the suite has seen it: `sent_requests.csv`.

In the grid of operations each of them does all its operations with every release since 0.10.0. So the file has the lowest and
the highest version that it chose for each API that its operations need. `python -m workflows.sent_requests` writes it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import Ranges

FILE = Path(__file__).parent / "sent_requests.csv"


class SentRange(NamedTuple):
    """The versions of one API that one client was seen to send."""

    client: str
    api_key: int
    lowest: int
    highest: int


COLUMNS = SentRange._fields


def sent_ranges() -> Mapping[str, Ranges]:
    """Return the range of each API that each client was seen to send, by library and version."""
    found: dict[str, dict[int, Range]] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ranges = found.setdefault(row["client"], {})
            ranges[int(row["api_key"])] = Range(int(row["lowest"]), int(row["highest"]))
    return found
