"""The finalized features that all nodes of a cluster and their listeners share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from wire.api_versions import ApiVersionsResponse, FinalizedFeatureKey
from wire.described_messages import UPDATE_FEATURES
from wire.errors import DecodeError


@dataclass(slots=True, kw_only=True)
class ClusterFeatures:
    """The levels that were finalized since the cluster was started.

    Attributes:
        levels: the level of each feature that was finalized since then.
        epoch: their epoch; 0 until then.
    """

    levels: dict[str, int] = field(default_factory=dict)
    epoch: int = 0

    def update(self, payload: bytes, api_version: int, profile_levels: Mapping[str, int]) -> None:
        """Finalize what a request of UpdateFeatures asks for; one that changes no level leaves the epoch as it is.

        Args:
            payload: the request. One that cannot be decoded changes nothing.
            api_version: its version.
            profile_levels: the levels at which the cluster was started.
        """
        try:
            request = UPDATE_FEATURES.decode_request(payload, api_version)
        except DecodeError:
            return
        now = {**profile_levels, **self.levels}
        wanted = {each.feature: each.max_version_level for each in request.feature_updates}
        if not request.validate_only and {**now, **wanted} != now:
            self.levels |= wanted
            self.epoch += 1

    def forget(self) -> None:
        """Return to the levels at which the cluster was started."""
        self.levels.clear()
        self.epoch = 0

    def listed_in(self, response: ApiVersionsResponse) -> ApiVersionsResponse:
        """Return a response with the levels and the epoch that hold now; unchanged if it lists no features."""
        if not (self.levels and response.supported_features):
            return response
        levels = {each.name: each.max_version_level for each in response.finalized_features} | self.levels
        return replace(
            response,
            finalized_features=tuple(
                FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
                for name, level in levels.items()
            ),
            finalized_features_epoch=self.epoch if response.finalized_features_epoch >= 0 else -1,
        )
