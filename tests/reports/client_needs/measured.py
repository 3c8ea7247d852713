"""Needs as they are measured, with one of each kind."""

from __future__ import annotations

from reference_model.profiles.known_apis import Range
from reports.client_needs.needs import ApiNeeds, ClientNeeds, Edge, OperationNeeds, Probe, ProbeOutcome
from wire.api_keys import FETCH_KEY, JOIN_GROUP_KEY, METADATA_KEY, PRODUCE_KEY

SAYS = Probe(removed="Metadata 8+", outcome=ProbeOutcome.SAYS, detail="UnsupportedVersionException")
METADATA = ApiNeeds(
    api_key=METADATA_KEY,
    served=Range(0, 13),
    used=(7,),
    minimum=Edge(version=7, failure=SAYS),
    maximum=Edge(version=3, failure=Probe(removed="Metadata 0-2", outcome=ProbeOutcome.BREAKS, detail="it hangs")),
    removed=Probe(removed="no Metadata", outcome=ProbeOutcome.SAYS, detail="UnsupportedVersionException"),
)
PRODUCE = ApiNeeds(
    api_key=PRODUCE_KEY,
    served=Range(0, 11),
    used=(10,),
    minimum=Edge(
        version=0,
        failure=Probe(removed="Produce 1+", outcome=ProbeOutcome.GIVES_UP, detail="its records are not compressed"),
        is_monotone=False,
    ),
    maximum=Edge(version=0),
    removed=Probe(removed="no Produce", outcome=ProbeOutcome.BREAKS, detail="it hangs"),
)
JOIN_GROUP = ApiNeeds(
    api_key=JOIN_GROUP_KEY,
    served=Range(0, 9),
    used=(),
    minimum=Edge(version=1, failure=Probe(removed="JoinGroup 2+", outcome=ProbeOutcome.BREAKS, detail="it hangs")),
    removed=Probe(removed="no JoinGroup", outcome=ProbeOutcome.WORKS),
)
FETCH = ApiNeeds(
    api_key=FETCH_KEY,
    served=Range(0, 17),
    used=(),
    minimum=Edge(version=17),
    removed=Probe(removed="no Fetch", outcome=ProbeOutcome.BREAKS, detail="SIGSEGV"),
)
UNSTABLE = Probe(
    removed="no Heartbeat", outcome=ProbeOutcome.UNSTABLE, detail="it works in 1 of 3 runs; otherwise: it hangs"
)
HUNGRY = ClientNeeds(
    client="a-client-1.0",
    name="a-client-1.0",
    software_name="a-client",
    software_version="1.0",
    release="apache-kafka-3.9.2",
    operations=(
        OperationNeeds(operation="metadata", apis=(METADATA,)),
        OperationNeeds(operation="produce", apis=(PRODUCE, FETCH, METADATA, JOIN_GROUP), unclear=(UNSTABLE,)),
        OperationNeeds(operation="consume", inconclusive="it works in 2 of 3 runs with nothing taken away: it hangs"),
    ),
)
MODEST = ClientNeeds(
    client="modest",
    name="modest",
    release="scripted broker",
    operations=(OperationNeeds(operation="metadata", apis=(METADATA,)),),
)
