"""Vectors for clients that are choices of a version.

Each has a client's range and brokers' tables.

The rows below are inputs alone. What is right follows from the clients' rules (`ReadResponse.lists`, the versions of
transactions) and from the model client.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from clauses.catalogue import catalogue
from conformance.vectors.broker_vectors import ID_DIGITS
from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.client_errors import ClientError
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.network import HostPort, Network, Stream
from reference_model.clients.rules.read_response import ReadResponse, ResponseKind
from reference_model.clients.rules.transaction_versions import (
    NEWEST_BEFORE_V2,
    NEWEST_FOR_CLIENTS,
    TRANSACTION_VERSION,
)
from reference_model.clients.scripts.script import TRANSACTIONS
from wire.api_keys import (
    ADD_PARTITIONS_TO_TXN_KEY,
    FIRST_PRIVATE_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
    TXN_OFFSET_COMMIT_KEY,
)
from wire.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from wire.error_codes import ErrorCode

OVERLAP, NEWEST = "KIP-35.client-uses-overlap", "KIP-35.client-prefers-newest"
PER_CONNECTION, UNKNOWN_KEYS = "KIP-35.client-asks-per-connection", "KIP-35.client-tolerates-unknown-keys"
Entries = tuple[tuple[int, int, int], ...]
"""API key, lowest and highest version of each entry of a table."""
_ADDRESS = HostPort("broker", 9092)
_ABOVE = "No version is common, because the broker's oldest is above the client's newest: refuse before sending."
_CAPS, _EPOCH = "FEATURES.client-caps-by-level", "FEATURES.client-ignores-unknown-epoch"
_BACK, _BELIEVES = "FEATURES.client-never-goes-back", "FEATURES.client-believes-levels"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTable:
    """What one broker says.

    Attributes:
        entries: its table.
        epoch: the epoch of its finalized features; -1 if it has none.
        level: the finalized level of transaction.version; None if it is not finalized.
    """

    entries: Entries
    epoch: int = -1
    level: int | None = None

    @property
    def response(self) -> ApiVersionsResponse:
        """The response that says so."""
        level = self.level
        return ApiVersionsResponse(
            error_code=ErrorCode.NONE,
            api_keys=tuple(
                ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in self.entries
            ),
            finalized_features_epoch=self.epoch,
            finalized_features=()
            if level is None
            else (FinalizedFeatureKey(name=TRANSACTION_VERSION, max_version_level=level, min_version_level=level),),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChoice:
    """A version that a client has to choose, for the broker that it asked last.

    Attributes:
        clauses: the clauses that it is about, the main one first.
        sentence: what is right.
        client: the lowest and highest version that the client has.
        tables: what each broker said to it, in order; the last one is asked.
        api_key: the API.
        in_transaction: whether the request is part of a transaction.
    """

    clauses: tuple[str, ...]
    sentence: str
    client: tuple[int, int]
    tables: tuple[ToldTable, ...]
    api_key: int = METADATA_KEY
    in_transaction: bool = False

    @property
    def id(self) -> str:
        """The id of the vector."""
        # Of plain values, so that no name of the code is part of it.
        told = [(table.entries, table.epoch, table.level) for table in self.tables]
        text = repr((self.client, told, self.api_key, self.in_transaction))
        return f"{self.clauses[0]}-{hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]}"

    def allowed(self) -> tuple[int, ...]:
        """Return every version that may be sent; none if the client must refuse before it sends anything."""
        ranges: dict[int, tuple[tuple[int, int], ...]] = {}
        for key, low, high in self.tables[-1].entries:
            ranges[key] = (*ranges.get(key, ()), (low, high))
        table = ReadResponse(kind=ResponseKind.TABLE, ranges=ranges)
        low, high = self.client
        if self.in_transaction:
            caps = {**NEWEST_FOR_CLIENTS, **({} if self.enables_v2 else NEWEST_BEFORE_V2)}
            high = min(high, caps.get(self.api_key, high))
        return tuple(version for version in range(low, high + 1) if table.lists(self.api_key, version))

    @property
    def newest(self) -> int | None:
        """The version to choose; None if there is none, or if the sources do not say which of several ranges counts."""
        own = [entry for entry in self.tables[-1].entries if entry[0] == self.api_key]
        return max(self.allowed(), default=None) if len(own) == 1 else None

    def is_right(self, version: int | None) -> bool:
        """Return whether a version is right; None is a refusal."""
        if self.newest is None and self.allowed():
            return version in self.allowed()
        return version == self.newest

    @property
    def enables_v2(self) -> bool:
        """Whether the features that the client knows enable transaction V2, by its model."""
        client = _Chooser.of(ModelClient, self)
        self._teach(client)
        return client.has_transaction_v2()

    def chosen_by(self, model: type[ModelClient]) -> int | None:
        """Return the version that a model of a client chooses; None if it refuses."""
        client = _Chooser.of(model, self)
        try:
            link = self._teach(client)
            client.is_v2 = client.begins_with_v2() if self.in_transaction else False
            version = client.version_of(link, self.api_key)
        except ClientError:
            return None
        cap = client.newest_in_transaction(cast(Any, _KeyOf(self.api_key))) if self.in_transaction else None
        return version if cap is None else min(version, cap)

    def _teach(self, client: ModelClient) -> Link:
        for number, table in enumerate(self.tables):
            link = Link(number=number, address=_ADDRESS, stream=cast(Stream, None))
            client.learn_features(link, table.response)
            link.table = client.ranges_in(link, table.response)
        return link

    def as_json(self) -> dict[str, Any]:
        """Return the vector as JSON values."""
        return {
            "id": self.id,
            "clauses": list(self.clauses),
            "level": catalogue()[self.clauses[0]].level.value,
            "sentence": self.sentence,
            "api_key": self.api_key,
            "client": list(self.client),
            "in_transaction": self.in_transaction,
            "tables": [
                {
                    "entries": [list(entry) for entry in table.entries],
                    "finalized_features_epoch": table.epoch,
                    "transaction_version": table.level,
                }
                for table in self.tables
            ],
            "allowed": list(self.allowed()),
            "newest": self.newest,
        }


@dataclass(frozen=True, slots=True)
class _KeyOf:
    """Stands for an API where only its key is read."""

    api_key: int


class _Chooser:
    """Makes a model of a client that has a range of one API."""

    @staticmethod
    def of(model: type[ModelClient], choice: VersionChoice) -> ModelClient:
        ranges: Mapping[int, tuple[int, int]] = {choice.api_key: choice.client}
        made = type("Chooser", (model,), {"own_ranges": lambda _, __: ranges, "known_keys": frozenset(ranges)})
        options = (TRANSACTIONS,) if choice.in_transaction else ()
        return cast(ModelClient, made(cast(Network, None), _ADDRESS, options))


def _table(*entries: tuple[int, int, int], epoch: int = -1, level: int | None = None) -> ToldTable:
    return ToldTable(entries=entries, epoch=epoch, level=level)


def _metadata(client: tuple[int, int], *entries: tuple[int, int], sentence: str, main: str = OVERLAP) -> VersionChoice:
    clauses = (main, *(clause for clause in (OVERLAP, NEWEST) if clause != main))
    tables = (_table(*((METADATA_KEY, low, high) for low, high in entries)),)
    return VersionChoice(clauses=clauses, sentence=sentence, client=client, tables=tables)


def _transaction(
    key: int, client: tuple[int, int], listed: int, *known: tuple[int, int | None], main: str, sentence: str
) -> VersionChoice:
    """Return a choice in a transaction; `known` has the epoch and the level that each broker named, in order."""
    tables = tuple(_table((key, 0, listed), epoch=epoch, level=level) for epoch, level in known)
    return VersionChoice(
        clauses=(main,), sentence=sentence, client=client, tables=tables, api_key=key, in_transaction=True
    )


CHOICES: tuple[VersionChoice, ...] = (
    _metadata((0, 13), (0, 13), sentence="The same range on both sides: the newest version."),
    _metadata((0, 13), (0, 4), sentence="The broker is older: its newest version.", main=NEWEST),
    _metadata((0, 4), (0, 13), sentence="The client is older: its own newest version.", main=NEWEST),
    _metadata((0, 13), (5, 5), sentence="One common version: that one."),
    _metadata((4, 9), (0, 4), sentence="The ranges touch at the client's oldest version: that one."),
    _metadata((0, 4), (4, 9), sentence="The ranges touch at the client's newest version: that one."),
    _metadata((0, 3), (5, 6), sentence=_ABOVE),
    _metadata((0, 3), (4, 6), sentence=_ABOVE),
    _metadata(
        (5, 6),
        (0, 3),
        sentence="No version is common, because the broker's newest is below the client's oldest: refuse before sending.",
    ),
    _metadata((5, 6), (0, 4), sentence="No version is common, by one: refuse before sending."),
    _metadata(
        (0, 13), (32767, 32767), sentence="The broker lists a version that no client knows: refuse before sending."
    ),
    _metadata((0, 13), (0, 32767), sentence="The broker's newest version is not the client's: the client's newest."),
    _metadata((0, 13), (7, 2), sentence="A reversed range has no version: refuse before sending."),
    _metadata(
        (0, 13),
        (13, 0),
        sentence="A reversed range from the newest to the oldest has no version: refuse before sending.",
    ),
    _metadata((0, 13), (-3, -1), sentence="Negative versions do not exist: refuse before sending."),
    _metadata((0, 13), (-2, 5), sentence="A negative minimum allows what is not negative."),
    _metadata((0, 13), (-1, -1), sentence="The version -1 is none: refuse before sending."),
    _metadata((0, 13), (0, 0), sentence="Version 0 alone is common: that one."),
    _metadata((1, 13), (0, 0), sentence="The client no longer has version 0: refuse before sending."),
    _metadata(
        (0, 13),
        (0, 5),
        (3, 9),
        sentence="An API that stands twice has the versions of either entry; no other one is sent.",
    ),
    _metadata((0, 13), (3, 9), (0, 5), sentence="The same in the other order."),
    _metadata(
        (0, 3), (5, 6), (7, 8), sentence="An API that stands twice without a common version: refuse before sending."
    ),
    _metadata((0, 13), sentence="The broker does not list the API: refuse before sending."),
    VersionChoice(
        clauses=(UNKNOWN_KEYS, OVERLAP),
        sentence="Keys that the client does not know change nothing, also private ones.",
        client=(0, 13),
        tables=(_table((METADATA_KEY, 0, 7), (FIRST_PRIVATE_KEY, 0, 99), (32767, 0, 0), (-1, 0, 99)),),
    ),
    VersionChoice(
        clauses=(UNKNOWN_KEYS, OVERLAP),
        sentence="Unknown keys before the known one change nothing either.",
        client=(0, 13),
        tables=(_table((2000, 0, 1), (FIRST_PRIVATE_KEY, 9, 9), (METADATA_KEY, 0, 7)),),
    ),
    VersionChoice(
        clauses=(PER_CONNECTION, OVERLAP),
        sentence="An older broker after a newer one gets its own versions.",
        client=(0, 13),
        tables=(_table((METADATA_KEY, 0, 13)), _table((METADATA_KEY, 0, 4))),
    ),
    VersionChoice(
        clauses=(PER_CONNECTION, NEWEST),
        sentence="A newer broker after an older one gets its own versions as well.",
        client=(0, 13),
        tables=(_table((METADATA_KEY, 0, 4)), _table((METADATA_KEY, 0, 13))),
    ),
    VersionChoice(
        clauses=(PER_CONNECTION, OVERLAP),
        sentence="A broker that shares no version is refused, whatever another one lists.",
        client=(0, 4),
        tables=(_table((METADATA_KEY, 0, 13)), _table((METADATA_KEY, 5, 13))),
    ),
    VersionChoice(
        clauses=(PER_CONNECTION, OVERLAP),
        sentence="A broker that does not list the API is refused, whatever another one lists.",
        client=(0, 4),
        tables=(_table((METADATA_KEY, 0, 13)), _table((PRODUCE_KEY, 0, 13))),
    ),
    *(
        _transaction(key, (0, newest), newest, *known, main=main, sentence=sentence)
        for key, newest in ((PRODUCE_KEY, 13), (TXN_OFFSET_COMMIT_KEY, 6))
        for known, main, sentence in (
            (((0, 2),), _BELIEVES, "transaction.version 2 is finalized: every common version."),
            (((7, 3),), _BELIEVES, "A level above 2, which the client does not know, is believed."),
            (((7, 1),), _CAPS, "transaction.version is below 2: no version that needs it."),
            (((7, None),), _CAPS, "transaction.version is not finalized: no version that needs it."),
            (((-1, 2),), _EPOCH, "Features without an epoch do not count."),
            (((5, 2), (4, 1)), _BACK, "Features of an older epoch change nothing: level 2 stays."),
            (((5, 1), (4, 2)), _BACK, "Features of an older epoch change nothing: level 1 stays."),
            (((5, 2), (-1, None)), _EPOCH, "Features without an epoch replace none that had one."),
            (((5, 1), (6, 2)), "FEATURES.client-sees-new-level", "A newer epoch counts: level 2 from now on."),
            (((5, 2), (6, 1)), "FEATURES.client-sees-new-level", "A newer epoch counts, also when the level falls."),
        )
    ),
    _transaction(
        ADD_PARTITIONS_TO_TXN_KEY,
        (0, 5),
        5,
        (7, 2),
        main="KIP-35.client-uses-overlap",
        sentence="AddPartitionsToTxn v4 and above are for brokers alone, whatever the table lists.",
    ),
)
"""The choices, in the order of the file."""


def is_missed_by(choice: VersionChoice, model: type[ModelClient]) -> bool:
    """Return whether a model of a client chooses otherwise than allowed, or an older version than it could."""
    try:
        chosen = choice.chosen_by(model)
    except Exception:  # noqa: BLE001 - a planted fault may fail in any way
        return True
    return not choice.is_right(chosen)


def by_id(choices: Iterable[VersionChoice] = CHOICES) -> Mapping[str, VersionChoice]:
    """Return the choices by their ids."""
    return {each.id: each for each in choices}
