"""Predicts whether a client that was watched would work with another release.

The prediction uses what that release serves and refuses.

The rule in short: a request that the release serves is no problem, because the client can send it again. One that it
refuses breaks a client that cannot send another version: one that never asks which versions there are, or that knows no
newer version. It knows no newer one if it used less than the watched broker serves. A client that used the broker's own
maximum may know more. Of a group of programs each version may be another program's, so each is judged by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reference_model.clients.rules.transaction_versions import (
    FIRST_LEVEL_OF_V2,
    LAST_END_TXN_BEFORE_V2,
    NEWEST_BEFORE_V2,
    TRANSACTION_VERSION,
)
from reference_model.profiles.known_apis import label_of
from reference_model.profiles.release_tables import missing_feature
from reference_model.profiles.version_tables import Ranges
from reports.client_needs.needs import ClientNeeds
from upgrade.prediction.measured_needs import Software, decisions_by_needs, measured_needs
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests
from upgrade.prediction.outcomes import WORST_FIRST, Decision, PredictedOutcome
from upgrade.prediction.releases import Release
from wire.api_keys import API_VERSIONS_KEY, END_TXN_KEY, TXN_OFFSET_COMMIT_KEY

_ONLY_IN_TRANSACTIONS = {
    END_TXN_KEY: LAST_END_TXN_BEFORE_V2,
    TXN_OFFSET_COMMIT_KEY: NEWEST_BEFORE_V2[TXN_OFFSET_COMMIT_KEY],
}
"""The newest versions that need no transaction V2, of requests that are sent in transactions alone, by API key."""

_NEVER_ASKS = PredictedOutcome.BREAKS, "the client never asks for versions, so it sends it anyway"


class _Offered(NamedTuple):
    """The newest version of an API that the watched brokers are known to serve, and whether they serve no newer one."""

    newest: int
    is_newest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What becomes of a client with a release.

    Attributes:
        client: the client.
        release: the id of the release.
        decisions: what stands in its way, the worst first; empty if nothing does.
    """

    client: ClientIdentity
    release: str
    decisions: tuple[Decision, ...]

    @property
    def outcome(self) -> PredictedOutcome:
        """The worst of the decisions."""
        return self.decisions[0].outcome if self.decisions else PredictedOutcome.WORKS


def predict(
    observed: ObservedRequests,
    client: ClientIdentity,
    watched: Ranges,
    release: Release,
    measured: Mapping[Software, Sequence[ClientNeeds]] | None = None,
) -> Prediction:
    """Predict what becomes of a client with a release.

    Args:
        observed: what was seen.
        client: one of its clients.
        watched: the versions that all watched brokers list; empty if that is not known.
        release: the release.
        measured: the needs of clients by software; None for those that come with the suite.
    """
    versions: dict[int, list[int]] = {}
    for api_key, api_version in observed.requests(client):
        versions.setdefault(api_key, []).append(api_version)
    about_versions = versions.pop(API_VERSIONS_KEY, [])
    decisions = [*_about_versions(about_versions, watched, release)]
    asks = observed.asks(client)
    for api_key, versions_of_api in versions.items():
        decisions += [
            _refused(
                api_key,
                version,
                [version] if client.is_group else versions_of_api,
                asks,
                _offered(api_key, version, observed, watched),
                release,
            )
            for version in versions_of_api
            if not release.serves(api_key, version)
        ]
        decisions += _disabled(api_key, versions_of_api, release)
        decisions += _beyond_level(api_key, versions_of_api, release)
    reason = ""
    if observed.of(client).missed_requests:
        reason = "it sent requests that could not be read"
    elif not versions:
        reason = "it sent nothing but ApiVersions requests"
    if reason:
        decisions.append(Decision(outcome=PredictedOutcome.CANNOT_SAY, sentence=reason))
    if not decisions:
        decisions += decisions_by_needs(
            client, versions.keys(), release, measured_needs() if measured is None else measured
        )
    decisions.sort(key=lambda decision: WORST_FIRST.index(decision.outcome))
    return Prediction(client=client, release=release.id, decisions=tuple(decisions))


def worst(predictions: Sequence[Prediction]) -> PredictedOutcome:
    """Return the worst outcome; with no prediction nothing can be said."""
    outcomes = {each.outcome for each in predictions} or {PredictedOutcome.CANNOT_SAY}
    return next(each for each in WORST_FIRST if each in outcomes)


def request_name(api_key: int, api_version: int) -> str:
    """Return how a request is named: "Produce v2", or "API 999 v0" if Kafka has no API with this key."""
    return f"{label_of(api_key)} v{api_version}"


