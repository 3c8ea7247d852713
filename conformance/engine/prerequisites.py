"""What a property may require from a running target, and why a clause does not apply without it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from clauses.catalogue import Clause
from conformance.assertions.blame import V0_ALWAYS_SERVED
from conformance.assertions.features import lists_features, lists_supported_features
from conformance.assertions.other_apis import lists_other_apis
from conformance.assertions.read_only_apis import produce_items, read_only_items
from conformance.assertions.tagged_headers import flexible_items
from fixtures.under_test.broker import Broker
from fixtures.under_test.pre_api_versions_broker import outcome_of_api_versions
from proposals import provided
from reference_model.broker.model.scram import SCRAM
from reference_model.profiles.listeners import PLAINTEXT, UPSTREAM

OF_PROXIES = "PROXY."
"""How the ids of the clauses begin that bind only proxies."""
MORE_THAN_READING = "more_than_reading"
"""The need of every property whose examples send, or have the suite do, more than what `wire.read_only` lists. It is named first,
because other needs ask the target."""


class Need(NamedTuple):
    """Something that not every target provides.

    Attributes:
        is_met: returns whether a target provides it.
        otherwise: why a clause does not apply if the target does not provide it.
    """

    is_met: Callable[[Broker], bool]
    otherwise: str


NEEDS: Mapping[str, Need] = {
    MORE_THAN_READING: Need(
        lambda broker: not broker.target.is_read_only,
        "the run is read-only, and this takes requests that do more than read: see --malformed",
    ),
    "features": Need(
        lists_features,
        "the target lists no feature on this listener, neither a supported nor a finalized one",
    ),
    "plaintext_features": Need(
        lambda broker: lists_supported_features(broker.sibling(PLAINTEXT)),
        "the target lists no supported feature on its plaintext listener",
    ),
    "upstream_features": Need(
        lambda broker: lists_supported_features(broker.sibling(UPSTREAM)),
        "the upstream lists no supported feature",
    ),
    "metrics": Need(
        lambda broker: broker.running.metrics_url is not None,
        "the suite cannot read the target's metrics, because of the way the target was started",
    ),
    "request_log": Need(
        lambda broker: None not in (broker.running.request_log, broker.running.administration),
        "the suite cannot read the target's request log, because of the way the target was started",
    ),
    "quota": Need(
        lambda broker: broker.running.administration is not None,
        "the suite cannot set a request quota on the target, because of the way the target was started",
    ),
    "cluster_id": Need(
        lambda broker: None not in (broker.identity.cluster_id, broker.identity.node_id),
        "the cluster id and node id of the target are not known: neither Metadata v2 nor DescribeCluster v0 names "
        "the cluster and node at this address",
    ),
    "handshake_v1": Need(
        lambda broker: broker.profile.traits.sasl_handshake_max > 0,
        "the release has no SaslHandshake v1",
    ),
    "scram": Need(
        lambda broker: broker.running.sasl is not None and SCRAM in broker.running.sasl.usable,
        f"there is no account for {SCRAM}: the target does not offer it, the suite cannot add a user, or none was given "
        "for it",
    ),
    "upstream": Need(
        lambda broker: broker.has_listener(UPSTREAM),
        "the target is not a proxy, or its upstream is not known: see --upstream",
    ),
    "upstream_link": Need(
        lambda broker: broker.running.upstream_link is not None,
        "the suite does not stand between the proxy and its upstream, because it started neither",
    ),
    "upstream_answers": Need(
        lambda broker: not broker.target.has_scripted_upstream,
        "the upstream is a scripted broker, which answers no request that a proxy only passes on",
    ),
    "other_apis": Need(
        lists_other_apis, "the target lists no other API than ApiVersions on this listener"
    ),
    "flexible_apis": Need(
        lambda broker: bool(flexible_items(broker)),
        "the target lists no flexible version of Metadata, ListGroups or DescribeCluster",
    ),
    "read_only_apis": Need(
        lambda broker: bool(read_only_items(broker)),
        "the target serves none of Metadata, ListGroups, DescribeQuorum and DescribeCluster",
    ),
    "produce": Need(
        lambda broker: bool(produce_items(broker)), "the target does not serve Produce"
    ),
    "plaintext": Need(
        lambda broker: broker.has_listener(PLAINTEXT),
        "the target has no plaintext listener to compare with",
    ),
    **{name: Need(*need) for of_one in provided("broker_needs") for name, need in of_one.items()},
}
"""The needs, by the name that the mark `needs` uses."""


_asked_once = functools.cache(outcome_of_api_versions)


def why_not_applicable(clause: Clause, needs: Iterable[str], broker: Broker) -> str | None:
    """Return why a clause does not apply to a target; None if it does.

    Args:
        clause: the clause.
        needs: what the property needs; names of `NEEDS`.
        broker: the target.

    Raises:
        KeyError: a name is not in `NEEDS`.
        HarnessError: the target's table cannot be read, so only `V0_ALWAYS_SERVED` can be judged.
    """
    if not broker.target.handshake:
        return f"the release is older than ApiVersions: {_asked_once(broker)}"
    is_of_proxies = clause.id.startswith(OF_PROXIES) or clause.id == V0_ALWAYS_SERVED
    if broker.target.has_scripted_upstream and not is_of_proxies:
        return "its upstream is a scripted broker, in front of which only the clauses of proxies are judged"
    if broker.unreadable is not None:
        if clause.id == V0_ALWAYS_SERVED:
            return None
        raise broker.unreadable
    if not clause.applies_at(broker.max_version):
        return (
            f"applies from ApiVersions v{clause.applies_to.first} on; "
            f"the target serves at most v{broker.max_version}"
        )
    return next((NEEDS[name].otherwise for name in needs if not NEEDS[name].is_met(broker)), None)
