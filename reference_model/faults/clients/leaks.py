"""Faults against KIP-511's clause about INVALID_REQUEST: leaks.

Such clients keep something of each attempt until their process ends.
"""

from __future__ import annotations

from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.client_errors import RequestRefused
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.error_codes import ErrorCode

CLAUSE = "KIP-511.client-errors-on-42"
KEPT_BYTES = 40_000_000


class _Leaking(ModelClient):
    """Forgets connections that were refused without closing them."""

    def is_leaked(self, link: Link) -> bool:
        """Return whether a connection that was refused stays open."""
        raise NotImplementedError

    def raise_error(self, link: Link, error_code: int) -> None:
        if error_code == ErrorCode.INVALID_REQUEST:
            self.notes["refused"] = link
        super().raise_error(link, error_code)

    def close(self, link: Link) -> None:
        if self.notes.pop("refused", None) is link and self.is_leaked(link):
            self.links = {key: each for key, each in self.links.items() if each is not link}
            return
        super().close(link)


@fault(CLAUSE)
class RefusedConnectionsStayOpen(_Leaking):
    """Opens another connection after each INVALID_REQUEST, and closes none before its process ends."""

    def is_leaked(self, link: Link) -> bool:
        return True


@fault(CLAUSE)
class FirstRefusedConnectionStaysOpen(_Leaking):
    """Closes connections that were refused, but the first one only when its process ends."""

    def is_leaked(self, link: Link) -> bool:
        return link.number == 0


@fault(CLAUSE)
class ConnectionRefusedAfterAuthenticationStaysOpen(_Leaking):
    """Leaves connections open on which its name was refused after it had authenticated."""

    def is_leaked(self, link: Link) -> bool:
        return link.is_authenticated


@fault(CLAUSE)
class RefusedAttemptsAreKeptInMemory(ModelClient):
    """Keeps the buffers of every attempt that ended with INVALID_REQUEST."""

    def fetch_metadata(self, until_ms: int) -> str:
        try:
            return super().fetch_metadata(until_ms)
        except RequestRefused:
            # Bytes that are not zero take memory at once.
            self.kept.append(b"\1" * KEPT_BYTES)
            raise
