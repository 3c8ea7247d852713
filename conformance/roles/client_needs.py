"""What a property may need of a client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from conformance.assertions.client_moves import gives_ids, newest_api_versions, newest_metadata
from conformance.assertions.transactions import does_transactions, heeds_levels, uses_transaction_v2
from conformance.roles.role import Need, with_proposed_needs
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.rules.first_reaction import NEVER_ASKED, stops_short
from reference_model.clients.scripts.script import TRANSACTIONS
from reference_model.profiles.listeners import SASL_PLAINTEXT, SSL
from strategies.cluster_scripts import healthy_cluster
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK


def _sends(version: int, client: ClientUnderTest) -> bool:
    return newest_api_versions(client.healthy) >= version


def _gives_ids(client: ClientUnderTest) -> bool:
    """Whether a client gives the ids of KIP-1242 to a healthy broker, or promises to in the registry."""
    # The cluster is played only for a client that does not show it in the first play.
    return (
        client.client.cluster_check
        or gives_ids(client.healthy.recording)
        or gives_ids(client.play(healthy_cluster()).recording)
    )


def _sends_from(version: int) -> Need[ClientUnderTest]:
    return Need(
        partial(_sends, version),
        f"the client sends no ApiVersions request from v{version} on, even to a healthy broker",
    )


def _option(name: str, what: str, listener: str = "") -> tuple[str, Need[ClientUnderTest]]:
    """Return the need for an option of the client.

    If the option is about a listener, the client also has to work with a healthy broker on that listener.
    """
    return f"option:{name}", Need(
        lambda client: name in client.client.options and (not listener or bool(client.healthy_on(listener))),
        f"no option of the client is known {what}; one of a command is declared with --client-option {name}=ARGUMENTS",
        is_of_suite=True,
    )


NEEDS_OF_SUITE: Mapping[str, Need[ClientUnderTest]] = {
    "asks_versions": Need(partial(_sends, 0), "the client sends no ApiVersions request, even to a healthy broker"),
    "never_asks": Need(
        lambda client: stops_short(client.healthy.recording) == NEVER_ASKED,
        "the client asks for versions, or sends no request at all, even to a healthy broker",
    ),
    "asks_metadata": Need(
        lambda client: newest_metadata(client.healthy) is not None,
        "the client sends no Metadata request, even to a healthy broker",
    ),
    "asks_again": Need(
        lambda client: client.client.can_ask_again,
        "the client's command has no {again}, so it ends before the broker is healthy",
        is_of_suite=True,
    ),
    "gives_up": Need(
        lambda client: not client.client.runs_on,
        "the client runs on, so it may ask again after it gave up, which looks like a repeated version",
        is_of_suite=True,
    ),
    "newest_is_seen": Need(
        lambda client: (
            _sends(FIRST_FLEXIBLE_VERSION, client) or len({*client.healthy.recording.versions_of_api_versions}) > 1
        ),
        "the client sends nothing but one version of ApiVersions without a name, even to a healthy broker that supports newer ones: "
        "whether it knows a newer one is not seen",
    ),
    "sends_v1": _sends_from(1),
    "sends_v3": _sends_from(FIRST_FLEXIBLE_VERSION),
    "sends_v4": _sends_from(FIRST_FLEXIBLE_VERSION + 1),
    "sends_v5": _sends_from(FIRST_VERSION_WITH_CLUSTER_CHECK),
    "cluster_check": Need(
        _gives_ids,
        "the client gives no ids of KIP-1242 in its ApiVersions requests, even to a healthy broker",
    ),
    **dict(
        (
            _option("tls", "for TLS", SSL),
            _option("sasl_plain", "for SASL PLAIN", SASL_PLAINTEXT),
            _option("without_cluster_check", "that disables the check"),
            _option("without_rebootstrap", "that disables rebootstrapping"),
            _option(
                "rebootstraps_after_1_s",
                "that makes it bootstrap again after a second without metadata",
            ),
        )
    ),
    f"option:{TRANSACTIONS}": Need(
        does_transactions,
        "no option of the client is known that makes it do transactions; one of a command is declared with "
        f"--client-option {TRANSACTIONS}=ARGUMENTS",
        is_of_suite=True,
    ),
    "uses_transaction_v2": Need(
        uses_transaction_v2,
        "the client uses no transaction V2, even in a healthy cluster at level 2 of transaction.version",
    ),
    "heeds_levels": Need(
        heeds_levels,
        "the client looks at no level of transaction.version, which FEATURES.client-caps-by-level judges",
    ),
}
"""What the suite's own properties may need, by name."""
NEEDS: Mapping[str, Need[ClientUnderTest]] = with_proposed_needs("clients", NEEDS_OF_SUITE)
"""The needs, by the name that the mark `needs` uses."""


def unmet_need(needs: Iterable[str], client: ClientUnderTest) -> str | None:
    """Return why a client lacks what a property needs; None if it lacks nothing.

    Raises:
        KeyError: a name is not in `NEEDS`.
        HarnessError: the client fails against a healthy broker, so nothing can be judged.
    """
    return next((NEEDS[name].otherwise for name in needs if not NEEDS[name].is_met(client)), None)
