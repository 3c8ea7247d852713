"""The words in which the properties of brokers that follow KIP-1313 are written.

A property module imports all of them, and nothing else but the standard library, pytest and Hypothesis.
"""

from __future__ import annotations

# What is asserted, and how it is judged
from conformance.assertions.asserting import assert_error
from conformance.assertions.client_software import SLOWEST_LOG_S, fresh_name
from conformance.assertions.decoding import decode_answer, payload_of
from conformance.assertions.errors import Unjudged

# What is judged
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker

# The proposal
from proposals.kip_1313.assertions import (
    OLD_VERSIONS,
    api_of_first,
    apis_without_instance_id,
    ask_with_id,
    assert_refused,
    assert_served,
    assume_logged_in,
    assume_served,
    claims_instance_ids,
    error_in,
    in_allowed_order,
    in_v0,
    lists,
    login,
    message_in,
    newest_api_versions,
    token_request,
    with_id,
    without_id,
)
from proposals.kip_1313.messages import OFFSET_DELETE_KEY, PUSH_TELEMETRY, PUSH_TELEMETRY_KEY, TELEMETRY_KEYS
from proposals.kip_1313.old_telemetry import id_made, is_returned, noted_of_others, unseen_id
from proposals.kip_1313.requests import (
    AN_ID,
    ANOTHER_ID,
    InstanceIdRequest,
    instance_id_requests,
    instance_ids,
    plain_instance_id_requests,
    requests_of_any_header,
    sasl_handshake,
    telemetry_v0,
)

# What is allowed
from reference_model.profiles.listeners import LISTENERS, PLAINTEXT, SASL_LISTENERS

# What is drawn
from strategies.api_versions import build_request

# Kafka's protocol
from wire.api_keys import API_VERSIONS_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import NEWEST_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Request
from wire.headers import NO_INSTANCE_ID
from wire.primitives import INT16_MAX, TaggedField
