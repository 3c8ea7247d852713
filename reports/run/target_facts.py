"""What a run records about each target."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

NOT_STARTED = "none"
"""The launcher of a target that has not been started."""

SELDOM = ("language", "like", "folder", "commit")
"""Facts that an entry leaves out if there is nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """What a run records about a target: its identity and, separately, how it was launched.

    Attributes:
        id: the registry's id.
        implementation: family of the target.
        launcher: how it was started.
        artefacts: the pinned artefacts that ran, name to SHA-256.
        file_sha256: hash of its file in the registry; None if it has none.
        language: the language of a client library; None for any other target.
        like: id of the release that it is judged like; None if it is judged as itself.
        folder: folder of a build of one's own; None for any other target.
        commit: Kafka's commit that was built, as far as the build says it; None for any other target.

    An entry leaves out the last four if they are None.
    """

    id: str
    implementation: str
    release: str
    launcher: str
    artefacts: dict[str, str]
    file_sha256: str | None = None
    language: str | None = None
    like: str | None = None
    folder: str | None = None
    commit: str | None = None

    def entry(self) -> dict[str, Any]:
        """Return the target's entry in a run's header."""
        entry = dataclasses.asdict(self)
        return {key: value for key, value in entry.items() if key not in SELDOM or value}