def _about_versions(seen: Sequence[int], watched: Ranges, release: Release) -> list[Decision]:
    """Return what prevents the client from asking for versions.

    A refused version prevents nothing if the client was seen to fall back to an older version.
    """
    refused = [each for each in seen if not release.serves(API_VERSIONS_KEY, each)]
    offered = watched.get(API_VERSIONS_KEY)
    fell_back = (
        len(refused) < len(seen)
        and offered is not None
        and not any(offered.lowest <= each <= offered.highest for each in refused)
    )
    if not refused or fell_back:
        return []
    sentence = "is too new for it; whether the client then asks in an older version was not seen"
    return [_unsure(API_VERSIONS_KEY, refused[-1], sentence)]


def _disabled(api_key: int, seen: Sequence[int], release: Release) -> list[Decision]:
    """Return what stands in the way of an API that is listed, and refused as long as its feature is off."""
    feature = missing_feature(release.profile, api_key)
    served = [each for each in seen if release.serves(api_key, each)]
    if not feature or not served:
        return []
    sentence = f"is listed, but works only with the feature {feature}, which the release does not enable by itself"
    return [_unsure(api_key, served[-1], sentence)]


def _beyond_level(api_key: int, seen: Sequence[int], release: Release) -> list[Decision]:
    """Return what stands in the way of a client in whose transactions a version needs transaction V2 (KIP-890).

    Only these requests show that: Produce in a version that needs it in transactions may be none of one.
    """
    newest = _ONLY_IN_TRANSACTIONS.get(api_key)
    levels = {each.name: each.max_version_level for each in release.profile.finalized_features}
    if newest is None or levels.get(TRANSACTION_VERSION, 0) >= FIRST_LEVEL_OF_V2:
        return []
    beyond = [each for each in seen if each > newest and release.serves(api_key, each)]
    if not beyond:
        return []
    sentence = (
        f"shows transactions that need {TRANSACTION_VERSION} {FIRST_LEVEL_OF_V2}, which the release does not finalize by "
        "itself; a client that heeds finalized features does without"
    )
    return [_unsure(api_key, beyond[-1], sentence)]


def _unsure(api_key: int, api_version: int, sentence: str) -> Decision:
    """Return that nothing can be said because of a request, of which a sentence says why."""
    return Decision(
        outcome=PredictedOutcome.CANNOT_SAY,
        api_key=api_key,
        api_version=api_version,
        sentence=f"{request_name(api_key, api_version)} {sentence}",
    )


def _offered(api_key: int, version: int, observed: ObservedRequests, watched: Ranges) -> _Offered | None:
    """Return what is known of the watched brokers' versions of an API, by their tables or by what they served."""
    if api_key in watched:
        return _Offered(watched[api_key].highest, is_newest=True)
    newest = observed.served.get((api_key, version))
    return None if newest is None else _Offered(newest, is_newest=False)


def _refused(
    api_key: int,
    version: int,
    seen: Sequence[int],
    asks: bool | None,
    offered: _Offered | None,
    release: Release,
) -> Decision:
    """Return what a refused request means for a client.

    `asks` is None if it is unknown whether the client asks for versions.
    """
    if asks is False:
        outcome, why = _NEVER_ASKS
    else:
        outcome, why = _what_client_that_asks_can_do(api_key, seen, offered, release)
        if asks is None and outcome is PredictedOutcome.CANNOT_SAY:
            # Where both may be, only what holds for both can be said.
            why = "it is not known whether the client asks for versions"
    since = release.refused_since(api_key, version)
    refused = f"is refused since {since}" if since else "is refused: no release until then serves it"
    return Decision(
        outcome=outcome,
        api_key=api_key,
        api_version=version,
        refused_since=since,
        sentence=f"{request_name(api_key, version)} {refused}; {why}",
    )


def _what_client_that_asks_can_do(
    api_key: int, seen: Sequence[int], offered: _Offered | None, release: Release
) -> tuple[PredictedOutcome, str]:
    served = release.served(api_key)
    newest = max(seen)
    if served is None:
        return (
            PredictedOutcome.CANNOT_SAY,
            "the release lists no version of it, and the client may do without",
        )
    if any(release.serves(api_key, each) for each in seen):
        return PredictedOutcome.CANNOT_SAY, "the client also sent a version that is served"
    if newest > served.highest:
        return (
            PredictedOutcome.CANNOT_SAY,
            f"the client may know v{served.highest} or older as well",
        )
    if offered is not None and newest < offered.newest:
        up_to = "up to " if offered.is_newest else ""
        return (
            PredictedOutcome.BREAKS,
            f"the client knows no newer one: it used v{newest}, and the watched broker serves {up_to}v{offered.newest}",
        )
    if offered is None or not offered.is_newest:
        return PredictedOutcome.CANNOT_SAY, "which versions the watched broker serves is not known"
    return (
        PredictedOutcome.CANNOT_SAY,
        f"v{newest} is the newest that the watched broker serves, so the client may know newer ones",
    )
