"""Faults against KIP-35's clause about clients that are throttled."""

from __future__ import annotations

from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.client_errors import BrokerError
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault

CLAUSE = "KIP-35.client-works-when-throttled"
LONGEST_MS = 10_000
"""Longer than any pause with which a client has to work; what is longer is nonsense, and another clause."""


@fault(CLAUSE)
class ThrottledClientAsksAgainAndAgain(ModelClient):
    """Takes the throttle time for an error that goes away, and asks without end."""

    def wait_while_throttled(self, link: Link, throttle_time_ms: int) -> None:
        while throttle_time_ms < LONGEST_MS:
            self.api_versions_response(link, self.newest_version(link))
        super().wait_while_throttled(link, throttle_time_ms)


@fault(CLAUSE)
class ThrottledClientGivesUp(ModelClient):
    """Takes the throttle time for an error."""

    def wait_while_throttled(self, link: Link, throttle_time_ms: int) -> None:
        raise BrokerError(f"throttled for {throttle_time_ms} ms")


@fault(CLAUSE)
class ThrottleTimeIsTakenForSeconds(ModelClient):
    """Waits a thousand times as long as the broker said; with a short pause it is in time nevertheless."""

    def wait_while_throttled(self, link: Link, throttle_time_ms: int) -> None:
        super().wait_while_throttled(link, throttle_time_ms * 1000)
