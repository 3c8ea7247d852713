"""Clients that a grid tried with both releases, and how their operations went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reference_model.profiles.release_tables import RecordedRelease
from reports.grid.grid_view import FoldedGrid, ListenerCell
from reports.records import (
    BROKEN_VERDICTS,
    SOUND_VERDICTS,
    UNSETTLED_VERDICTS,
    Verdict,
)
from reports.release_changes.client_versions import tried_operations

_TALLIES = (
    ("work", SOUND_VERDICTS),
    ("fail", BROKEN_VERDICTS),
    ("unsupported", (Verdict.INFORMATIONAL,)),
    ("not judged", UNSETTLED_VERDICTS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientChange:
    """One client that was tried with both releases.

    Attributes:
        client: the client: "confluent-kafka-2.16.1".
        before: how its operations went with the older release, in words: "16 work, 2 fail".
        after: the same with the newer release.
        lost: the operations that worked with the older release and do not with the newer one.
        gained: those that work with the newer one only.
        unclear: those that could not be judged with one of them.
    """

    client: str
    before: str
    after: str
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    unclear: tuple[str, ...]

    @property
    def verdict(self) -> Verdict | None:
        """A violation if it loses an operation."""
        return Verdict.VIOLATES if self.lost else None

    @property
    def result(self) -> str:
        """What the upgrade means for it, in words: "✕ breaks: share-group"."""
        parts = [
            f"✕ breaks: {', '.join(self.lost)}" if self.lost else "✓ nothing breaks",
            *([f"new: {', '.join(self.gained)}"] if self.gained else []),
            *([f"not judged: {', '.join(self.unclear)}"] if self.unclear else []),
        ]
        return "; ".join(parts)


def client_changes(grid: FoldedGrid, before: RecordedRelease, after: RecordedRelease) -> tuple[ClientChange, ...]:
    """Return the clients whose operations were tried with both releases.

    Operations that were tried with only one release do not count.
    """
    tried: dict[str, list[tuple[str, ListenerCell, ListenerCell]]] = {}
    for operation in tried_operations(grid):
        if {before.target, after.target} <= operation.by_target.keys():
            cells = (operation.by_target[before.target], operation.by_target[after.target])
            tried.setdefault(operation.client, []).append((operation.operation, *cells))
    return tuple(_client_change(client, rows) for client, rows in tried.items())


def _client_change(client: str, rows: Sequence[tuple[str, ListenerCell, ListenerCell]]) -> ClientChange:
    settled = [row for row in rows if not {row[1].verdict, row[2].verdict} & {*UNSETTLED_VERDICTS}]
    sound = [(name, old.verdict in SOUND_VERDICTS, new.verdict in SOUND_VERDICTS) for name, old, new in settled]
    return ClientChange(
        client=client,
        before=_tally(old for _, old, _ in rows),
        after=_tally(new for _, _, new in rows),
        lost=tuple(name for name, old, new in sound if old and not new),
        gained=tuple(name for name, old, new in sound if new and not old),
        unclear=tuple(row[0] for row in rows if row not in settled),
    )


def _tally(cells: Iterable[ListenerCell]) -> str:
    verdicts = Counter(cell.verdict for cell in cells)
    counts = ((sum(verdicts[each] for each in of), words) for words, of in _TALLIES)
    return ", ".join(f"{count} {words}" for count, words in counts if count)
