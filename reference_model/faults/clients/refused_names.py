"""Faults against KIP-511's clause about INVALID_REQUEST: hidden errors.

Such clients hide the error from their application by requests without a name.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import BrokerError
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.clients.model.network import HostPort
from reference_model.faults.clients.registry import fault
from wire.error_codes import ErrorCode

CLAUSE = "KIP-511.client-errors-on-42"


class _GoingOnWithoutItsName(ModelClient):
    """Closes the connection after INVALID_REQUEST, and uses the broker from then on without a name."""

    def refuses_name(self, address: HostPort) -> bool:
        """Return whether a broker at this address is known to refuse the client's name."""
        return ("refused", address) in self.notes

    def raise_error(self, link: Link, error_code: int) -> None:
        is_first = not self.refuses_name(link.address) and self.is_hidden(link)
        if error_code == ErrorCode.INVALID_REQUEST and is_first:
            self.notes["refused", link.address] = True
            raise BrokerError("the broker refuses the client's name")
        super().raise_error(link, error_code)

    def is_hidden(self, link: Link) -> bool:
        """Return whether the client tries again after INVALID_REQUEST on this connection."""
        return True


@fault(CLAUSE)
class RefusedNameIsFollowedByV0(_GoingOnWithoutItsName):
    """Begins its next connections with v0, which has no name, and reports no error."""

    def first_version(self, link: Link) -> int:
        return 0 if self.refuses_name(link.address) else super().first_version(link)


@fault(CLAUSE)
class NameRefusedAfterARefusedVersionIsLeftOut(_GoingOnWithoutItsName):
    """Begins with v2 on its next connections, if its name was refused in a version that a broker had named."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        self.notes["named", link.number] = True
        return super().version_after_refusal(link, refused, named)

    def is_hidden(self, link: Link) -> bool:
        return ("named", link.number) in self.notes

    def first_version(self, link: Link) -> int:
        return 2 if self.refuses_name(link.address) else super().first_version(link)


@fault(CLAUSE)
class RefusedNameIsFollowedByGuesses(_GoingOnWithoutItsName):
    """Does without the table on its next connections, as with a broker that has none."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        return OWN_RANGES if self.refuses_name(link.address) else super().negotiated_table(link)
