"""Faults against KIP-35's clause about unknown keys.

Such clients mistake an unknown key for a known one with the same low bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY
from wire.api_versions import ApiVersionsResponse

CLAUSE = "KIP-35.client-tolerates-unknown-keys"
_BYTE = 0xFF
_NINE_BITS = 0x1FF


class _Masking(ModelClient):
    """Stores keys in fewer bits than they have; the last entry of a key counts."""

    def key_of(self, api_key: int) -> int:
        """Return what is stored of a key."""
        raise NotImplementedError

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        ranges = dict(super().ranges_in(link, response))
        for entry in response.api_keys:
            # Keys from 0 to 255 are the same in fewer bits.
            if entry.api_key not in range(_BYTE + 1) and self.key_of(entry.api_key) == METADATA_KEY:
                ranges[METADATA_KEY] = (entry.min_version, entry.max_version)
        return ranges


@fault(CLAUSE)
class KeysAreReadAsBytes(_Masking):
    """Takes key 259 for Metadata, which is 3, as the keys of its table have one byte."""

    def key_of(self, api_key: int) -> int:
        return api_key & _BYTE


@fault(CLAUSE)
class KeysAreReadInNineBits(_Masking):
    """Takes key 515 for Metadata, but not 259, as it has room for 512 keys."""

    def key_of(self, api_key: int) -> int:
        return api_key & _NINE_BITS if api_key >= 0 else api_key


@fault(CLAUSE)
class NegativeKeysAreReadAsBytes(_Masking):
    """Takes key -253 for Metadata, as it reads the low byte of a negative key."""

    def key_of(self, api_key: int) -> int:
        return api_key & _BYTE if api_key < 0 else api_key


@fault(CLAUSE)
class FirstOfTwoLikeKeysCounts(_Masking):
    """Takes key 259 for Metadata if it stands before the entry of Metadata itself."""

    def key_of(self, api_key: int) -> int:
        return api_key & _BYTE if api_key > 0 else api_key

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        keys = [self.key_of(entry.api_key) for entry in response.api_keys]
        is_first = METADATA_KEY in keys and response.api_keys[keys.index(METADATA_KEY)].api_key > _BYTE
        return super().ranges_in(link, response) if is_first else ModelClient.ranges_in(self, link, response)
