"""Package for KIP-1313: a client instance id in every request header.

KIP-1313 is a proposal. `kip-1313.md` describes it.
"""

from __future__ import annotations

from proposals import Proposal

PROPOSAL = Proposal(
    package=__name__,
    wiki_page="KIP-1313%3A+Client+instance+ID+in+all+request+headers",
    commands={
        "schemas": ("commands.schemas", "Commands about Kafka's message schema files."),
        "discovery": (
            "discovery",
            "Measure how releases answer unknown requests (KIP-1313).",
        ),
    },
    brokers={
        "kip-1313": "broker:InstanceIdBroker",
        "kip-1313-own-client-ids": "broker:with_own_client_ids",
    },
    supersedes={
        "KIP-511.request-log": "a later request is not logged under its own client id: KIP-1313, a proposal, has that of "
        "the first one",
    },
    about_plain_requests=("KIP-1313.discovery-survives",),
    claims="claims:claims_proposal",
    apis="messages:APIS",
    faults="faults:FAULTS",
    client="client:InstanceIdClient",
    client_faults="faults.clients:FAULTS",
    needs="needs:NEEDS",
    drawn_values="requests:DRAWN_VALUES",
    page="page:PAGE",
)
