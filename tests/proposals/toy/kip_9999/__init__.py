"""A toy proposal: a Ping request, which a client sends to brokers that list it."""

from __future__ import annotations

from proposals import Proposal

PROPOSAL = Proposal(
    # The registry finds the folder under another name.
    package="tests.proposals.toy.kip_9999",
    wiki_page="KIP-9999%3A+Ping",
    commands={"ping": ("command", "Say pong.")},
    brokers={"kip-9999": "broker:PingBroker"},
    supersedes={"KIP-35.keys-unique": "KIP-9999, a proposal, lists Ping twice"},
    about_plain_requests=("KIP-9999.ping-listed",),
    claims="messages:claims_proposal",
    apis="messages:APIS",
    faults="broker:FAULTS",
    client="client:PingingClient",
    client_faults="client_faults:FAULTS",
    needs="needs:NEEDS",
    drawn_values="messages:DRAWN_VALUES",
    page="page:PAGE",
)
