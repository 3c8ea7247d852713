"""Defects in which of the APIs that a broker serves are in its table."""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.connection_states import SERVING
from reference_model.broker.rules.reaction import AnswerKind, Reaction
from reference_model.faults.broker.registry import defect
from reference_model.profiles.listeners import CONTROLLER
from wire.api_keys import (
    CREATE_TOPICS_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    LIST_GROUPS_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
    PUSH_TELEMETRY_KEY,
)

SERVED_IS_LISTED = "KIP-35.served-is-listed"


def _hide(context: RequestContext, api_key: int) -> None:
    """Leave an API out of the table, although it is served."""
    table = context.message.api_keys
    context.replace_response(api_keys=tuple(each for each in table if each.api_key != api_key))


@defect(Stage.RESPONSE, SERVED_IS_LISTED)
def metadata_is_served_unlisted(context: RequestContext) -> None:
    """Metadata is served, but the table leaves it out."""
    _hide(context, METADATA_KEY)


@defect(Stage.RESPONSE, SERVED_IS_LISTED)
def produce_is_served_unlisted(context: RequestContext) -> None:
    """Produce is served, but the table leaves it out."""
    _hide(context, PRODUCE_KEY)


@defect(Stage.RESPONSE, SERVED_IS_LISTED)
def topics_are_created_unlisted(context: RequestContext) -> None:
    """CreateTopics is served, but the table leaves it out."""
    _hide(context, CREATE_TOPICS_KEY)


@defect(Stage.RESPONSE, SERVED_IS_LISTED)
def groups_are_listed_unlisted(context: RequestContext) -> None:
    """ListGroups is served, but the table leaves it out."""
    _hide(context, LIST_GROUPS_KEY)


def _serve(context: RequestContext, *asked: tuple[int, int]) -> None:
    """Serve versions of APIs that the table leaves out, each given as its key and version."""
    header = context.header
    if header is None or context.state not in SERVING:
        return
    if (header.api_key, header.api_version) in asked:
        context.reaction = Reaction(
            clause=SERVED_IS_LISTED,
            kind=AnswerKind.OTHER,
            response_version=header.api_version,
        )


@defect(Stage.REACTION, SERVED_IS_LISTED, every_api=True)
def telemetry_is_served_unlisted(context: RequestContext) -> None:
    """GetTelemetrySubscriptions and PushTelemetry are served, but not listed, as by Apache Kafka from 3.7 on."""
    _serve(context, (GET_TELEMETRY_SUBSCRIPTIONS_KEY, 0), (PUSH_TELEMETRY_KEY, 0))


@defect(Stage.REACTION, SERVED_IS_LISTED, every_api=True)
def the_controller_serves_old_metadata_unlisted(context: RequestContext) -> None:
    """A controller serves Metadata v0, which only brokers list."""
    if context.broker.profile.listener == CONTROLLER:
        _serve(context, (METADATA_KEY, 0))
