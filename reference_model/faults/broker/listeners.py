"""Defects on particular listeners, and of the throttle.

The listener defects are before authentication, around TLS, and on the controller.
"""

from __future__ import annotations

import dataclasses

from reference_model.broker.model.fault_injection import RequestContext, TlsOpening
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.faults.broker.kip_511 import accept_cleaned_name
from reference_model.faults.broker.registry import defect
from reference_model.faults.broker.sasl import came_in_by_scram
from reference_model.profiles.listeners import (
    CONTROLLER,
    CONTROLLER_LISTENERS,
    PLAINTEXT,
    SASL_LISTENERS,
    TLS_LISTENERS,
    TLS_WITHOUT_SASL_LISTENERS,
)
from reference_model.profiles.profile import profile_of
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, THROTTLE_TIME_BYTES, ApiVersion
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame

TLS_HANDSHAKE_RECORD = 0x16


def _early(context: RequestContext) -> bool:
    """Return whether the connection still has to authenticate."""
    return context.state is ConnectionState.BEFORE_HANDSHAKE


def _without_last(table: tuple[ApiVersion, ...]) -> tuple[ApiVersion, ...]:
    """Return the table without its last entry, not counting the one of ApiVersions."""
    others = [entry for entry in table if entry.api_key != API_VERSIONS_KEY]
    return tuple(entry for entry in table if entry is not others[-1])


def _with_lower_maximum(table: tuple[ApiVersion, ...]) -> tuple[ApiVersion, ...]:
    """Return the table with the maximum of every multi-version entry lowered by one, except ApiVersions."""
    return tuple(
        dataclasses.replace(entry, max_version=entry.max_version - 1)
        if entry.api_key != API_VERSIONS_KEY and entry.max_version > entry.min_version
        else entry
        for entry in table
    )


@defect(Stage.REACTION, "KIP-35.table-before-authentication")
def api_versions_is_unsupported_before_authentication(context: RequestContext) -> None:
    """Before authentication, every version that is served gets UNSUPPORTED_VERSION in the layout of v0."""
    if _early(context) and context.succeeds:
        context.replace_reaction(error_code=ErrorCode.UNSUPPORTED_VERSION, response_version=0)


@defect(Stage.RESPONSE, "KIP-35.table-before-authentication")
def tables_have_an_error_before_authentication(context: RequestContext) -> None:
    """Before authentication, the complete table comes with ILLEGAL_SASL_STATE."""
    if _early(context) and context.succeeds:
        context.replace_response(error_code=ErrorCode.ILLEGAL_SASL_STATE)


@defect(Stage.REACTION, "KIP-35.table-before-authentication")
def flexible_versions_close_before_authentication(context: RequestContext) -> None:
    """Before authentication, a flexible version that is served closes the connection."""
    if _early(context) and context.succeeds and context.version >= FIRST_FLEXIBLE_VERSION:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "KIP-35.table-before-authentication")
def flexible_tables_are_shorter_before_authentication(context: RequestContext) -> None:
    """Before authentication, the table of v3 and later lacks an entry."""
    if _early(context) and context.succeeds and context.version >= FIRST_FLEXIBLE_VERSION:
        context.replace_response(api_keys=_without_last(context.message.api_keys))


@defect(Stage.RESPONSE, "KIP-35.table-before-authentication")
def v1_tables_are_lower_before_authentication(context: RequestContext) -> None:
    """Before authentication, the table of v1 has lower maxima."""
    if _early(context) and context.succeeds and context.version == 1:
        context.replace_response(api_keys=_with_lower_maximum(context.message.api_keys))


@defect(Stage.RESPONSE, "KIP-35.table-before-authentication")
def flexible_tables_are_shorter_behind_scram(context: RequestContext) -> None:
    """After authentication with SCRAM, the table of v3 and later lacks an entry."""
    flexible = context.version >= FIRST_FLEXIBLE_VERSION
    if came_in_by_scram(context) and context.succeeds and flexible:
        context.replace_response(api_keys=_without_last(context.message.api_keys))


@defect(Stage.RESPONSE, "KIP-35.table-before-authentication", "KIP-35.same-table-at-every-version")
def v0_tables_are_shorter_before_authentication(context: RequestContext) -> None:
    """Before authentication, the table of v0 lacks an entry."""
    if _early(context) and context.succeeds and context.version == 0:
        context.replace_response(api_keys=_without_last(context.message.api_keys))


