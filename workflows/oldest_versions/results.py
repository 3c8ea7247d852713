"""What was found, as values and as a file of data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TRIED = ("metadata", "produce", "compressed-produce", "consume", "consume-in-group")
"""The operations that are tried."""
DATA_FILE = "oldest-versions.json"
_LIBRDKAFKA = re.compile(r"-rdkafka-(.+)")
"""In the version that a library states which is built on librdkafka, "2.8.2-rdkafka-2.8.0"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What one version did.

    Attributes:
        version: the version.
        software: the version that it states to brokers, such as "2.8.2-rdkafka-2.8.0"; empty if it states none.
        failures: what each operation that fails says, by its name; none if the version works.
        switched_off: the features that its log says to switch off.
        is_driven: whether the driver came as far as to use it; a library may be too old for it, or for this Python.
        operations: what was tried.
        unclear: why nothing is concluded, such as "consume works in 1 of 2 runs"; empty if something is.
    """

    version: str
    software: str = ""
    failures: Mapping[str, str]
    switched_off: tuple[str, ...] = ()
    is_driven: bool = True
    operations: tuple[str, ...] = TRIED
    unclear: str = ""

    @property
    def works(self) -> bool:
        """Whether each operation works."""
        return not self.failures and not self.unclear

    @property
    def name(self) -> str:
        """The version, and that of librdkafka if the library is built on it: "2.8.2 (librdkafka 2.8.0)"."""
        core = _LIBRDKAFKA.search(self.software)
        return f"{self.version} (librdkafka {core[1]})" if core else self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Oldest:
    """The oldest version that works, of one library with one release.

    Attributes:
        library: the library.
        release: the id of the release.
        published: how many versions the registry has.
        works: the oldest version that was seen to work; None if not even the newest does.
        fails: the newest older version that was seen to fail; None if there is none.
        untried: how many versions between the two were not tried.
        tried: the versions that were tried, oldest first.
        unclear: why the search ended early; empty if it did not.
        day: when that was, such as "2026-11-30".
        commit: the commit of the suite that measured; empty if it is not known.
    """

    library: str
    release: str
    published: int
    works: Tried | None
    fails: Tried | None
    untried: int
    tried: tuple[str, ...]
    unclear: str = ""
    day: str = ""
    commit: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether the version before was seen to fail with the broker: it could be driven."""
        return self.fails is not None and self.fails.is_driven and not self.untried

    @property
    def measured(self) -> str:
        """When, and at which commit of the suite."""
        return " at ".join(filter(None, (self.day, self.commit[:12])))


def read_found(folder: Path) -> tuple[Oldest, ...]:
    """Return what a folder of documents has; nothing if it has no such file."""
    path = folder / DATA_FILE
    if not path.exists():
        return ()
    return tuple(map(_read_oldest, json.loads(path.read_text(encoding="utf-8"))))


def _read_oldest(entry: Mapping[str, Any]) -> Oldest:
    both = {name: _read_tried(entry[name]) for name in ("works", "fails")}
    return Oldest(**{**entry, **both, "tried": tuple(entry["tried"])})


def _read_tried(entry: Mapping[str, Any] | None) -> Tried | None:
    if entry is None:
        return None
    return Tried(**{**entry, **{name: tuple(entry[name]) for name in ("switched_off", "operations")}})


def write_found(found: Sequence[Oldest], folder: Path) -> None:
    """Write results into a folder that exists.

    They are in the order of their names; of the same library and release, the last one counts.
    """
    rows = {(each.library, each.release): each for each in found}
    ordered = [rows[key] for key in sorted(rows)]
    text = json.dumps([asdict(each) for each in ordered], indent=1)
    (folder / DATA_FILE).write_text(f"{text}\n", encoding="utf-8")
