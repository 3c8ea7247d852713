"""The limits that are tried, each with brokers that have its setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from conformance.limits.asking import LimitProblem, ListenerToAsk
from conformance.limits.connections import BROKER_WIDE, FIRST_RELEASES, LIMIT, PER_ADDRESS, try_connections
from conformance.limits.sessions import FIRST_RELEASE as FIRST_WITH_SESSIONS
from conformance.limits.sessions import LIFETIME_MS, session_problems
from conformance.limits.sessions import SETTING as SESSIONS
from conformance.limits.unstable_versions import FIRST_RELEASE as FIRST_WITH_UNSTABLE
from conformance.limits.unstable_versions import SETTING as UNSTABLE
from conformance.limits.unstable_versions import unstable_problems, unstable_versions
from fixtures.artefacts.schema_jars import clients_jar, read_schemas
from fixtures.client.running_broker import RunningBroker
from fixtures.launchers import launch
from fixtures.registry.targets import Target
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitTrial:
    """One limit.

    Attributes:
        setting: the property of the broker.
        first_release: the first release that has it.
        judge: starts a release with it, and returns what was seen in one line and the problems.
    """

    setting: str
    first_release: str
    judge: Callable[[Target], tuple[str, list[LimitProblem]]]


@contextmanager
def _started(target: Target, listeners: tuple[str, ...], settings: Mapping[str, str]) -> Iterator[RunningBroker]:
    with launch(replace(target, listeners=listeners, settings=settings), "process") as running:
        yield running


def _judge_sessions(target: Target) -> tuple[str, list[LimitProblem]]:
    settings = {SESSIONS: str(LIFETIME_MS)}
    with _started(target, (PLAINTEXT, SASL_PLAINTEXT), settings) as running, ExitStack() as opened:
        listener = ListenerToAsk(running.addresses[SASL_PLAINTEXT], opened)
        return f"sessions of {LIFETIME_MS} ms", session_problems(listener, running.credentials_for())


def _judge_connections(setting: str, target: Target) -> tuple[str, list[LimitProblem]]:
    with _started(target, (PLAINTEXT,), {setting: str(LIMIT)}) as running, ExitStack() as opened:
        listener = ListenerToAsk(running.addresses[PLAINTEXT], opened)
        tried = try_connections(listener, setting)
        return f"limit {LIMIT}, {tried.served} served at the same time", tried.problems


def _judge_unstable(target: Target) -> tuple[str, list[LimitProblem]]:
    unstable = unstable_versions(read_schemas(clients_jar(target.release)))
    problems = []
    for is_enabled in (False, True):
        settings = {UNSTABLE: "true"} if is_enabled else {}
        with _started(target, (PLAINTEXT,), settings) as running, ExitStack() as opened:
            listener = ListenerToAsk(running.addresses[PLAINTEXT], opened)
            problems += unstable_problems(listener, unstable, is_enabled=is_enabled)
    names = ", ".join(f"{each.api.name} v{each.version}" for each in unstable)
    return f"unstable: {names or 'nothing'}", problems


TRIALS: Mapping[str, LimitTrial] = {
    "sessions": LimitTrial(setting=SESSIONS, first_release=FIRST_WITH_SESSIONS, judge=_judge_sessions),
    "connections": LimitTrial(
        setting=BROKER_WIDE,
        first_release=FIRST_RELEASES[BROKER_WIDE],
        judge=partial(_judge_connections, BROKER_WIDE),
    ),
    "connections-per-address": LimitTrial(
        setting=PER_ADDRESS,
        first_release=FIRST_RELEASES[PER_ADDRESS],
        judge=partial(_judge_connections, PER_ADDRESS),
    ),
    "unstable-versions": LimitTrial(setting=UNSTABLE, first_release=FIRST_WITH_UNSTABLE, judge=_judge_unstable),
}
"""The limits, by the names that the command has for them."""
