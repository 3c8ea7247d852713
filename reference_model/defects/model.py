"""Defects that only the reference model sees: on one target, or where two releases are compared."""

from __future__ import annotations

from reference_model.defects.registry import defect, replace_response, unread_version
from reference_model.listeners import CONTROLLER
from reference_model.state_machine import AnswerKind, Reaction, RequestContext, Stage
from wire.api_versions import ApiVersionsRequest
from wire.codec import TAG_SECTION, decode
from wire.error_codes import ErrorCode
from wire.errors import BufferUnderflow, DecodeError
from wire.exchange import Outcome


@defect(Stage.RESPONSE, "MODEL.agrees-with-reference", listeners=(CONTROLLER,))
def the_controller_hides_a_finalized_feature(context: RequestContext) -> None:
    """The controller listener lacks a finalized feature that the broker listener has (KAFKA-18920)."""
    if context.response is not None and context.response.finalized_features:
        replace_response(context, finalized_features=context.response.finalized_features[1:])


# No profile predicts it, so that it is news between the release before and the one that has it.
@defect(Stage.REACTION, "MODEL.agrees-with-reference", "MODEL.release-differences-explained")
def cut_bodies_are_answered(context: RequestContext) -> None:
    """A request whose body ends inside a field gets INVALID_REQUEST instead of a close."""
    header, version = context.header, unread_version(context)
    if header is None or version is None:
        return
    try:
        decode(ApiVersionsRequest, context.payload[header.body_offset :], version=version)
    except BufferUnderflow as error:
        if error.field_path != TAG_SECTION:
            context.reaction = Reaction(
                outcome=Outcome.ANSWER,
                clause="KIP-511.refusal-in-request-version",
                error_code=ErrorCode.INVALID_REQUEST,
                kind=AnswerKind.API_VERSIONS,
                response_version=version,
            )
    except DecodeError:
        return
