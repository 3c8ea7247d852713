"""The words in which properties of brokers and proxies are written.

A property module imports all of them, and nothing else but the standard library, pytest and Hypothesis.
"""

from __future__ import annotations

# What is asserted, and how it is judged
from conformance.assertions.answers_after import (
    answer_after,
    illegal_like,
    plain_like,
    success_after,
    unless_explained_by_earlier,
)
from conformance.assertions.asserting import (
    assert_answered,
    assert_error,
    assert_kept,
    assert_refused,
    assert_rule,
    assert_same_table,
    fate_of,
)
from conformance.assertions.assuming import assume_seen, assume_served, assume_unserved, request_above, right_ids
from conformance.assertions.clause_ids import EVERY_ADVERTISED_VERSION_SERVED, MALFORMED_HURTS_NOBODY
from conformance.assertions.client_software import (
    NO_ENTRY,
    SLOWEST_LOG_S,
    bean_problem,
    entry_problem,
    fresh_name,
    reading_request,
)
from conformance.assertions.contradictions import Deviation
from conformance.assertions.correlation_ids import assert_own_ids
from conformance.assertions.decoding import (
    answer_after_flexible_header,
    bytes_after_body,
    decode_answer,
    decode_elsewhere,
    error_code_of,
    key_ranges,
    payload_of,
)
from conformance.assertions.epochs import assert_epoch_never_fell
from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer, ResponseFault, Unjudged, violation_context
from conformance.assertions.explanations import ILLEGAL_SOFTWARE, first_unanswered
from conformance.assertions.features import (
    FeatureList,
    assert_features_as_on,
    assert_same_levels,
    responses_at_one_epoch,
)
from conformance.assertions.finalizing import assert_levels_follow
from conformance.assertions.gated_apis import missing_feature
from conformance.assertions.histories import exchange_after
from conformance.assertions.items import Item, names_of, ranges
from conformance.assertions.logins import check_login, login_items
from conformance.assertions.lost_connections import assert_new_connections_served
from conformance.assertions.model_agreement import (
    ConversationRunner,
    agreement_of,
    as_read,
    assert_allowed,
    find_api,
    has_ended,
    has_refused_size,
    is_unfinished,
    model_of,
)
from conformance.assertions.neighbours import (
    MIN_AT_ONCE,
    STOPPED_BY_PART,
    assert_undisturbed,
    is_stopped_by_part,
    limits_connections,
    open_bystander,
    undisturbed,
)
from conformance.assertions.other_apis import (
    SLOWEST_ANSWER_S,
    advertised_items,
    advertised_table,
    api_for,
    check_not_served,
    check_served,
    check_supported,
    filled_table,
    is_requested,
    neighbouring_items,
    other_items,
    skipped_apis,
    steps_to_table,
    undescribed_items,
)
from conformance.assertions.pauses import assert_pauses_do_not_matter
from conformance.assertions.proxies import (
    arrived_unchanged,
    assert_ends_soon,
    assume_passed,
    names_that_arrived,
    upstream_table,
)
from conformance.assertions.read_only_apis import (
    assert_served_as_plain,
    codes_of_other_api,
    exchange_in_turn,
    flexible_items,
    listed_items,
    produce_items,
    read_only_items,
    request_of,
    request_with_body_tags,
    request_without_response,
    send_tagged,
    short_items,
    slow_items,
    slow_request_of,
    why_unserved,
)
from conformance.assertions.refusals import decode_success_or_refusal, is_plain
from conformance.assertions.related_ids import restricted_ids
from conformance.assertions.response_order import assert_all_answered, assert_in_order
from conformance.assertions.sendable_apis import request_to, why_skipped
from conformance.assertions.served_tables import assert_table, read_in_layout
from conformance.assertions.served_transactions import check_in_transaction, transactional_items
from conformance.assertions.superseded import check_not_superseded
from conformance.assertions.unlisted_apis import (
    MAX_UNANSWERED,
    check_unlisted,
    is_response_of_served,
    unanswered,
    unlisted_items,
    unlisted_skipped,
)
from conformance.corpus.entries import CorpusEntry, load_corpus
from conformance.corpus.entry_replay import Replay
from conformance.engine.examples_ahead import examples_at_once
from conformance.engine.judge_interface import Judge
from conformance.engine.property_judge import JUDGE
from conformance.engine.repeating import FailingExample
from conformance.engine.sweeping import SILENT_ITEMS, Sweep, oldest_and_newest, was_silent
from conformance.learning.alphabets import LARGE, SMALL
from conformance.learning.differences import costly_difference, shortest_difference, suite_of
from conformance.learning.querying import CostlyLetter, Listening
from conformance.learning.subjects import listening_to, machine_of_model, model_for

# What is judged
from fixtures.artefacts.schema_jars import catalogue_of
from fixtures.cleanup.ending_signals import INTERRUPTS
from fixtures.client.access import ClientCertificate
from fixtures.client.connection import Connection
from fixtures.client.tls_stream import TlsShape
from fixtures.client.transport import client_hello
from fixtures.errors import AuthenticationFailed, HarnessError, TlsRefused
from fixtures.kafka_setup.jolokia import ConnectionsBean, Counts, counts_of, deprecated_requests_of, gauges_of, keys_of
from fixtures.model_processes.tls import tls_records_size
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker

