"""Asserts that a target does what the reference model allows, with the message schemas from Kafka's jars."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from conformance.assertions.judging import decode_answer
from fixtures.artefacts.message_schemas import api_catalogue, catalogue_of
from fixtures.under_test.broker import Broker
from reference_model.broker.rules.reaction import AnswerKind, Reaction
from reference_model.judging.agreement import Agreement, difference
from reference_model.profiles.profile import Profile
from wire.exchange import Exchange, Outcome
from wire.message_schemas import Api


def find_api(api_key: int, api_version: int) -> Api | None:
    """Return the registry's schemas of an API in a version, or None; the jars are read only when this is called."""
    return api_catalogue().find(api_key, api_version)


@functools.lru_cache(maxsize=8)
def model_of(broker: Broker) -> Profile:
    """Return the profile that a target is compared with.

    A target of another implementation has a table of its own, which replaces that of the release: a table that differs
    would hide every other difference. Other clauses judge whether the table is the same in every version.
    """
    return broker.profile if broker.pin_is_binding else broker.with_own_table(broker.profile)


def agreement_of(broker: Broker) -> Agreement:
    """Return the comparison of a target with its model."""

    def find_own_api(api_key: int, api_version: int) -> Api | None:
        return catalogue_of(broker.target).find(api_key, api_version)

    offered = broker.running.offered_mechanisms or None
    return Agreement(model_of(broker), mechanisms=offered, find_api=find_own_api)


def assert_allowed(
    exchange: Exchange,
    allowed: Sequence[Reaction],
    agreement: Agreement,
    *,
    is_kept: bool | None = None,
) -> Reaction:
    """Return the allowed reaction that the target's treatment of a request matches; fail if there is none.

    Args:
        exchange: the request, and what became of it.
        allowed: the reactions that the model allows.
        agreement: the comparison with the model.
        is_kept: whether the connection still served requests after a response; None if that was not seen.

    Raises:
        MalformedAnswer: a response to ApiVersions does not decode in the allowed layout.
        AssertionError: the target did something else that the model does not allow.
    """
    reaction = agreement.matching(exchange, allowed, is_kept=is_kept)
    if reaction is None:
        _assert_decodable(exchange, allowed)
        fields = agreement.what_differs(exchange, allowed)
        what = f"; {', '.join(fields)} differ" if fields else ""
        details = "".join(f"\n{field}: {words}" for field, words in fields.items())
        raise AssertionError(f"{difference(exchange, allowed)}{what}{details}")
    return reaction


def _assert_decodable(exchange: Exchange, allowed: Sequence[Reaction]) -> None:
    for reaction in allowed:
        is_table = reaction.kind is AnswerKind.API_VERSIONS and reaction.outcome is Outcome.ANSWER
        if is_table and exchange.payload is not None:
            decode_answer(exchange, api_version=reaction.response_version, exactly=True)
