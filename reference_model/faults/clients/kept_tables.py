"""Faults against KIP-35's clause about senseless responses: an unusable table is kept although the broker is healthy again."""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY
from wire.api_versions import ApiVersionsResponse
from wire.errors import DecodeError

CLAUSE = "KIP-35.client-survives-nonsense"


class _KeepingTables(ModelClient):
    """Keeps an unusable table of an address for good."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        table = super().ranges_in(link, response)
        kept: dict[object, Mapping[int, Range]] = self.notes.setdefault("unusable", {})
        if self.is_unusable(table.get(METADATA_KEY), table):
            kept[link.address] = table
        return kept.get(link.address, table)

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        """Return whether the range of Metadata makes a table unusable; None for a table without one."""
        raise NotImplementedError


@fault(CLAUSE)
class TableAboveItsVersionsIsKept(_KeepingTables):
    """Takes a broker for too new for good once a table listed only versions that it does not know."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return range_ is not None and OWN_RANGES[METADATA_KEY][1] < range_[0] <= range_[1]


@fault(CLAUSE)
class NegativeTableIsKept(_KeepingTables):
    """Takes a broker for too old for good once a table listed only negative versions."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return range_ is not None and range_[1] < 0


@fault(CLAUSE)
class ReversedTableIsKept(_KeepingTables):
    """Gives a broker up for good once the lowest version of a range was above its highest."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return range_ is not None and range_[0] > range_[1] >= 0


@fault(CLAUSE)
class TableWithoutAnApiIsKept(_KeepingTables):
    """Takes a broker for one without Metadata for good once a table did not list it, but others."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return range_ is None and bool(table)


@fault(CLAUSE)
class EmptyTableIsKept(_KeepingTables):
    """Takes a broker for one without any API for good once a table was empty."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return not table


@fault(CLAUSE)
class NullTableIsKept(ModelClient):
    """Never reads a table of a broker again after one was null."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        kept: dict[object, DecodeError] = self.notes.setdefault("null", {})
        if link.address in kept:
            raise kept[link.address]
        try:
            return super().decoded_response(link, version, body)
        except DecodeError as error:
            if body.startswith((bytes(3), bytes(2) + b"\xff" * 4)):
                kept[link.address] = error
            raise
