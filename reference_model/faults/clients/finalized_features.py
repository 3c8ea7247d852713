"""Faults against the clauses about finalized features.

The features decide what a client may send in a transaction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import takewhile

from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.client_errors import Nonsense
from reference_model.clients.model.features import FinalizedFeatures
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.rules.transaction_versions import FIRST_LEVEL_OF_V2, TRANSACTION_VERSION
from reference_model.clients.scripts.script import TRANSACTIONS
from reference_model.faults.clients.registry import fault
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from wire.api_keys import TXN_OFFSET_COMMIT_KEY
from wire.api_versions import ApiVersionsResponse
from wire.message_schemas import Api

CAPS = "FEATURES.client-caps-by-level"
BELIEVES = "FEATURES.client-believes-levels"
IGNORES_UNKNOWN = "FEATURES.client-ignores-unknown-features"
IGNORES_UNKNOWN_EPOCH = "FEATURES.client-ignores-unknown-epoch"
NEVER_GOES_BACK = "FEATURES.client-never-goes-back"
SEES_NEW_LEVEL = "FEATURES.client-sees-new-level"

_OF_KAFKA = frozenset(each.name for each in profile_of(NEWEST_RELEASE).supported_features)


def _listed_level(response: ApiVersionsResponse) -> int:
    """Return the level of transaction.version that a table lists, whatever its epoch; 0 for none."""
    return next((each.max_version_level for each in response.finalized_features if each.name == TRANSACTION_VERSION), 0)


@fault(CAPS)
class TransactionsUseWhatTheTableLists(ModelClient):
    """Sends in a transaction the newest version that both sides know, whatever the features are."""

    def newest_in_transaction(self, api: Api) -> int | None:
        is_v2, self.is_v2 = self.is_v2, True
        try:
            return super().newest_in_transaction(api)
        finally:
            self.is_v2 = is_v2


@fault(CAPS)
class OffsetsOfTransactionsAreNotCapped(ModelClient):
    """Heeds the level for Produce, and forgets it for TxnOffsetCommit."""

    def newest_in_transaction(self, api: Api) -> int | None:
        return None if api.api_key == TXN_OFFSET_COMMIT_KEY else super().newest_in_transaction(api)


@fault(CAPS)
class SupportedLevelCountsWhereNoneIsFinalized(ModelClient):
    """Takes the level that a broker supports for that of the cluster as long as it has seen none."""

    def learn_features(self, link: Link, response: ApiVersionsResponse) -> None:
        super().learn_features(link, response)
        for each in response.supported_features:
            is_unknown = not response.finalized_features and self.features.epoch < 0
            if each.name == TRANSACTION_VERSION and is_unknown:
                self.features = FinalizedFeatures(levels={each.name: each.max_version})


@fault(CAPS)
class BrokerWithoutFeaturesIsTakenForANewOne(ModelClient):
    """Takes transaction V2 for enabled in a cluster that names no feature at all."""

    names_features = True

    def begins_with_v2(self) -> bool:
        return super().begins_with_v2() or not self.names_features

    def learn_features(self, link: Link, response: ApiVersionsResponse) -> None:
        super().learn_features(link, response)
        self.names_features = bool(response.finalized_features or response.supported_features)


@fault(BELIEVES)
class OnlyTheFirstLevelIsBelieved(ModelClient):
    """Compares the level with 2 for equality, and does not know later ones."""

    def has_transaction_v2(self) -> bool:
        return self.features.levels.get(TRANSACTION_VERSION) == FIRST_LEVEL_OF_V2


@fault(BELIEVES)
class LevelIsBelievedIfNoLaterOneIsSupported(ModelClient):
    """Takes a cluster for one in the middle of an upgrade if its brokers support later levels."""

    def levels_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[str, int]:
        supported = {each.name: each.max_version for each in response.supported_features}
        levels = super().levels_in(link, response)
        return {name: level for name, level in levels.items() if level == supported.get(name, level)}


@fault(BELIEVES)
class UnknownLevelIsRefused(ModelClient):
    """Does no transaction in a cluster at a level that it does not know."""

    def levels_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[str, int]:
        levels = super().levels_in(link, response)
        for name, level in levels.items():
            if level > FIRST_LEVEL_OF_V2 and TRANSACTIONS in self.options:
                raise Nonsense(f"{name} is at the unknown level {level}")
        return levels


@fault(IGNORES_UNKNOWN)
class FeaturesEndAtTheFirstUnknownOne(ModelClient):
    """Reads features up to the first one whose name it does not know."""

    def levels_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[str, int]:
        known = takewhile(lambda each: each.name in _OF_KAFKA, response.finalized_features)
        return super().levels_in(link, dataclasses.replace(response, finalized_features=tuple(known)))


class _ReadingNames(ModelClient):
    """Takes features with other names for the one that it knows, and believes the highest level."""

    def is_it(self, name: str) -> bool:
        """Return whether a name stands for transaction.version."""
        raise NotImplementedError

    def levels_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[str, int]:
        levels = [each.max_version_level for each in response.finalized_features if self.is_it(each.name)]
        return {TRANSACTION_VERSION: max(levels)} if levels else {}


@fault(IGNORES_UNKNOWN)
class NamesOfFeaturesAreComparedInPart(_ReadingNames):
    """Looks for the name of a feature in longer names."""

    def is_it(self, name: str) -> bool:
        return TRANSACTION_VERSION in name


@fault(IGNORES_UNKNOWN)
class NamesOfFeaturesAreComparedWithoutCase(_ReadingNames):
    """Compares the names of features without case."""

    def is_it(self, name: str) -> bool:
        return name.lower() == TRANSACTION_VERSION


@fault(IGNORES_UNKNOWN_EPOCH)
class EpochOfFeaturesIsNotLookedAt(ModelClient):
    """Believes features without an epoch as long as it knows none with one."""

    def features_count(self, response: ApiVersionsResponse) -> bool:
        return True

    def are_newer(self, link: Link, response: ApiVersionsResponse) -> bool:
        return super().are_newer(link, response) or self.features.epoch == -1


@fault(IGNORES_UNKNOWN_EPOCH)
class MissingEpochIsTakenForTheNewest(ModelClient):
    """Believes features without an epoch where it knows others with one."""

    def learn_features(self, link: Link, response: ApiVersionsResponse) -> None:
        super().learn_features(link, response)
        if response.finalized_features_epoch == -1 and _listed_level(response) and self.features.epoch >= 0:
            levels = {TRANSACTION_VERSION: max(_listed_level(response), *self.features.levels.values(), 0)}
            self.features = dataclasses.replace(self.features, levels=levels)


@fault(IGNORES_UNKNOWN_EPOCH)
class MissingEpochForgetsFeatures(ModelClient):
    """Forgets the features that it knows when a table has no epoch, with features or without."""

    def learn_features(self, link: Link, response: ApiVersionsResponse) -> None:
        super().learn_features(link, response)
        if response.finalized_features_epoch == -1:
            self.features = FinalizedFeatures()


@fault(NEVER_GOES_BACK)
class LatestTableHasTheFeatures(ModelClient):
    """Believes the features of the table that came last, whatever their epoch."""

    def are_newer(self, link: Link, response: ApiVersionsResponse) -> bool:
        return True


@fault(NEVER_GOES_BACK)
class OlderEpochRaisesTheLevel(ModelClient):
    """Believes the highest level that some broker lists, until the epoch rises."""

    def are_newer(self, link: Link, response: ApiVersionsResponse) -> bool:
        known = self.features.levels.get(TRANSACTION_VERSION, 0)
        return super().are_newer(link, response) or _listed_level(response) > known


@fault(NEVER_GOES_BACK)
class OlderEpochLowersTheLevel(ModelClient):
    """Believes the lowest level that some broker lists, to be careful."""

    def are_newer(self, link: Link, response: ApiVersionsResponse) -> bool:
        known = self.features.levels.get(TRANSACTION_VERSION, 0)
        return super().are_newer(link, response) or 0 < _listed_level(response) < known


@fault(SEES_NEW_LEVEL)
class FirstFeaturesAreKept(ModelClient):
    """Believes the features of the first table that has some for the rest of its life."""

    def are_newer(self, link: Link, response: ApiVersionsResponse) -> bool:
        return self.features.epoch < 0


@fault(SEES_NEW_LEVEL)
class FeaturesOfOlderEpochsStay(ModelClient):
    """Adds the features of a newer epoch to those that it knows, and drops none that is no longer listed."""

    def levels_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[str, int]:
        return {**self.features.levels, **super().levels_in(link, response)}
