"""The MUST that one response to a request of ApiVersions violates.

It does not matter which property sent the request.

Only what the sources leave no broker a choice about counts: layouts of refusals, punctuation at an edge of a name, the
order of the checks, and closing after a refusal are pinned for Apache Kafka alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from clauses.catalogue import Level, catalogue
from conformance.assertions.asserting import assert_error, assert_same_table
from conformance.assertions.clause_ids import (
    CORRELATION_ID_ECHOED,
    ERROR_CODE_FIRST,
    EVERY_ADVERTISED_VERSION_SERVED,
    NAMES_ACCEPTED,
    NAMES_REFUSED,
    NEITHER_GIVEN,
    OLDER_VERSIONS_UNCHANGED,
    OLDER_VERSIONS_UNCHECKED,
    SAME_TABLE_AT_EVERY_VERSION,
    SIZE_PREFIX_EXACT,
    TABLE_BEFORE_AUTHENTICATION,
    UNKNOWN_VERSION_GIVES_35,
    UNSUPPORTED_RANGE_IS_TRUE,
    UNSUPPORTED_VERSION_ANSWERED_IN_V0,
    UNSUPPORTED_VERSION_NAMES_RANGE,
    V0_ALWAYS_SERVED,
    V3_BODY_FLEXIBLE,
    WELL_FORMED_NEVER_CLOSED,
)
from conformance.assertions.correlation_ids import assert_own_ids
from conformance.assertions.decoding import decode_answer, error_code_of, key_ranges
from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer, ResponseFault
from conformance.assertions.plain_controls import is_served_after_login
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from reference_model.broker.rules.request_parser import is_valid_name
from reference_model.judging.flexible_headers import response_after_tag_section
from reference_model.profiles.listeners import BROKER_LISTENERS
from strategies.cluster_ids import Ids
from strategies.field_values import Software, is_illegal_text
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    NO_NODE,
    ApiVersionsRequest,
)
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Request, Step, encode_request
from wire.headers import InstanceIdHeader, read_error_code


class ViolatedMust(NamedTuple):
    """How a response violates a MUST.

    Attributes:
        clause: its id.
        error: what is wrong.
    """

    clause: str
    error: AssertionError


class ViolatesAnother(JudgedElsewhere):
    """Violation of a clause that does not belong to the property of the example.

    The clause's own properties may not meet the violation.

    Attributes:
        clause: id of the violated clause.
        violation: what is wrong.
        steps: what shows it; empty if the example does.
    """

    def __init__(self, reason: str, *, clause: str, violation: AssertionError, steps: Sequence[Step] = ()) -> None:
        super().__init__(reason)
        self.clause = clause
        self.violation = violation
        self.steps = tuple(steps)


def clause_of_plain(broker: Broker, plain: MalformedAnswer) -> str:
    """Return the clause that the response to a plain request violates."""
    exchange = plain.exchange
    try:
        highest = broker.max_version
    except HarnessError:
        # Nothing else is judged without a readable table.
        return V0_ALWAYS_SERVED
    if plain.fault is ResponseFault.NOT_KEPT:
        return WELL_FORMED_NEVER_CLOSED
    if plain.fault is ResponseFault.OTHER_ID:
        return CORRELATION_ID_ECHOED
    version = exchange.request.api_version
    if plain.fault is ResponseFault.FRAME and 0 <= version <= highest:
        return SIZE_PREFIX_EXACT
    is_served = 0 <= version <= highest and plain.fault is not ResponseFault.SURPLUS
    if is_served and is_served_after_login(broker, version):
        return TABLE_BEFORE_AUTHENTICATION
    if version == 0 and plain.fault is not ResponseFault.SURPLUS:
        return V0_ALWAYS_SERVED
    if version < 0:
        # No other clause is about negative versions.
        return "KIP-35.negative-version-gives-35"
    if plain.fault is ResponseFault.NO_ERROR_CODE:
        return ERROR_CODE_FIRST
    if version > highest:
        return _clause_of_refused(plain)
    # The sweep that judges every version of other listeners authenticates first.
    whole = TABLE_BEFORE_AUTHENTICATION if broker.asks_for_authentication else EVERY_ADVERTISED_VERSION_SERVED
    return _clause_of_served(plain, whole)


def _clause_of_served(plain: MalformedAnswer, every_version: str) -> str:
    version = plain.exchange.request.api_version
    if plain.fault is ResponseFault.SURPLUS:
        return SIZE_PREFIX_EXACT
    if plain.fault is ResponseFault.NO_ANSWER or version < FIRST_FLEXIBLE_VERSION:
        return every_version
    return V3_BODY_FLEXIBLE


def _clause_of_refused(plain: MalformedAnswer) -> str:
    if plain.fault in (ResponseFault.NO_ANSWER, ResponseFault.FRAME):
        return UNKNOWN_VERSION_GIVES_35
    payload = plain.exchange.payload or b""
    flexible = response_after_tag_section(plain.exchange.request, payload)
    code = read_error_code(payload) if flexible is None else flexible.error_code
    if code is None:
        return ERROR_CODE_FIRST
    # A version that is served instead is not written in the layout of a refusal either.
    is_refusal = code == ErrorCode.UNSUPPORTED_VERSION
    return UNSUPPORTED_VERSION_ANSWERED_IN_V0 if is_refusal else UNKNOWN_VERSION_GIVES_35


def fault_of(check: Callable[..., object], *values: object, **named: object) -> MalformedAnswer | None:
    """Return how a check of a response fails; None if it does not."""
    try:
        check(*values, **named)
    except MalformedAnswer as fault:
        return fault
    return None


class _RequiredCode(NamedTuple):
    """The error code that a request in a served version has to get.

    Attributes:
        code: the code; NONE if the request has to be served.
        clause: the MUST that another code violates, unless `_clause_of_code` knows a narrower one.
    """

    code: ErrorCode
    clause: str


def violated_must(broker: Broker, exchange: Exchange) -> ViolatedMust | None:
    """Return the MUST that the response to a well-formed request violates; None if it violates none.

    A request without a response is not judged here: why there is none depends on what else the connection carries.
    """
    if not _is_well_formed(exchange.request) or exchange.payload is None:
        return None
    fault = fault_of(assert_own_ids, [exchange])
    if fault is not None:
        return _of_must(broker, CORRELATION_ID_ECHOED, fault)
    version = exchange.request.api_version
    if version < 0:
        return None
    judge = _of_served if version <= broker.max_version else _of_unserved
    return judge(broker, exchange)


def is_never_refused(broker: Broker, request: Request) -> bool:
    """Return whether a well-formed request of ApiVersions gives a target no reason to refuse it but its version."""
    if not _is_well_formed(request) or request.api_version < 0:
        return False
    if request.api_version > broker.max_version:
        return True
    due = _due(broker, request)
    return due is not None and due.code is ErrorCode.NONE


def _is_well_formed(request: Request) -> bool:
    """Return whether a request is one of ApiVersions with nothing after its body."""
    body = request.body
    if request.api_key != API_VERSIONS_KEY or isinstance(request.header, InstanceIdHeader):
        return False
    is_whole = isinstance(body, ApiVersionsRequest) and not request.broken
    return is_whole and request.data == encode_request(request.header, body or b"").data


def _of_must(broker: Broker, clause: str, error: AssertionError) -> ViolatedMust | None:
    """Return a violation if the clause binds the target whatever product it is."""
    entry = catalogue()[clause]
    binds = entry.level is Level.MUST and entry.applies_at(broker.max_version)
    return ViolatedMust(clause, error) if binds else None


def _of_unserved(broker: Broker, exchange: Exchange) -> ViolatedMust | None:
    """Return what is wrong with the refusal of a version that the target does not serve."""
    fault = fault_of(assert_error, exchange, ErrorCode.UNSUPPORTED_VERSION)
    if fault is not None:
        is_other = fault.fault is ResponseFault.OTHER_ERROR
        return _of_must(broker, UNKNOWN_VERSION_GIVES_35 if is_other else clause_of_plain(broker, fault), fault)
    fault = fault_of(decode_answer, exchange, api_version=0)
    if fault is not None:
        return _of_must(broker, UNSUPPORTED_VERSION_ANSWERED_IN_V0, fault)
    named = key_ranges(decode_answer(exchange, api_version=0)).get(API_VERSIONS_KEY)
    if named is None:
        return _of_must(broker, UNSUPPORTED_VERSION_NAMES_RANGE, AssertionError("ApiVersions is not listed"))
    listed = _own_table(broker).get(API_VERSIONS_KEY)
    if listed not in (None, named):
        text = f"the refusal names {named}, the table lists {listed}"
        return _of_must(broker, UNSUPPORTED_RANGE_IS_TRUE, AssertionError(text))
    return None


def _of_served(broker: Broker, exchange: Exchange) -> ViolatedMust | None:
    """Return what is wrong with the response to a version that the target serves."""
    due = _due(broker, exchange.request)
    if due is None:
        return None
    fault = fault_of(assert_error, exchange, due.code)
    if fault is not None and fault.fault is ResponseFault.OTHER_ERROR:
        clause = _clause_of_code(exchange, due)
        return _of_must(broker, clause, fault) if clause else None
    if due.code is not ErrorCode.NONE:
        # The layout of a refusal is pinned for Apache Kafka alone.
        return None
    fault = fault or fault_of(decode_answer, exchange, api_version=exchange.request.api_version)
    if fault is not None:
        return _of_must(broker, clause_of_plain(broker, fault), fault)
    plain = broker.plain_exchange(0)
    if fault_of(decode_answer, plain, api_version=0) is not None:
        return None
    try:
        answer = decode_answer(exchange, api_version=exchange.request.api_version)
        assert_same_table(answer, decode_answer(plain, api_version=0), "in v0")
    except AssertionError as error:
        return _of_must(broker, SAME_TABLE_AT_EVERY_VERSION, error)
    return None


def _own_table(broker: Broker) -> Mapping[int, tuple[int, int]]:
    """Return the table that the target sends to a plain request of v0; empty if it cannot be read."""
    plain = broker.plain_exchange(0)
    if fault_of(decode_answer, plain, api_version=0) is not None:
        return {}
    return key_ranges(decode_answer(plain, api_version=0))


def _due(broker: Broker, request: Request) -> _RequiredCode | None:
    """Return the expected result of a request in a served version.

    Return None if the sources leave it open, or if the suite does not know it.
    """
    body, version = request.body, request.api_version
    assert isinstance(body, ApiVersionsRequest)
    if version < FIRST_FLEXIBLE_VERSION:
        return _RequiredCode(ErrorCode.NONE, "" if version else V0_ALWAYS_SERVED)
    software = Software(body.client_software_name, body.client_software_version)
    ids = Ids(body.cluster_id, body.node_id)
    has_ids = version >= FIRST_VERSION_WITH_CLUSTER_CHECK and ids != Ids()
    if any(map(is_illegal_text, software)):
        # Of two faults, no source says which is reported.
        return None if has_ids else _RequiredCode(ErrorCode.INVALID_REQUEST, NAMES_REFUSED)
    if not all(map(is_valid_name, software)):
        return None
    if has_ids:
        return _due_to_ids(broker, ids)
    return _RequiredCode(ErrorCode.NONE, "")


def _due_to_ids(broker: Broker, ids: Ids) -> _RequiredCode | None:
    if (ids.cluster_id is None) is not (ids.node_id == NO_NODE):
        return _RequiredCode(ErrorCode.INVALID_REQUEST, "KIP-1242.only-one-given")
    own = broker.identity
    if None in (own.cluster_id, own.node_id) or broker.listener not in BROKER_LISTENERS:
        return None
    if ids.cluster_id != own.cluster_id:
        return _RequiredCode(ErrorCode.REBOOTSTRAP_REQUIRED, "KIP-1242.wrong-cluster")
    if ids.node_id != own.node_id:
        return _RequiredCode(ErrorCode.REBOOTSTRAP_REQUIRED, "KIP-1242.wrong-node")
    return _RequiredCode(ErrorCode.NONE, "KIP-1242.both-match")


def _clause_of_code(exchange: Exchange, due: _RequiredCode) -> str:
    """Return the MUST that a wrong error code violates; empty if there is none about it."""
    code, version = error_code_of(exchange), exchange.request.api_version
    if code is ErrorCode.UNSUPPORTED_VERSION:
        return ERROR_CODE_FIRST if version else V0_ALWAYS_SERVED
    if code is ErrorCode.INVALID_REQUEST and version < FIRST_FLEXIBLE_VERSION:
        return OLDER_VERSIONS_UNCHANGED
    if code is ErrorCode.REBOOTSTRAP_REQUIRED and version < FIRST_VERSION_WITH_CLUSTER_CHECK:
        return OLDER_VERSIONS_UNCHECKED
    if due.clause:
        return due.clause
    narrower = {
        ErrorCode.INVALID_REQUEST: NAMES_ACCEPTED,
        ErrorCode.REBOOTSTRAP_REQUIRED: NEITHER_GIVEN,
    }
    return narrower.get(code, "") if version >= FIRST_FLEXIBLE_VERSION else ""
