"""Faults against KIP-35.client-falls-back-on-35 after a refusal without a range.

They are faults of clients whose version below v3 is refused.
"""

from __future__ import annotations

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import BrokerError
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_versions import FIRST_FLEXIBLE_VERSION

NEWEST_OLD_VERSION = FIRST_FLEXIBLE_VERSION - 1
"""The newest version of a client from before KIP-511."""

FALLS_BACK = "KIP-35.client-falls-back-on-35"


def _goes_down_by_one(refused: int, named: Range | None) -> bool:
    """Return whether the version below a refused one is another one than v0, and no range says which to take."""
    return named is None and 1 < refused <= NEWEST_OLD_VERSION


@fault(FALLS_BACK)
class OldClientGoesDownByOne(ModelClient):
    """Knows ApiVersions up to v2, and asks in v1 if that is refused without a range, as KafkaJS does."""

    def newest_version(self, link: Link) -> int:
        return NEWEST_OLD_VERSION

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if _goes_down_by_one(refused, named):
            return refused - 1
        return super().version_after_refusal(link, refused, named)


@fault(FALLS_BACK)
class OldClientGoesDownByOneOnItsNextConnection(ModelClient):
    """Closes a connection on which ApiVersions v2 is refused without a range, and begins with v1 from then on.

    It knows ApiVersions up to v2.
    """

    def newest_version(self, link: Link) -> int:
        return NEWEST_OLD_VERSION

    def first_version(self, link: Link) -> int:
        kept: int | None = self.notes.get(link.address)
        return super().first_version(link) if kept is None else kept

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if _goes_down_by_one(refused, named):
            self.notes[link.address] = refused - 1
            raise BrokerError("the broker does not support the version")
        return super().version_after_refusal(link, refused, named)


@fault(FALLS_BACK)
class SecondRefusalIsWalkedDown(ModelClient):
    """Asks in v1 if v2, which a refusal named, is refused in its turn without a range."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if _goes_down_by_one(refused, named):
            return refused - 1
        return super().version_after_refusal(link, refused, named)
