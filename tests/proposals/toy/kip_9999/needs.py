"""What the toy's properties need."""

from __future__ import annotations

from conformance.assertions.other_apis import advertised_table
from tests.proposals.toy.kip_9999.messages import PING_KEY

NEEDS = {
    "brokers": {
        "ping": (
            lambda broker: PING_KEY in {entry.api_key for entry in advertised_table(broker)},
            "the target lists no Ping",
        )
    },
    "clients": {"a_driver": (lambda client: True, "there is no driver")},
}
