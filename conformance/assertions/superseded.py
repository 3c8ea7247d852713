"""Clauses of today that a proposal contradicts, for targets that claim it."""

from __future__ import annotations

from conformance.assertions.errors import Unjudged
from conformance.assertions.other_apis import NoTableReadable, advertised_table
from fixtures.under_test.broker import Broker
from proposals import claimed


def check_not_superseded(broker: Broker, clause: str) -> None:
    """Check that a target which breaks a clause claims no proposal that contradicts the clause.

    Raises:
        Unjudged: it claims one.
        HarnessError: its table could not be requested.
    """
    try:
        newest = {entry.api_key: entry.max_version for entry in advertised_table(broker)}
    except NoTableReadable:
        # It claims nothing; other clauses judge that.
        return
    for proposal in claimed(newest):
        if clause in proposal.supersedes:
            raise Unjudged(proposal.supersedes[clause])
