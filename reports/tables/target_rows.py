"""Rows of the table `targets`: the columns of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from reference_model.profiles.listeners import PLAINTEXT
from reports.tables.columns import Int32
from reports.tables.target_names import implementation_name, without_signs


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTarget:
    """One listener of one target, by the newest of its runs; the page folds a target's listeners into one column.

    Attributes:
        target: id of the target.
        listener: one of its listeners.
        implementation: the product that it is a version of.
        release: the version.
        release_order: the release's leading numbers, which sort as releases do.
        launcher: how the suite reached it.
        artefacts: name to SHA-256 of what ran.
        run_id: the run.
        started_at: when the run began.
        role: what it was judged as ("broker" or "client"), or "operation" if client operations were tried on it.
        language: that of a client library; None for any other target.
        like: the release that it is judged like; None if it is judged as itself.
        commit: Kafka's commit that a build in a folder was made of; None if the build does not say it.
        ready_ms: milliseconds from the start of its process until it served requests; None if that was not seen.
        until_ready: what it did with requests until then, each with how often; None if nothing was seen.
        judged_by_owner: how much was judged again of a column that comes from a pack; None for any other.
    """

    KEY: ClassVar[Sequence[str]] = ("target", "listener", "role")

    target: str
    listener: str
    implementation: str
    release: str
    release_order: tuple[Int32, ...]
    launcher: str
    artefacts: Mapping[str, str]
    run_id: str
    started_at: datetime
    role: str = "broker"
    language: str | None = None
    like: str | None = None
    commit: str | None = None
    ready_ms: Int32 | None = None
    until_ready: str | None = None
    judged_by_owner: str | None = None

    @property
    def target_name(self) -> str:
        """The target's display name: "Apache Kafka 4.4.0", "Apache Kafka 3.9.2 zookeeper"."""
        known = implementation_name(self.implementation)
        for name in (self.implementation, without_signs(self.implementation)):
            release = f"{name}-{self.release}"
            if self.target == release:
                return f"{known} {self.release}"
            if self.target.startswith(f"{release}-"):
                return f"{known} {self.release} {self.target.removeprefix(f'{release}-')}"
        return self.target

    @property
    def name(self) -> str:
        """The display name, with the listener unless that is plaintext: "Apache Kafka 4.4.0 controller"."""
        listener = "" if self.listener == PLAINTEXT else f" {self.listener}"
        return f"{self.target_name}{listener}"