@defect(
    Stage.RESPONSE,
    "KIP-511.same-rules-before-authentication",
    "KIP-511.unsupported-version-names-range",
)
def refused_versions_get_no_range_before_authentication(context: RequestContext) -> None:
    """Before authentication, UNSUPPORTED_VERSION comes with an empty table."""
    if _early(context) and context.refuses_version:
        context.replace_response(api_keys=())


@defect(Stage.REACTION, "KIP-511.same-rules-before-authentication", "KIP-511.names-refused")
def underscores_pass_before_authentication(context: RequestContext) -> None:
    """Before authentication, a client software name may contain underscores."""
    if _early(context):
        accept_cleaned_name(context, lambda name: name.replace("_", "x"))


@defect(Stage.REACTION, "KIP-511.same-rules-before-authentication", "KIP-511.edge-punctuation")
def hyphens_in_front_pass_before_authentication(context: RequestContext) -> None:
    """Before authentication, a client software name may begin with a hyphen."""
    if _early(context):
        accept_cleaned_name(context, lambda name: name.replace("-", "x"))


@defect(Stage.TLS, "KIP-35.nothing-before-tls")
def tls_listeners_serve_without_tls(opening: TlsOpening) -> None:
    """A TLS listener serves a client that speaks Kafka's protocol without TLS."""
    opening.serves_plaintext = opening.first_bytes[:1] != bytes([TLS_HANDSHAKE_RECORD])


@defect(Stage.RESPONSE, "KIP-35.nothing-before-tls")
def tables_behind_tls_are_shorter(context: RequestContext) -> None:
    """On TLS listeners the table lacks an entry."""
    if context.broker.profile.listener in TLS_LISTENERS and context.succeeds:
        context.replace_response(api_keys=_without_last(context.message.api_keys))


@defect(Stage.RESPONSE, "KIP-35.nothing-before-tls")
def tables_behind_tls_are_lower(context: RequestContext) -> None:
    """On TLS listeners the table has lower maxima."""
    if context.broker.profile.listener in TLS_LISTENERS and context.succeeds:
        context.replace_response(api_keys=_with_lower_maximum(context.message.api_keys))


@defect(Stage.TLS, "KIP-35.nothing-before-tls")
def requests_during_the_handshake_are_served(opening: TlsOpening) -> None:
    """A TLS listener serves an unencrypted request that comes after the beginning of a handshake."""
    opening.plaintext_after_hello = opening.first_bytes[:1] == bytes([TLS_HANDSHAKE_RECORD])


@defect(Stage.TLS, "KIP-35.nothing-before-tls")
def requests_inside_tls_1_2_are_refused(opening: TlsOpening) -> None:
    """A client that speaks TLS 1.2 completes its handshake, but its first request closes the connection."""
    opening.refused_version = "TLSv1.2"


@defect(Stage.TLS, "PROTOCOL.tls-split-independent")
def tls_records_with_a_cut_header_are_refused(opening: TlsOpening) -> None:
    """A TLS record whose header comes in several segments closes the connection."""
    opening.header_must_be_whole = True


@defect(Stage.TLS, "PROTOCOL.tls-split-independent")
def many_tls_records_at_once_are_not_all_read(opening: TlsOpening) -> None:
    """Of many TLS records of one byte that come together, eight are read; the others wait until more bytes come."""
    opening.most_tiny_records = 8


@defect(Stage.TLS, "PROTOCOL.tls-split-independent")
def tls_records_in_many_segments_are_refused(opening: TlsOpening) -> None:
    """A TLS record that comes in more than two segments closes the connection."""
    opening.most_pieces = 2


@defect(Stage.TLS, "KIP-35.client-certificate-guards-table")
def client_certificates_of_other_authorities_pass(opening: TlsOpening) -> None:
    """A client certificate of an authority that the broker does not trust is accepted."""
    opening.accepts_foreign = True


@defect(Stage.TLS, "KIP-35.client-certificate-guards-table")
def expired_client_certificates_pass(opening: TlsOpening) -> None:
    """A client certificate that is out of date is accepted."""
    opening.accepts_expired = True


@defect(Stage.TLS, "KIP-35.client-certificate-guards-table")
def client_certificates_are_not_asked_for(opening: TlsOpening) -> None:
    """The listener that has to require a client certificate does not."""
    opening.certificate_required = False


@defect(Stage.TLS, "KIP-35.client-certificate-guards-table")
def one_client_certificate_opens_the_door_to_all(opening: TlsOpening) -> None:
    """No client certificate is required while another connection is open."""
    if opening.open_connections > 1:
        opening.certificate_required = False


@defect(Stage.TLS, "KIP-35.client-certificate-guards-table")
def client_certificates_are_not_asked_for_in_a_crowd(opening: TlsOpening) -> None:
    """No client certificate is required while at least two other connections are open."""
    if opening.open_connections > 2:
        opening.certificate_required = False


