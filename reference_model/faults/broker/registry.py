"""The registry of planted defects.

A defect is one function. It changes one `RequestContext`, or another object that depends on its stage, and names the
clauses that it breaks. `--broker reference+<name>` runs the reference broker with the defect, and exactly those
clauses must fail. `MODEL.*` may fail in addition, because every defect departs from the model.

`Stage` lists the stages and the object that a defect receives at each. From there a defect can reach:
- The listener: `context.broker.profile.listener` is "plaintext", "sasl_plaintext", "ssl", "ssl_client_auth", "sasl_ssl"
  or "controller". Each listener has its own `ReferenceBroker` and its own table.
- Authentication: `context.state` is the state of the connection when the frame arrived (`ConnectionState`).
  `context.reaction.kind` is the kind of request that is answered (ApiVersions or a step of SASL).
  `context.reaction.next_event` is the event that the response causes on the connection.
- TLS: at `Stage.TLS` a `TlsOpening` has the first bytes of a connection to "ssl" or "ssl_client_auth". Set
  `serves_plaintext` to speak Kafka's protocol without TLS, or invert `certificate_required`.
- The throttle: if the client id begins with "throttled", `context.pause` is set before `Stage.RESPONSE`. Change
  or remove it there, or change `throttle_time_ms` in the response.
- The metric and the log: the connection is counted and logged under `context.connection.software`, which can be
  changed at `Stage.ANSWER`. `Stage.METRIC` receives the counts of all listeners (`Counts`, a dict) each time they
  are queried. `Stage.LOG` receives each entry of the request log (a dict in Kafka's format).
- Questions and changes that many defects share are methods of the `RequestContext`: `succeeds`, `has_seen`,
  `replace_response` ...
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.reaction import AnswerKind
from reference_model.profiles.listeners import PLAINTEXT, SSL, SSL_CLIENT_AUTH
from reference_model.profiles.profile import REFERENCE
from wire.frames import SIZE_BYTES
from wire.headers import CORRELATION_ID_BYTES

CORRELATION_ID = slice(SIZE_BYTES, SIZE_BYTES + CORRELATION_ID_BYTES)
"""Position of the correlation id in a response frame."""
DEFECTS: dict[str, Defect] = {}
"""Every planted defect, by name."""
STAGES_OF_A_FRAME = (Stage.REACTION, Stage.RESPONSE, Stage.ANSWER)
OPEN_LISTENERS = (PLAINTEXT, SSL, SSL_CLIENT_AUTH)
"""Listeners of brokers that serve requests without SASL authentication."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A planted defect.

    Attributes:
        name: the name after the "+" of its target.
        breaks: ids of the clauses that it violates.
        breaks_rarely: ids of further clauses that it violates, by requests too rare to count on: no property has to
            find it for them, and none that does is wrong.
        description: what it does wrong, in one sentence.
        tampering: the stage and the function that implement it.
        model: the reference broker that it is planted in: "reference", or one at an older level.
    """

    name: str
    breaks: tuple[str, ...]
    description: str
    tampering: Tampering
    breaks_rarely: tuple[str, ...] = ()
    model: str = REFERENCE

    @property
    def target(self) -> str:
        """The id of the target that has it."""
        return f"{self.model}+{self.name}"


def defects_of(model: str) -> Mapping[str, Defect]:
    """Return what is planted in one of the reference brokers, by name."""
    return {name: each for name, each in DEFECTS.items() if each.model == model}


Act = Callable[[Any], None]


def defect(
    stage: Stage,
    *breaks: str,
    every_api: bool = False,
    listeners: Collection[str] = (),
    breaks_rarely: tuple[str, ...] = (),
    model: str = REFERENCE,
) -> Callable[[Act], Act]:
    """Register the decorated function as a defect; its docstring becomes the description.

    Args:
        stage: the stage at which it acts.
        breaks: ids of the clauses that it violates.
        breaks_rarely: ids of those that it violates by rare requests.
        every_api: whether it also acts on requests of other APIs and on SASL tokens.
        listeners: the listeners on which it acts; all if empty. Ignored with `every_api` and at stages without a frame.
        model: the reference broker that it is planted in.
    """

    def register(act: Act) -> Act:
        name = act.__name__.replace("_", "-")
        always = every_api or stage not in STAGES_OF_A_FRAME
        DEFECTS[name] = Defect(
            name=name,
            breaks=breaks,
            description=(act.__doc__ or "").strip().partition("\n")[0],
            breaks_rarely=breaks_rarely,
            model=model,
            tampering=Tampering(stage=stage, act=act if always else _on_api_versions(act, listeners)),
        )
        return act

    return register


def _on_api_versions(act: Act, listeners: Collection[str]) -> Act:
    """Restrict a defect to the given listeners and to ApiVersions: no other APIs, no steps of SASL."""

    @functools.wraps(act)
    def guarded(context: RequestContext) -> None:
        token = context.state is ConnectionState.BARE_TOKENS
        here = not listeners or context.broker.profile.listener in listeners
        if here and context.reaction.kind is AnswerKind.API_VERSIONS and not token:
            act(context)

    return guarded
