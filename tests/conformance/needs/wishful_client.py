"""A client without a process: what it needs of a table is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fixtures.scripted_broker.playing import Play
from reference_model.profiles.known_apis import Range
from reference_model.profiles.removals import Removal, without
from reference_model.profiles.version_tables import Ranges
from tests.conformance.client_plays import FAILED, WELL
from tests.reference_model.clients.recordings import asked, recorded, sent
from wire.api_keys import API_VERSIONS_KEY, DESCRIBE_CLUSTER_KEY, FIND_COORDINATOR_KEY, JOIN_GROUP_KEY, METADATA_KEY

SERVED: Ranges = {
    METADATA_KEY: Range(0, 9),
    FIND_COORDINATOR_KEY: Range(0, 3),
    JOIN_GROUP_KEY: Range(0, 5),
    API_VERSIONS_KEY: Range(0, 3),
    DESCRIBE_CLUSTER_KEY: Range(0, 0),
}
SAYS = replace(FAILED, detail="UnsupportedVersionException: Metadata")
Decide = Callable[[Ranges], Play | None]
"""Returns what becomes of the operation with a table; None if it works as usual."""


@dataclass
class WishfulBench:
    """A client that knows Metadata v3 to v7 and FindCoordinator v0 to v2, and what else it needs.

    Attributes:
        decide: what else it needs.
        failing: for each run in its order whether it fails, whatever the table; later ones do not.
        tried: what was taken away in each run.
    """

    decide: Decide = lambda _: None
    failing: list[bool] = field(default_factory=list)
    tried: list[Sequence[Removal]] = field(default_factory=list)
    release: str = "apache-kafka-9.9.9"
    served: Ranges = field(default_factory=lambda: SERVED)
    operations: Sequence[str] = ("metadata",)
    knows: Mapping[int, Range] = field(
        default_factory=lambda: {METADATA_KEY: Range(3, 7), FIND_COORDINATOR_KEY: Range(0, 2)}
    )

    def play(self, operation: str, removals: Sequence[Removal], time_s: float) -> Play:
        """Return what becomes of the operation."""
        self.tried.append(removals)
        if self.failing and self.failing.pop(0):
            return Play(recording=recorded(), result=FAILED)
        left = without(self.served, removals)
        requests = []
        for key, known in self.knows.items():
            shared = key in left and left[key].common_with(known)
            if not shared:
                return Play(recording=recorded(), result=SAYS)
            requests.append(sent(shared.highest, api_key=key))
        return self.decide(left) or Play(recording=recorded(asked(3), *requests), result=WELL)