@defect(Stage.RESPONSE, "KIP-35.controller-listener-table", "KIP-35.every-advertised-version-served")
def controllers_show_the_table_of_brokers(context: RequestContext) -> None:
    """The controller listener advertises the table of a broker listener."""
    if context.broker.profile.listener == CONTROLLER and context.succeeds:
        release = context.broker.profile.release
        context.replace_response(api_keys=profile_of(release, listener=PLAINTEXT).api_keys)


@defect(Stage.RESPONSE, "KIP-35.controller-listener-table", "KIP-35.keys-unique")
def a_key_stands_twice_on_controllers(context: RequestContext) -> None:
    """The table of the controller listener contains its last entry twice."""
    if context.broker.profile.listener == CONTROLLER and context.succeeds:
        context.replace_response(api_keys=context.message.api_keys + context.message.api_keys[-1:])


@defect(Stage.RESPONSE, "KIP-35.controller-listener-table", "KIP-35.same-table-at-every-version")
def flexible_tables_are_shorter_on_controllers(context: RequestContext) -> None:
    """In v3 and later the table of the controller listener lacks an entry."""
    if context.broker.profile.listener != CONTROLLER or not context.succeeds:
        return
    if context.version >= FIRST_FLEXIBLE_VERSION:
        context.replace_response(api_keys=_without_last(context.message.api_keys))


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def flexible_answers_have_a_negative_throttle_time(context: RequestContext) -> None:
    """The throttle time of a response from v3 on is -1."""
    if context.succeeds and context.reaction.response_version >= FIRST_FLEXIBLE_VERSION:
        context.replace_response(throttle_time_ms=-1)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def v2_answers_have_a_negative_throttle_time(context: RequestContext) -> None:
    """The throttle time of a v2 response is -1."""
    if context.succeeds and context.version == 2:
        context.replace_response(throttle_time_ms=-1)


@defect(Stage.ANSWER, "KIP-35.throttle-time", "PROTOCOL.size-prefix-exact")
def v0_answers_have_a_throttle_time(context: RequestContext) -> None:
    """A v0 response ends with a throttle time."""
    if context.answer and context.succeeds and context.version == 0:
        context.answer = encode_frame(context.answer[SIZE_BYTES:] + bytes(THROTTLE_TIME_BYTES))


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def limited_clients_are_not_told(context: RequestContext) -> None:
    """The response to a throttled client has a throttle time of 0."""
    if context.pause is not None:
        context.replace_response(throttle_time_ms=0)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def limited_clients_are_held_back_before_the_answer(context: RequestContext) -> None:
    """A throttled client gets its response only after the pause."""
    if context.pause is not None:
        context.pause = dataclasses.replace(context.pause, before_answer=True)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def limited_v0_clients_are_held_back_before_the_answer(context: RequestContext) -> None:
    """A throttled client that uses v0 gets its response only after the pause."""
    if context.pause is not None and context.version == 0:
        context.pause = dataclasses.replace(context.pause, before_answer=True)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def limited_v0_clients_are_not_held_back(context: RequestContext) -> None:
    """A client that uses v0 is never throttled."""
    if context.version == 0:
        context.pause = None


@defect(Stage.RESPONSE, "KIP-35.throttle-time", listeners=TLS_WITHOUT_SASL_LISTENERS)
def limited_clients_are_not_told_over_tls(context: RequestContext) -> None:
    """Over TLS the response to a throttled client has a throttle time of 0."""
    if context.pause is not None:
        context.replace_response(throttle_time_ms=0)


@defect(Stage.RESPONSE, "KIP-35.throttle-time", listeners=SASL_LISTENERS)
def limited_users_are_not_held_back(context: RequestContext) -> None:
    """A client that has authenticated gets a throttle time, but is answered during it."""
    context.pause = None


@defect(Stage.RESPONSE, "KIP-35.throttle-time", listeners=CONTROLLER_LISTENERS)
def controllers_hold_back_before_the_answer(context: RequestContext) -> None:
    """On the controller listener a throttled client gets its response only after the pause."""
    if context.pause is not None:
        context.pause = dataclasses.replace(context.pause, before_answer=True)


@defect(Stage.ANSWER, "KIP-35.throttle-time")
def requests_during_the_pause_are_lost(context: RequestContext) -> None:
    """What a throttled client sends before its pause is over gets no response."""
    memory = context.connection.memory
    if memory.get("paused"):
        context.answer = b""
    memory["paused"] = context.pause is not None
