"""Proxies: judged as brokers are, and by clauses about what they pass on to their upstream broker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clauses.catalogue import Clause
from conformance.assertions.blame import V0_ALWAYS_SERVED
from conformance.roles.broker import BrokerRole
from fixtures.choosing.listeners import ListenerOfTarget
from fixtures.registry.targets import Target
from fixtures.under_test.broker import Broker
from fixtures.under_test.judged_target import Chosen

OF_PROXIES = "PROXY."
"""How the ids of the clauses begin that bind only proxies."""

SCRIPTED_UPSTREAM = (
    "its upstream is a scripted broker, in front of which only the clauses of proxies are judged"
)


class ProxyRole(BrokerRole):
    """Proxies. In the records they have the role of a broker, because its clauses bind them too."""

    reasons_of_suite = BrokerRole.reasons_of_suite | {SCRIPTED_UPSTREAM}

    def choose(self) -> Sequence[ListenerOfTarget]:
        """Return the chosen listeners of proxies."""
        return [each for each in super().choose() if self.judges(each)]

    def judges(self, chosen: Chosen) -> bool:
        """Return whether it is a listener of a proxy."""
        return super().judges(chosen) and self.is_role_of(chosen.target)

    @classmethod
    def is_role_of(cls, target: Target) -> bool:
        """Return whether a target passes requests on to an upstream."""
        return bool(target.upstream)

    @staticmethod
    def why_not_applicable(clause: Clause, needs: Iterable[str], judged: Broker) -> str | None:
        """Return why a clause does not apply: a scripted upstream responds to little, so only the clauses of proxies do."""
        is_of_proxies = clause.id.startswith(OF_PROXIES) or clause.id == V0_ALWAYS_SERVED
        if judged.target.has_scripted_upstream and not is_of_proxies:
            return SCRIPTED_UPSTREAM
        return BrokerRole.why_not_applicable(clause, needs, judged)
