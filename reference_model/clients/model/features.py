"""Finalized features of its cluster that the model client knows (KIP-584)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from reference_model.clients.model.client_connections import ClientConnections, Link
from reference_model.clients.rules.transaction_versions import FIRST_LEVEL_OF_V2, TRANSACTION_VERSION
from wire.api_versions import ApiVersionsResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizedFeatures:
    """The features of a cluster at one epoch.

    Attributes:
        epoch: their epoch; -1 if no response had one.
        levels: the level of each feature that the client knows, by name.
    """

    epoch: int = -1
    levels: Mapping[str, int] = field(default_factory=dict)


class Features(ClientConnections):
    """Keeps the finalized features of the cluster, from whichever broker has the newest ones.

    Attributes:
        features: the features.
        known_features: the names of those that it uses.
    """

    features = FinalizedFeatures()
    known_features: Collection[str] = (TRANSACTION_VERSION,)

    def learn_features(self, link: Link, response: ApiVersionsResponse) -> None:
        """Take the features of a table if they count and are newer than those that the client knows."""
        if self.features_count(response) and self.are_newer(link, response):
            levels = self.levels_in(link, response)
            self.features = FinalizedFeatures(epoch=response.finalized_features_epoch, levels=levels)

    def features_count(self, response: ApiVersionsResponse) -> bool:
        """Return whether the features of a table count: without an epoch they are unknown."""
        return response.finalized_features_epoch >= 0

    def are_newer(self, link: Link, response: ApiVersionsResponse) -> bool:
        """Return whether the features of a table are newer than those that the client knows."""
        return response.finalized_features_epoch > self.features.epoch

    def levels_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[str, int]:
        """Return the levels of the features that the client knows; it ignores all others."""
        return {
            each.name: each.max_version_level
            for each in response.finalized_features
            if each.name in self.known_features
        }

    def has_transaction_v2(self) -> bool:
        """Return whether the cluster has finalized the transactions of KIP-890, Part 2."""
        return self.features.levels.get(TRANSACTION_VERSION, 0) >= FIRST_LEVEL_OF_V2
