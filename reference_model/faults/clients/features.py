"""Faults against the clause about features whose lowest level is 0.

Such clients still read features as before ApiVersions v4.
"""

from __future__ import annotations

from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.client_errors import Nonsense
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_versions import ApiVersionsResponse, SupportedFeatureKey

FROM_LEVEL_0 = "FEATURES.min-zero-only-from-v4"
KRAFT_VERSION = "kraft.version"


class _RefusingFeatures(ModelClient):
    """Refuses a table because of a feature that it lists."""

    def is_refused(self, link: Link, feature: SupportedFeatureKey) -> bool:
        """Return whether the client refuses a feature whose lowest level is 0."""
        raise NotImplementedError

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        response = super().decoded_response(link, version, body)
        for each in response.supported_features:
            if each.min_version == 0 and self.is_refused(link, each):
                raise Nonsense(f"the feature {each.name} has the range 0 to {each.max_version}")
        return response


refuses_features_of_kafka = fault(FROM_LEVEL_0, "KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")


@refuses_features_of_kafka
class EachFeatureFromLevel0IsRefused(_RefusingFeatures):
    """Expects the lowest level of each feature to be 1 or more, as Java clients before 3.9 do."""

    def is_refused(self, link: Link, feature: SupportedFeatureKey) -> bool:
        return True


@fault(FROM_LEVEL_0)
class UnknownFeatureFromLevel0IsRefused(_RefusingFeatures):
    """Expects that of features that it does not know."""

    def is_refused(self, link: Link, feature: SupportedFeatureKey) -> bool:
        return not feature.name.endswith(".version")


@refuses_features_of_kafka
class KraftVersionFromLevel0IsRefusedOfNodes(_RefusingFeatures):
    """Takes a discovered node with the range 0 to 1 of one feature for a controller, which it does not use."""

    def is_refused(self, link: Link, feature: SupportedFeatureKey) -> bool:
        return link.node is not None and feature.name == KRAFT_VERSION


@refuses_features_of_kafka
class FinalizedFeatureFromLevel0IsRefused(ModelClient):
    """Expects that of features that are finalized in the cluster."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        response = super().decoded_response(link, version, body)
        finalized = {each.name for each in response.finalized_features}
        for each in response.supported_features:
            if each.min_version == 0 and each.name in finalized:
                raise Nonsense(f"the level of {each.name} lies in a range that begins with 0")
        return response
