"""What a planted defect is, and what its module writes it with.

A defect is one function that changes one `Handling` (or, at `Stage.READ`, the answers of one read) and names
the clauses that it breaks. `--broker reference+<name>` runs the reference broker with it; exactly those clauses
must fail. `MODEL.*` may fail beside them, as every defect departs from the model.

What a defect gets depends on its stage; `Stage` lists them. What else one can reach from there:
- the listener: `handling.broker.profile.listener` ("plaintext", "sasl_plaintext", "ssl", "ssl_client_auth",
  "controller"), as each listener has a `ReferenceBroker` of its own with the listener's own table;
- authentication: `handling.state` says where the connection stood (`ConnectionState`: before the handshake,
  tokens, authenticated ...), `handling.reaction.kind` what is answered (ApiVersions or a step of SASL), and
  `handling.reaction.moves` what the answer does to the connection;
- TLS (`Stage.TLS`, a `TlsOpening`): the first bytes of a connection to "ssl" or "ssl_client_auth"; set
  `serves_plaintext` to speak Kafka's protocol without TLS, or `certificate_required` the other way;
- the throttle: a client id that begins with "throttled" has `handling.pause` set before `Stage.RESPONSE`; change
  or remove it there, or `throttle_time_ms` in the response;
- the metric and the log: `handling.connection.software` is what the connection is counted and logged under
  (change it at `Stage.ANSWER`); `Stage.METRIC` gets the counts of all listeners (`Counts`, a dict) each time
  that they are asked for, `Stage.LOG` each entry (a dict in Kafka's form) of the request log.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from reference_model.request_parser import ParsedBody, Unreadable, parse_body
from reference_model.state_machine import (
    AnswerKind,
    ConnectionState,
    Handling,
    Listing,
    Reaction,
    Stage,
    Tampering,
)
from wire import primitives
from wire.api_versions import API_VERSIONS_KEY, FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A planted defect.

    Attributes:
        name: what stands behind `reference+`.
        breaks: ids of the clauses that it violates.
        description: what it does wrong, in one sentence.
        tampering: how it does it.
    """

    name: str
    breaks: tuple[str, ...]
    description: str
    tampering: Tampering


CLIENT_ID_OFFSET = 8
"""Where the client id stands in every request header."""

DEFECTS: dict[str, Defect] = {}
"""Every planted defect, by name."""

Act = Callable[[Any], None]


STAGES_OF_A_FRAME = (Stage.REACTION, Stage.RESPONSE, Stage.ANSWER)


OPEN_LISTENERS = ("plaintext", "ssl", "ssl_client_auth")
"""Listeners of brokers that serve whoever has got in."""


def defect(
    stage: Stage, *breaks: str, every_api: bool = False, listeners: Collection[str] = ()
) -> Callable[[Act], Act]:
    """Register the decorated function, whose docstring says what it does wrong.

    Args:
        stage: when it acts.
        breaks: ids of the clauses that it violates.
        every_api: whether it acts on the requests of other APIs and on SASL tokens too.
        listeners: on which listeners it acts; on all if empty.
    """

    def register(act: Act) -> Act:
        name = act.__name__.replace("_", "-")
        always = every_api or stage not in STAGES_OF_A_FRAME
        DEFECTS[name] = Defect(
            name=name,
            breaks=breaks,
            description=(act.__doc__ or "").strip().partition("\n")[0],
            tampering=Tampering(
                stage=stage, act=act if always else _on_api_versions(act, listeners)
            ),
        )
        return act

    return register


def _on_api_versions(act: Act, listeners: Collection[str]) -> Act:
    """Keep a defect off other listeners, off the answers to other APIs and off the steps of SASL."""

    @functools.wraps(act)
    def guarded(handling: Handling) -> None:
        token = handling.state is ConnectionState.BARE_TOKENS
        here = not listeners or handling.broker.profile.listener in listeners
        if here and handling.reaction.kind is AnswerKind.API_VERSIONS and not token:
            act(handling)

    return guarded


def version_of(handling: Handling) -> int:
    """The request's version; -1 where the header does not read."""
    return handling.header.api_version if handling.header is not None else -1


def succeeds(handling: Handling) -> bool:
    """Whether the request is one of ApiVersions that is answered without an error."""
    reaction = handling.reaction
    answered = reaction.outcome is Outcome.ANSWER and reaction.kind is AnswerKind.API_VERSIONS
    return answered and reaction.error_code is ErrorCode.NONE


def is_refused_version(handling: Handling) -> bool:
    """Whether the request is answered with UNSUPPORTED_VERSION."""
    return handling.reaction.error_code is ErrorCode.UNSUPPORTED_VERSION


def replace_response(handling: Handling, **changes: Any) -> None:
    """Answer with other values."""
    assert handling.response is not None
    handling.response = dataclasses.replace(handling.response, **changes)


def replace_reaction(handling: Handling, **changes: Any) -> None:
    """Decide otherwise."""
    handling.reaction = dataclasses.replace(handling.reaction, **changes)


def success_in(version: int) -> Reaction:
    """The whole table in the layout of a version."""
    return Reaction(
        outcome=Outcome.ANSWER,
        clause="KIP-35.same-table-at-every-version",
        layout=version,
        listing=Listing.EVERYTHING,
    )


def unread_version(handling: Handling) -> int | None:
    """The version of a request that is closed although its version is served and flexible."""
    payload = memoryview(handling.payload)
    if handling.reaction.outcome is not Outcome.CLOSED or len(payload) < CLIENT_ID_OFFSET:
        return None
    api_key, offset = primitives.read_int16(payload, 0)
    version, _ = primitives.read_int16(payload, offset)
    newest = handling.broker.profile.traits.api_versions_max
    served = FIRST_FLEXIBLE_VERSION <= version <= newest
    return version if api_key == API_VERSIONS_KEY and served else None


def body_of(handling: Handling) -> ParsedBody | None:
    """The body of a flexible request, where it reads by the rules."""
    header = handling.header
    if header is None or header.api_version < FIRST_FLEXIBLE_VERSION:
        return None
    try:
        return parse_body(memoryview(handling.payload), header, handling.broker.profile.traits)
    except Unreadable:
        return None
