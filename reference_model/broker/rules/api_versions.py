"""Rules of a broker that serves the connection: ApiVersions and other APIs.

They return the broker's reactions.
"""

from __future__ import annotations

import re
from dataclasses import replace

from reference_model.broker.rules.reaction import (
    AnswerKind,
    Choice,
    Identity,
    Listing,
    NotModelled,
    Reaction,
    closed,
)
from reference_model.broker.rules.request_parser import (
    ParsedBody,
    ParsedHeader,
    Unreadable,
    gets_no_response,
    other_api_reads,
    parse_body,
    parse_header,
)
from reference_model.profiles.profile import Profile
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.headers import read_request_start

SKIPPED_FRAME_BYTES = 2
"""Releases that skip short frames skip those below this size."""


def reactions_of_broker(payload: bytes, profile: Profile, identity: Identity) -> tuple[Reaction, ...]:
    """Return all allowed reactions to one frame on a connection that the broker serves.

    Raises:
        NotModelled: the request is for another API, and the model cannot decide whether Kafka can parse it.
    """
    traits = profile.traits
    if len(payload) < SKIPPED_FRAME_BYTES and traits.short_frame_ignored:
        return (Reaction(outcome=Outcome.IGNORED, clause="PROTOCOL.short-frame-refused"),)
    data = memoryview(payload)
    try:
        header = parse_header(data, traits)
    except Unreadable as error:
        if profile.skips_unreadable(read_request_start(payload).api_key):
            return (Reaction(outcome=Outcome.IGNORED, clause="PROTOCOL.short-frame-refused"),)
        return (closed("PROTOCOL.short-frame-refused", unreadable=str(error)),)
    if header.api_key != API_VERSIONS_KEY:
        return _reactions_to_other_api(data, header, profile)
    usual: tuple[Reaction, ...] = (unsupported(profile),)
    if 0 <= header.api_version <= traits.api_versions_max:
        checked = identity if traits.ids_checked else None
        usual = reactions_to_served_version(data, header, profile, checked)
    forbidden = traits.unanswered_client_ids
    if forbidden and re.search(forbidden, header.client_id or ""):
        silent = Reaction(outcome=Outcome.SILENT, clause="PROTOCOL.client-id-free")
        return tuple(replace(each, reason=Choice.CLIENT_ID_USED_BEFORE) for each in (silent, *usual))
    return usual


def _reactions_to_other_api(data: memoryview, header: ParsedHeader, profile: Profile) -> tuple[Reaction, ...]:
    if not profile.served_keys:
        raise NotModelled(f"no recorded table of {profile.release} lists other APIs")
    if not profile.accepts(header.api_key, header.api_version):
        return (closed("PROTOCOL.unknown-api-refused"),)
    if gets_no_response(data, header):
        return (
            Reaction(
                outcome=Outcome.IGNORED,
                clause="PROTOCOL.no-response-to-acks-0",
                kind=AnswerKind.OTHER,
                response_version=header.api_version,
            ),
        )
    if other_api_reads(data, header):
        return (
            Reaction(
                clause="KIP-35.every-advertised-version-served",
                kind=AnswerKind.OTHER,
                response_version=header.api_version,
            ),
        )
    raise NotModelled(f"api key {header.api_key} v{header.api_version} is not modelled")


def unsupported(profile: Profile) -> Reaction:
    """Return the reaction UNSUPPORTED_VERSION in the form that the release uses."""
    listing = Listing.ITSELF if profile.traits.unsupported_names_range else Listing.NOTHING
    clause = "KIP-511.unsupported-version-answered-in-v0"
    return Reaction(clause=clause, error_code=ErrorCode.UNSUPPORTED_VERSION, listing=listing)


def reactions_to_served_version(
    data: memoryview, header: ParsedHeader, profile: Profile, identity: Identity | None
) -> tuple[Reaction, ...]:
    """Return all allowed reactions to an ApiVersions request in a version that the broker supports."""
    if header.api_version < FIRST_FLEXIBLE_VERSION:
        return (_success(header),)
    try:
        body = parse_body(data, header, profile.traits)
    except Unreadable as error:
        return (closed("KIP-511.null-name-refused", unreadable=str(error)),)
    if body.ids_are_half_given or not body.name_is_valid:
        refused_name = Reaction(
            clause="KIP-511.refusal-in-request-version",
            error_code=ErrorCode.INVALID_REQUEST,
            response_version=header.api_version,
        )
        return (refused_name,)
    return _reactions_to_ids(header, body, identity)


def _success(header: ParsedHeader, *, reason: Choice | None = None) -> Reaction:
    return Reaction(
        clause="KIP-35.same-table-at-every-version",
        response_version=header.api_version,
        listing=Listing.EVERYTHING,
        reason=reason,
    )


def _reactions_to_ids(header: ParsedHeader, body: ParsedBody, identity: Identity | None) -> tuple[Reaction, ...]:
    mismatch = False if identity is None else identity.mismatch(body)
    reason = Choice.IDS_UNKNOWN if mismatch is None else None
    wrong_ids = Reaction(
        clause="KIP-1242.refusal-shape",
        error_code=ErrorCode.REBOOTSTRAP_REQUIRED,
        response_version=header.api_version,
        reason=reason,
    )
    if mismatch is None:
        return (_success(header, reason=reason), wrong_ids)
    return (wrong_ids,) if mismatch else (_success(header),)
