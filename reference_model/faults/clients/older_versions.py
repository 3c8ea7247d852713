"""Faults of clients that use older versions than they could (KIP-35)."""

from __future__ import annotations

from reference_model.clients.model.client_connections import KnownCluster, Link, Range
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY, SASL_KEYS

_WITHOUT_ID = ("KIP-1313.id-same-on-all-connections",)
"""An older version of a request may have a header without the id of KIP-1313."""


def offered_range(link: Link, api_key: int) -> Range | None:
    """Return the range of an API in the table of a connection; None if it has none."""
    return (link.table or {}).get(api_key)


# KIP-35.client-prefers-newest


@fault("KIP-35.client-prefers-newest")
class NewestCommonVersionIsAvoided(ModelClient):
    """Uses the second newest common version where there are two, except for SASL, which would fail."""

    def version_of(self, link: Link, api_key: int) -> int:
        newest, offered = super().version_of(link, api_key), offered_range(link, api_key)
        assert offered is not None
        if api_key in SASL_KEYS:
            return newest
        return max(newest - 1, offered[0], 0)


@fault("KIP-35.client-prefers-newest")
class LowestOfALaterRangeIsUsed(ModelClient):
    """Uses the lowest version of a range that does not begin with v0."""

    def version_of(self, link: Link, api_key: int) -> int:
        newest, offered = super().version_of(link, api_key), offered_range(link, api_key)
        return newest if offered is None or offered[0] <= 0 else offered[0]


class _OlderSometimes(ModelClient):
    """Uses the newest common version of Metadata, and in some requests the one before it."""

    def metadata_in(self, link: Link, version: int) -> KnownCluster:
        self.notes["requests"] = self.notes.get("requests", 0) + 1
        offered = offered_range(link, METADATA_KEY)
        lowest = 0 if offered is None else max(offered[0], 0)
        older = max(version - 1, lowest) if self.is_older(link) else version
        return super().metadata_in(link, older)

    def is_older(self, link: Link) -> bool:
        """Return whether the version before the newest one is used in a request."""
        raise NotImplementedError


@fault("KIP-35.client-prefers-newest", breaks_rarely=_WITHOUT_ID)
class EverySecondRequestIsOlder(_OlderSometimes):
    """Uses the newest common version in every second request alone."""

    def is_older(self, link: Link) -> bool:
        return bool(self.notes["requests"] % 2 == 0)


@fault("KIP-35.client-prefers-newest", breaks_rarely=_WITHOUT_ID)
class BootstrapServerGetsAnOlderVersion(_OlderSometimes):
    """Asks the bootstrap server in an older version than the nodes that it names."""

    def is_older(self, link: Link) -> bool:
        return link.node is None


@fault("KIP-35.client-prefers-newest", breaks_rarely=_WITHOUT_ID)
class KnownNodesGetAnOlderVersion(_OlderSometimes):
    """Asks the nodes that metadata names in an older version than the bootstrap server."""

    def is_older(self, link: Link) -> bool:
        return link.node is not None
