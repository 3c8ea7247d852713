"""Scripts of brokers with SASL or TLS.

They are scripts of other modules, or treat the requests before and after authentication differently.

A client may ask for versions twice on a connection with SASL, as the Java client does: in version 0 before
authentication, and in its newest version after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    LoginRefusal,
    NodeScript,
    Script,
    Table,
    all_connections,
    one_node,
)
from reference_model.profiles.listeners import SASL_LISTENERS, SASL_PLAINTEXT, SSL
from strategies.broker_scripts import (
    FAILURE_MS,
    SUCCESS_MS,
    always_answering,
    broker_up_to,
    broker_with,
    brokers_that_name_their_range,
    refusal,
)
from strategies.cluster_scripts import (
    brokers_that_close,
    closing_broker,
    healthy_cluster,
    healthy_clusters,
    rebootstrapping,
)
from strategies.nonsense_scripts import nonsense_answers
from strategies.refused_name_scripts import REFUSED_NAME, refused_for_name
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    NEWEST_VERSION,
)
from wire.sasl import BARE_TOKEN

SASL_STEPS = 2
"""The requests of SASL on a connection: SaslHandshake and SaslAuthenticate."""


_SASL_RANGES = (None, (0, 0), (0, 1), (0, 2), (0, 9), (1, 1), (1, 2), (2, 2), (3, 9))


def secured(script: Script, listener: str = SASL_PLAINTEXT) -> Script:
    """Return a script on another listener; the steps of SASL come on top of the responses that it counts."""
    if listener not in SASL_LISTENERS:
        return replace(script, listener=listener)
    nodes = tuple(
        NodeScript(
            connections=tuple(
                each if each.closes_after is None else replace(each, closes_after=each.closes_after + SASL_STEPS)
                for each in node.connections
            )
        )
        for node in script.nodes
    )
    ends_after = None if script.ends_after is None else script.ends_after * (SASL_STEPS + 1)
    return replace(script, listener=listener, nodes=nodes, ends_after=ends_after)


def broker_with_sasl_ranges(handshake: tuple[int, int] | None, authenticate: tuple[int, int] | None) -> Script:
    """Return a script of a broker with other ranges of SaslHandshake and SaslAuthenticate.

    None stands for an API that the broker lacks.
    """
    ranges = {SASL_HANDSHAKE_KEY: handshake, SASL_AUTHENTICATE_KEY: authenticate}
    table = Table(
        changed=tuple((key, *range_) for key, range_ in ranges.items() if range_ is not None),
        removed=tuple(key for key, range_ in ranges.items() if range_ is None),
    )
    return secured(broker_with(table, timeout_ms=SUCCESS_MS))


def brokers_with_sasl_ranges() -> st.SearchStrategy[Script]:
    """Brokers with any ranges of SaslHandshake and SaslAuthenticate, some of which no client knows."""
    ranges = st.sampled_from(_SASL_RANGES)
    return st.builds(broker_with_sasl_ranges, ranges, ranges)


def lists_steps(script: Script, steps: Mapping[int, int]) -> bool:
    """Return whether the table of a script lists the requests of SASL that a client sends.

    Args:
        script: one of `brokers_with_sasl_ranges`.
        steps: the version of each request by its key; that of a bare token does not count.
    """
    table = next(iter(script.answers)).table
    return all(
        any(low <= version <= high for low, high in table.ranges_of(key))
        for key, version in steps.items()
        if version != BARE_TOKEN
    )


def sasl_brokers_that_name_their_range() -> st.SearchStrategy[Script]:
    """SASL brokers that refuse a newer version of ApiVersions with their range.

    They refuse it before and after authentication.
    """
    return brokers_that_name_their_range().map(secured)


def sasl_broker_that_refuses_names(*, from_version: int = FIRST_FLEXIBLE_VERSION) -> Script:
    """Return a script of a broker with SASL that answers with INVALID_REQUEST.

    Args:
        from_version: the first version that is answered so; by default the first one with a name.
    """
    return secured(refused_for_name(from_version=from_version))


def sasl_brokers_that_refuse_names() -> st.SearchStrategy[Script]:
    """Brokers with SASL that refuse requests with a name, all, or the second one of a connection."""
    versions = st.sampled_from((FIRST_FLEXIBLE_VERSION, 0))
    scripts = st.builds(sasl_broker_that_refuses_names, from_version=versions)
    return scripts | st.just(second_answer(REFUSED_NAME))


def second_answer(answer: Answer, listener: str = SASL_PLAINTEXT) -> Script:
    """Return a script of a broker that gives a response to the second request for versions of each connection alone.

    A client with SASL may ask again after authentication; any other one asks again because its first version is
    refused, unless that is the oldest one with a name.
    """
    first = Answer() if listener in SASL_LISTENERS else _refusal_above(FIRST_FLEXIBLE_VERSION)
    return one_node(first, answer, Answer(), timeout_ms=FAILURE_MS, listener=listener)


def _refusal_above(newest: int) -> Answer:
    """Return a refusal of every version above one, which names the range up to it; a lower version gets a table."""
    return replace(refusal((0, newest)), from_version=newest + 1)


def second_version_refused(newest: int) -> Script:
    """Return a script of a SASL broker that refuses the version sent after authentication.

    The refusal names `newest`, up to which the broker has versions.
    """
    return replace(second_answer(_refusal_above(newest)), timeout_ms=SUCCESS_MS)


def second_versions_refused() -> st.SearchStrategy[Script]:
    """Brokers with `second_version_refused`."""
    return st.integers(0, NEWEST_VERSION - 1).map(second_version_refused)


WITH_TLS = secured(broker_up_to(NEWEST_VERSION), SSL)
LOST_WITH_TLS = secured(closing_broker(1), SSL)
SEVERAL_WITH_TLS = secured(healthy_cluster(nodes=2), SSL)
"""Healthy brokers with TLS: one, one that closes its connections, and two of which the second is in Metadata alone."""


def healthy_brokers_with_tls() -> st.SearchStrategy[Script]:
    """Healthy clusters with TLS, some of which close each connection after some responses."""
    scripts = healthy_clusters() | brokers_that_close()
    return scripts.map(lambda script: secured(script, SSL))


def tls_brokers_that_refuse_names() -> st.SearchStrategy[Script]:
    """Brokers with TLS that refuse requests with a name, the first one or the one after a refused version."""
    return st.sampled_from((secured(refused_for_name(), SSL), second_answer(REFUSED_NAME, SSL)))


def tls_brokers_that_name_their_range() -> st.SearchStrategy[Script]:
    """Brokers with TLS that refuse a newer version of ApiVersions with their range."""
    return brokers_that_name_their_range().map(lambda script: secured(script, SSL))


def secured_rebootstrapping(listener: str, *, pieces: int = 1) -> Script:
    """Return a script of a broker that answers requests with room for ids with REBOOTSTRAP_REQUIRED until it heals."""
    script = rebootstrapping(pieces=pieces, from_version=FIRST_VERSION_WITH_CLUSTER_CHECK)
    return secured(script, listener)


def secured_brokers_that_demand_rebootstrapping(listener: str) -> st.SearchStrategy[Script]:
    """Brokers with `secured_rebootstrapping`, whose response comes in one piece or more."""
    return st.builds(secured_rebootstrapping, st.just(listener), pieces=st.integers(1, 3))


def broker_that_refuses_login(how: LoginRefusal, handshake: tuple[int, int] = (0, 1)) -> Script:
    """Return a script of a broker with SASL that authenticates no client.

    Args:
        how: how it refuses; see `ConnectionScript.refused_login`.
        handshake: its range of SaslHandshake; after version 0 a token has no header, so its refusal is a close.
    """
    table = Table(changed=((SASL_HANDSHAKE_KEY, *handshake),))
    connection = ConnectionScript(answers=(Answer(table=table),), refused_login=how)
    return all_connections(connection, listener=SASL_PLAINTEXT, timeout_ms=FAILURE_MS)


def brokers_that_refuse_login() -> st.SearchStrategy[Script]:
    """Brokers with `broker_that_refuses_login`, in each way, some with the first version of SaslHandshake alone."""
    ways: tuple[LoginRefusal, ...] = ("mechanism", "password", "close")
    ranges = st.sampled_from(((0, 1), (0, 0)))
    return st.builds(broker_that_refuses_login, st.sampled_from(ways), ranges)


def sasl_nonsense(answer: Answer, *, after_authentication: bool = False) -> Script:
    """Return a script of a broker with SASL that gives a senseless response.

    Args:
        answer: the response.
        after_authentication: whether the first request of each connection is answered well; a client that asks once
            works.
    """
    answers = (Answer(), answer) if after_authentication else (answer,)
    return one_node(*answers, timeout_ms=FAILURE_MS, listener=SASL_PLAINTEXT)


def sasl_brokers_that_talk_nonsense() -> st.SearchStrategy[Script]:
    """Brokers with SASL whose first or second response to ApiVersions on a connection makes no sense."""
    return st.builds(sasl_nonsense, nonsense_answers(), after_authentication=st.booleans())


def tls_brokers_that_talk_nonsense() -> st.SearchStrategy[Script]:
    """Brokers with TLS whose response to ApiVersions makes no sense."""
    return nonsense_answers().map(partial(always_answering, listener=SSL))
