"""What a property may require of a client, and why a clause does not apply without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from conformance.assertions.client_moves import (
    ClientUnderTest,
    newest_api_versions,
    newest_metadata,
)
from proposals import provided
from reference_model.clients.rules.first_reaction import NEVER_ASKED, stops_short
from reference_model.clients.rules.moves import History
from reference_model.clients.scripts.recording import Recording
from strategies.cluster_scripts import healthy_cluster
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK


class ClientNeed(NamedTuple):
    """Something that not every client does or has.

    Attributes:
        is_met: returns whether a client does or has it.
        otherwise: why a clause does not apply if it does not.
    """

    is_met: Callable[[ClientUnderTest], bool]
    otherwise: str


def _sends(version: int, client: ClientUnderTest) -> bool:
    return newest_api_versions(client.healthy) >= version


def _has_option(name: str, client: ClientUnderTest) -> bool:
    return name in client.client.options


def _gives_ids(client: ClientUnderTest) -> bool:
    """Whether a client gives the ids of KIP-1242 to a healthy broker, or promises to in the registry."""
    # The cluster is played only for a client that does not show it in the first play.
    return (
        client.client.cluster_check
        or _has_ids(client.healthy.recording)
        or _has_ids(client.play(healthy_cluster()).recording)
    )


def _has_ids(recording: Recording) -> bool:
    return any(any(move.gives_ids) for move in History(recording).moves)


def _sends_from(version: int) -> ClientNeed:
    return ClientNeed(
        partial(_sends, version),
        f"the client sends no ApiVersions request from v{version} on, even to a healthy broker",
    )


def _option(name: str, what: str) -> tuple[str, ClientNeed]:
    return f"option:{name}", ClientNeed(
        partial(_has_option, name),
        f"no option of the client is known {what}; one of a command is declared with --client-option {name}=ARGUMENTS",
    )


NEEDS: Mapping[str, ClientNeed] = {
    "asks_versions": ClientNeed(
        partial(_sends, 0), "the client sends no ApiVersions request, even to a healthy broker"
    ),
    "never_asks": ClientNeed(
        lambda client: stops_short(client.healthy.recording) == NEVER_ASKED,
        "the client asks for versions, or sends no request at all, even to a healthy broker",
    ),
    "asks_metadata": ClientNeed(
        lambda client: newest_metadata(client.healthy) is not None,
        "the client sends no Metadata request, even to a healthy broker",
    ),
    "asks_again": ClientNeed(
        lambda client: client.client.can_ask_again,
        "the client's command has no {again}, so it ends before the broker is healthy",
    ),
    "gives_up": ClientNeed(
        lambda client: not client.client.runs_on,
        "the client runs on, so it may ask again after it gave up, which looks like a repeated version",
    ),
    "sends_v1": _sends_from(1),
    "sends_v3": _sends_from(FIRST_FLEXIBLE_VERSION),
    "sends_v4": _sends_from(FIRST_FLEXIBLE_VERSION + 1),
    "sends_v5": _sends_from(FIRST_VERSION_WITH_CLUSTER_CHECK),
    "cluster_check": ClientNeed(
        _gives_ids,
        "the client gives no ids of KIP-1242 in its ApiVersions requests, even to a healthy broker",
    ),
    **dict(
        (
            _option("tls", "for TLS"),
            _option("sasl_plain", "for SASL PLAIN"),
            _option("without_cluster_check", "that disables the check"),
            _option("without_rebootstrap", "that disables rebootstrapping"),
        )
    ),
    **{
        name: ClientNeed(*need)
        for of_one in provided("client_needs")
        for name, need in of_one.items()
    },
}
"""The needs, by the name that the mark `needs` uses."""


def why_not_applicable(needs: Iterable[str], client: ClientUnderTest) -> str | None:
    """Return why a property does not apply to a client; None if it does.

    Args:
        needs: what the property needs; names of `NEEDS`.
        client: the client.

    Raises:
        KeyError: a name is not in `NEEDS`.
        HarnessError: the client fails against a healthy broker, so nothing can be judged.
    """
    return next((NEEDS[name].otherwise for name in needs if not NEEDS[name].is_met(client)), None)