# What is allowed
from reference_model.broker.model.scram import SCRAM
from reference_model.broker.rules.api_versions import SKIPPED_FRAME_BYTES
from reference_model.broker.rules.oracle import reactions
from reference_model.broker.rules.reaction import NotModelled
from reference_model.broker.rules.request_parser import Unreadable, is_valid_name, skip_tags
from reference_model.judging.agreement import refuses
from reference_model.judging.outcome_texts import in_words, summary_of, what_followed, what_it_did
from reference_model.judging.same_response import StablePart, stable_part
from reference_model.judging.table_rules import (
    early_zero_minimums,
    repeated_keys,
    sent_defaults,
    unlisted_api_versions,
    unordered_ranges,
    unordered_tags,
    unsound_features,
)
from reference_model.profiles.listeners import (
    BROKER_LISTENERS,
    CLIENT_AUTH_LISTENERS,
    CONTROLLER_LISTENERS,
    HALF_CLOSING_LISTENERS,
    LISTENERS,
    PLAINTEXT,
    SASL_LISTENERS,
    SSL,
    SSL_CLIENT_AUTH,
    TLS_LISTENERS,
    TLS_WITHOUT_SASL_LISTENERS,
    UPSTREAM,
)
from reference_model.profiles.profile import Traits
from reports.command_line.extras import LEARNING, MissingExtra, check_extra
from reports.machines.learned import MAX_TEXT, Learned, MachineDifference, as_json
from reports.machines.machine import Machine, Outputs, Word
from reports.wording.escaping import printable

# What is drawn
from strategies.any_requests import any_requests, requests_with_two_faults
from strategies.api_versions import (
    FLEXIBLE_VERSIONS,
    UnservedRequest,
    api_versions_requests,
    body_with,
    build_request,
    negative_versions,
    unknown_versions,
    unserved_requests,
)
from strategies.broken_requests import (
    MAX_HARMLESS_SIZE,
    build_truncated,
    build_with_body_tag_section,
    build_with_compact_client_id,
    build_with_null_name,
    build_with_old_header,
    flexible_requests_with_old_header,
    frames_with_wrong_size,
    malformed_requests,
    requests_with_compact_client_id,
    requests_with_null_name,
    requests_with_tag_overrun,
)
from strategies.broken_sasl_steps import (
    TAGS_BEYOND_THE_FRAME,
    build_authenticate_of_length,
    build_authenticate_with_tags,
    build_handshake_of_length,
    build_token_of_frame,
)
from strategies.cluster_ids import (
    CLUSTER_ID_VARIANTS,
    HALF_GIVEN,
    MISROUTED,
    Given,
    Ids,
    build_request_with,
    cluster_id_variants,
    half_given_ids,
    ids_given,
    node_id_at,
    node_offsets,
    requests_with_cluster_ids,
)
from strategies.conversations import Conversation, Handshake, Message, PlainToken, Reconnect, Say, conversations
from strategies.field_values import (
    FIRST_TAG_NOBODY_KNOWS,
    MAX_TAGS_SERVED,
    MAX_VALUE,
    PLAIN_SOFTWARE,
    PLAINLY_ILLEGAL,
    ManyTags,
    Software,
    client_ids,
    correlation_ids,
    edge_punctuation_texts,
    illegal_software_texts,
    known_clients,
    legal_software,
    legal_software_texts,
    lengths_at_buffer_sizes,
    many_tags,
    named_client_ids,
    plain_client_ids,
    software_with_one,
    too_many_tags,
    unknown_tagged_fields,
)
from strategies.histories import ALONE, ConnectionHistory, Earlier, after, histories, in_one_write_with
from strategies.odd_frames import (
    build_cut_short,
    build_first_bytes,
    build_part,
    build_short_frame,
    build_whole_frame_of,
    build_with_frame_inside,
    build_with_size,
    first_bytes_of_other_protocols,
    frames_with_negative_size,
    frames_with_small_size,
    partial_frames,
    short_frames,
    surpluses,
)
from strategies.odd_requests import (
    BEYOND_THE_FRAME,
    CLUSTER_ID,
    NAMES,
    NOT_TEXT,
    ODD_LENGTH,
    PARTS,
    TOO_LONG,
    build_mixed,
    build_with_client_id_bytes,
    build_with_string,
    build_with_tag_section,
    build_with_tags,
    compact_string,
    names_with_wrong_text,
    odd_requests,
    requests_with_odd_client_id,
    requests_with_odd_string_lengths,
    requests_with_odd_varints,
    requests_with_tags_out_of_order,
    tag_sections_with_odd_varints,
)
from strategies.other_apis import (
    BROKER_HEARTBEAT,
    DESCRIBE_CONFIGS,
    ENVELOPE,
    LIST_GROUPS,
    METADATA,
    PASSED_KEYS,
    VOTE,
    PassedRequest,
    TaggedHeader,
    bare_requests,
    build_bare_request,
    build_with_key,
    distances,
    keys_like_api_versions,
    passed_requests,
    tagged_headers,
    whole_requests,
)
from strategies.refused_requests import HALF_AN_IDENTITY, ILLEGAL_NAME, WRONG_IDS, refused_requests
from strategies.weights import one_branch

# Kafka's protocol
from wire.api_keys import API_VERSIONS_KEY, DESCRIBE_CONFIGS_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    FIRST_VERSION_WITH_THROTTLE_TIME,
    NEWEST_VERSION,
    NO_NODE,
    THROTTLE_TIME_BYTES,
    ApiVersionsRequest,
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Request, Step, encode_request, probe_request
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, encode_frame, read_size
from wire.headers import CLIENT_ID_LENGTH_END, InstanceIdHeader, read_correlation_id
from wire.primitives import (
    INT16_MAX,
    INT16_MIN,
    INT32_MAX,
    NO_TAGS,
    UINT32_MAX,
    TaggedField,
    read_raw_tagged_fields,
    write_raw_tagged_fields,
    write_unsigned_varint,
)
from wire.request_log import UNKNOWN_SOFTWARE
from wire.sasl import handshake_request
