"""Defects: APIs are listed although their feature is switched off."""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.faults.broker.other_apis import HEADER_BYTES, is_asked, say_unsupported
from reference_model.faults.broker.registry import defect
from wire.api_keys import (
    CONSUMER_GROUP_HEARTBEAT_KEY,
    SHARE_GROUP_HEARTBEAT_KEY,
    STREAMS_GROUP_HEARTBEAT_KEY,
)

SUPPORTED = "KIP-35.advertised-version-supported"
_ERROR_CODE = HEADER_BYTES + 1 + 4
"""The offset after the header, its tag section and the throttle time."""


def _switch_off(context: RequestContext, feature: str, api_key: int) -> None:
    """Finalize no level of a feature, and refuse the API that needs one."""
    if is_asked(context, api_key, 0):
        say_unsupported(context, _ERROR_CODE)
    elif context.succeeds:
        levels = context.message.finalized_features
        left = tuple(each for each in levels if each.name != feature)
        context.replace_response(finalized_features=left)
        context.answer = context.encode_answer()


@defect(Stage.ANSWER, SUPPORTED, every_api=True)
def consumer_groups_are_listed_but_off(context: RequestContext) -> None:
    """ConsumerGroupHeartbeat is listed, but group.version is not finalized, and the response is UNSUPPORTED_VERSION."""
    _switch_off(context, "group.version", CONSUMER_GROUP_HEARTBEAT_KEY)


@defect(Stage.ANSWER, SUPPORTED, every_api=True)
def share_groups_are_listed_but_off(context: RequestContext) -> None:
    """ShareGroupHeartbeat is listed, but share.version is not finalized, and the response is UNSUPPORTED_VERSION."""
    _switch_off(context, "share.version", SHARE_GROUP_HEARTBEAT_KEY)


@defect(Stage.ANSWER, SUPPORTED, every_api=True)
def streams_groups_are_listed_but_off(context: RequestContext) -> None:
    """StreamsGroupHeartbeat is listed, but gets UNSUPPORTED_VERSION because streams.version is not finalized."""
    _switch_off(context, "streams.version", STREAMS_GROUP_HEARTBEAT_KEY)
