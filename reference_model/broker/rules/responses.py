"""Response bodies of a broker: ApiVersions, the steps of SASL, and other APIs."""

from __future__ import annotations

import functools

from reference_model.broker.rules.reaction import AnswerKind, Identity, Listing, Reaction
from reference_model.broker.rules.request_parser import ParsedHeader
from reference_model.profiles.known_apis import default_answers
from reference_model.profiles.profile import Profile
from wire import primitives
from wire.api_keys import DESCRIBE_CLUSTER_KEY, METADATA_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_ZERO_MINIMUM,
    ApiVersion,
    ApiVersionsResponse,
)
from wire.codec import encode
from wire.described_messages import (
    CLUSTER_APIS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    NodeAddress,
    cluster_response,
)
from wire.error_codes import ErrorCode
from wire.frames import encode_frame
from wire.primitives import NO_TAGS

_LISTING_BROKERS = (METADATA_KEY, DESCRIBE_CLUSTER_KEY)


def response_for(reaction: Reaction, profile: Profile) -> ApiVersionsResponse:
    """Return the body of the ApiVersions response of this release for a reaction."""
    if reaction.listing is Listing.ITSELF:
        table: tuple[ApiVersion, ...] = (profile.own_range,)
    elif reaction.listing is Listing.EVERYTHING:
        table = profile.api_keys
    else:
        table = ()
    if reaction.listing is not Listing.EVERYTHING or reaction.response_version < FIRST_FLEXIBLE_VERSION:
        return ApiVersionsResponse(error_code=reaction.error_code, api_keys=table)
    zero_allowed = reaction.response_version >= FIRST_VERSION_WITH_ZERO_MINIMUM
    traits = profile.traits
    early = reaction.before_authentication
    epoch_sent = traits.epoch_sent_before_authentication if early else traits.epoch_sent
    return ApiVersionsResponse(
        error_code=reaction.error_code,
        api_keys=table,
        supported_features=tuple(
            feature for feature in profile.supported_features if zero_allowed or feature.min_version > 0
        ),
        finalized_features_epoch=0 if epoch_sent else -1,
        finalized_features=profile.finalized_features,
    )


@functools.lru_cache(maxsize=1024)
def encode_body(response: ApiVersionsResponse, version: int) -> bytes:
    """Encode the body of a response. It is cached, because a broker sends the same few responses repeatedly."""
    return encode(response, version=version)


def encode_step(
    reaction: Reaction,
    header: ParsedHeader | None,
    mechanisms: tuple[str, ...],
    *,
    token: bytes = b"",
) -> bytes:
    """Return the frame of the response to a step of SASL, whose header is None for a bare token."""
    if reaction.kind is AnswerKind.BARE_TOKEN:
        return encode_frame(token)
    assert header is not None
    if reaction.kind is AnswerKind.SASL_HANDSHAKE:
        api = SASL_HANDSHAKE
        listed = mechanisms if reaction.listing is Listing.EVERYTHING else ()
        message = api.response(error_code=reaction.error_code, mechanisms=listed)
    else:
        api = SASL_AUTHENTICATE
        message = api.response(error_code=reaction.error_code, error_message=None, auth_bytes=token)
    version = max(reaction.response_version, 0)
    return encode_frame(api.response_payload(message, version, header.correlation_id))


def answer_of_other_api(
    header: ParsedHeader, error_code: ErrorCode, identity: Identity, address: tuple[str, int]
) -> bytes:
    """Return the response of another API, without the correlation id: the default one, except where it lists brokers.

    Args:
        header: that of the request.
        error_code: the error code of the response.
        identity: the ids of the broker, the only one of its cluster; one that has none lists none.
        address: its host and port.
    """
    api_key, version = header.api_key, header.api_version
    cluster_id, node_id = identity.cluster_id, identity.node_id
    lists_brokers = api_key in _LISTING_BROKERS and error_code is ErrorCode.NONE
    if not lists_brokers or cluster_id is None or node_id is None:
        return refusal_of_other_api(api_key, version, error_code)
    return _list_of_brokers(api_key, version, cluster_id, (node_id, *address))


@functools.lru_cache(maxsize=1024)
def _list_of_brokers(api_key: int, api_version: int, cluster_id: str, node: NodeAddress) -> bytes:
    api = CLUSTER_APIS[api_key]
    message = cluster_response(api, api.request(), nodes=[node], cluster_id=cluster_id)
    header = NO_TAGS if api.response_header_version(api_version) else b""
    return header + encode(message, version=api_version)


def refusal_of_other_api(api_key: int, api_version: int, error_code: ErrorCode) -> bytes:
    """Return the default response of another API with this error code, without the correlation id.

    If the API's responses have no error code at the top level, as for Metadata, the default response is returned
    unchanged. It is empty if no default response is known.
    """
    answer, at = default_answers().get((api_key, api_version), (b"", None))
    if at is None:
        return answer
    return answer[:at] + primitives.write_int16(error_code) + answer[at + 2 :]
