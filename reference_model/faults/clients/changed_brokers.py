"""Faults against KIP-511's clause about the named range.

Such clients assume after the first connection that a broker's versions never change.
"""

from __future__ import annotations

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import NoCommonVersion
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_versions import ApiVersionsResponse

CLAUSE = "KIP-511.client-uses-named-range"


@fault(CLAUSE)
class LayoutOfTheFirstTableIsKept(ModelClient):
    """Reads every table of a broker in the layout of its first one, so an upgraded or downgraded broker is lost."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        if body[:2] != bytes(2):
            return super().decoded_response(link, version, body)
        layouts: dict[object, int] = self.notes.setdefault("layouts", {})
        key = (link.address, link.is_authenticated)
        response = super().decoded_response(link, layouts.get(key, version), body)
        layouts.setdefault(key, version)
        return response


@fault(CLAUSE)
class RefusalAfterAnAcceptedVersionIsFinal(ModelClient):
    """Gives a broker up that refuses the version with which it once sent its table."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if link.address == self.bootstrap:
            if self.cluster.nodes and "refused" not in self.notes:
                raise NoCommonVersion("the broker was downgraded")
            self.notes["refused"] = True
        return super().version_after_refusal(link, refused, named)
