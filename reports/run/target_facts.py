"""What a run records about each target."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

NOT_STARTED = "none"
"""The launcher of a target that has not been started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """What a run records about a target: its identity and, separately, how it was launched.

    Attributes:
        id: the registry's id.
        implementation: family of the target.
        release: its release.
        launcher: how it was started.
        artefacts: the pinned artefacts that ran, name to SHA-256.
        file_sha256: hash of its file in the registry; None if it has none.
        language: the language of a client library; None for any other target, whose entry then leaves it out.
    """

    id: str
    implementation: str
    release: str
    launcher: str
    artefacts: dict[str, str]
    file_sha256: str | None = None
    language: str | None = None

    def entry(self) -> dict[str, Any]:
        """Return the target's entry in a run's header."""
        entry = dataclasses.asdict(self)
        return entry if self.language else {k: v for k, v in entry.items() if k != "language"}
