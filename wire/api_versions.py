"""ApiVersions (api key 18), request and response v0-v5.

Sources: KIP-35 (v0), KIP-124 (v1), KIP-219 (v2), KIP-511 (v3), KIP-584 (features), KAFKA-17011 (v4),
KIP-1242 (v5); the message schemas of release 4.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from wire.error_codes import ErrorCode
from wire.fields import Field, FieldType, Versions, versions
from wire.primitives import TaggedField

NEWEST_VERSION = 5
FIRST_FLEXIBLE_VERSION = 3
FIRST_VERSION_WITH_THROTTLE_TIME = 1
FIRST_VERSION_WITH_ZERO_MINIMUM = 4
"""Earlier versions list no feature whose lowest version is 0 (KAFKA-17011)."""
FIRST_VERSION_WITH_CLUSTER_CHECK = 5
THROTTLE_TIME_BYTES = 4
NO_NODE = -1
"""The node id of a client that knows none."""

_FLEXIBLE = versions(f"{FIRST_FLEXIBLE_VERSION}+")
_ALWAYS = versions("0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest:
    """The body of an ApiVersions request; empty in v0 to v2."""

    client_software_name: str = ""
    client_software_version: str = ""
    cluster_id: str | None = None
    node_id: int = NO_NODE
    unknown_tagged_fields: tuple[TaggedField, ...] = ()
    tag_order: tuple[int, ...] = field(default=(), compare=False, repr=False)

    FLEXIBLE: ClassVar[Versions] = _FLEXIBLE
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("client_software_name", FieldType.STRING, _FLEXIBLE, default=""),
        Field("client_software_version", FieldType.STRING, _FLEXIBLE, default=""),
        Field("cluster_id", FieldType.STRING, versions("5+"), nullable=versions("5+")),
        Field("node_id", FieldType.INT32, versions("5+"), default=NO_NODE),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersion:
    """The range of versions that a broker supports for one API, both ends inclusive."""

    api_key: int
    min_version: int
    max_version: int
    unknown_tagged_fields: tuple[TaggedField, ...] = ()
    tag_order: tuple[int, ...] = field(default=(), compare=False, repr=False)

    FLEXIBLE: ClassVar[Versions] = _FLEXIBLE
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("api_key", FieldType.INT16, _ALWAYS),
        Field("min_version", FieldType.INT16, _ALWAYS),
        Field("max_version", FieldType.INT16, _ALWAYS),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedFeatureKey:
    """The range of levels of a feature that a broker supports, both ends inclusive."""

    name: str
    min_version: int
    max_version: int
    unknown_tagged_fields: tuple[TaggedField, ...] = ()
    tag_order: tuple[int, ...] = field(default=(), compare=False, repr=False)

    FLEXIBLE: ClassVar[Versions] = _FLEXIBLE
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", FieldType.STRING, _FLEXIBLE),
        Field("min_version", FieldType.INT16, _FLEXIBLE),
        Field("max_version", FieldType.INT16, _FLEXIBLE),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizedFeatureKey:
    """The finalized levels of a feature in the cluster. On the wire the maximum comes before the minimum."""

    name: str
    max_version_level: int
    min_version_level: int
    unknown_tagged_fields: tuple[TaggedField, ...] = ()
    tag_order: tuple[int, ...] = field(default=(), compare=False, repr=False)

    FLEXIBLE: ClassVar[Versions] = _FLEXIBLE
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", FieldType.STRING, _FLEXIBLE),
        Field("max_version_level", FieldType.INT16, _FLEXIBLE),
        Field("min_version_level", FieldType.INT16, _FLEXIBLE),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse:
    """The body of an ApiVersions response."""

    error_code: ErrorCode
    api_keys: tuple[ApiVersion, ...] = ()
    throttle_time_ms: int = 0
    supported_features: tuple[SupportedFeatureKey, ...] = ()
    finalized_features_epoch: int = -1
    finalized_features: tuple[FinalizedFeatureKey, ...] = ()
    zk_migration_ready: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()
    tag_order: tuple[int, ...] = field(default=(), compare=False, repr=False)

    FLEXIBLE: ClassVar[Versions] = _FLEXIBLE
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", FieldType.INT16, _ALWAYS, convert=ErrorCode),
        Field("api_keys", FieldType.ARRAY, _ALWAYS, element=ApiVersion),
        Field("throttle_time_ms", FieldType.INT32, versions("1+"), default=0),
        Field(
            "supported_features",
            FieldType.ARRAY,
            _FLEXIBLE,
            tag=0,
            default=(),
            element=SupportedFeatureKey,
        ),
        Field("finalized_features_epoch", FieldType.INT64, _FLEXIBLE, tag=1, default=-1),
        Field(
            "finalized_features",
            FieldType.ARRAY,
            _FLEXIBLE,
            tag=2,
            default=(),
            element=FinalizedFeatureKey,
        ),
        Field("zk_migration_ready", FieldType.BOOLEAN, _FLEXIBLE, tag=3, default=False),
    )

    def range_of(self, api_key: int) -> ApiVersion | None:
        """Return the first entry for an API, or None if the API is not listed."""
        return next((entry for entry in self.api_keys if entry.api_key == api_key), None)
