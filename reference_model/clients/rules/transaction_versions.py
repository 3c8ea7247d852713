"""Versions that a client may use in a transaction, by transaction.version.

Source: the schemas of ProduceRequest and TxnOffsetCommitRequest since 4.0, which forbid newer versions where
transaction V2 (KIP-890, Part 2) is disabled. The schema of EndTxnRequest only says what version 5 adds, and forbids
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from wire.api_keys import ADD_PARTITIONS_TO_TXN_KEY, END_TXN_KEY, PRODUCE_KEY, TXN_OFFSET_COMMIT_KEY

TRANSACTION_VERSION = "transaction.version"
FIRST_LEVEL_OF_V2 = 2
"""The first level of this feature that enables transaction V2."""
NEWEST_BEFORE_V2: Mapping[int, int] = {PRODUCE_KEY: 11, TXN_OFFSET_COMMIT_KEY: 4}
"""The newest versions in a transaction below that level, by API key."""
LAST_END_TXN_BEFORE_V2 = 4
"""The newest version of EndTxn that has no use for transaction V2; from the next one on the epoch of the producer rises
with each transaction."""
NEWEST_FOR_CLIENTS: Mapping[int, int] = {ADD_PARTITIONS_TO_TXN_KEY: 3}
"""The newest versions that are for clients, by API key, where later ones are for brokers alone."""
USABLE_BEFORE_V2: Mapping[int, int] = {
    **NEWEST_BEFORE_V2,
    **NEWEST_FOR_CLIENTS,
    END_TXN_KEY: LAST_END_TXN_BEFORE_V2,
}
"""The newest versions that have a use for a client in a transaction below that level, by API key."""
