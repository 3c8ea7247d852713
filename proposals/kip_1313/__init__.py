"""Package for KIP-1313: a client instance id in every request header.

KIP-1313 is a proposal. `kip-1313.md` describes it.
"""

from __future__ import annotations

from proposals import Proposal

PROPOSAL = Proposal(
    package=__name__,
    source="KIP-1313",
    wiki_page="KIP-1313%3A+Client+instance+ID+in+all+request+headers",
    clauses="kip_1313.toml",
    commands={
        "schemas": ("commands.schemas", "Commands about Kafka's message schema files."),
        "discovery": (
            "discovery",
            "Measure how releases answer unknown requests (KIP-1313).",
        ),
    },
    page="page:write_proposal",
    page_link=("proposal.html", "what its new request header would break"),
    tables="page:COLUMNS",
    brokers={
        "kip-1313": "broker:InstanceIdBroker",
        "kip-1313-own-client-ids": "broker:with_own_client_ids",
    },
    model="model-kip-1313",
    faults="faults:FAULTS",
    in_memory="in_memory:in_memory_instance_ids",
    client="client:InstanceIdClient",
    client_apis="messages:CLIENT_APIS",
    sasl_apis="messages:SASL_APIS",
    api_versions_headers="messages:API_VERSIONS_HEADERS",
    unknown_versions_header="claims:header_of_unknown_versions",
    client_faults="client_faults:FAULTS",
    broker_needs="needs:BROKER_NEEDS",
    client_needs="needs:CLIENT_NEEDS",
    drawn_values="requests:DRAWN_VALUES",
    about_plain_requests=("KIP-1313.discovery-survives",),
    why_not_logged="assertions:why_not_logged",
)
