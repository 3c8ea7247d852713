"""The version tables of a cluster in the format of Kafka's own tool."""

from __future__ import annotations

from collections.abc import Iterator

from reference_model.profiles.known_apis import Range, known_apis, name_of
from reference_model.profiles.version_tables import Ranges
from reports.wording.escaping import printable
from upgrade.api_versions.cluster_tables import BrokerTable, ClusterTables


def stock_text(cluster: ClusterTables) -> str:
    """Return one block for each broker, as Kafka's `kafka-broker-api-versions.sh` of release 4.4.0 prints them.

    Its clients' versions are those of that release, so that "usable" is what a client of Kafka 4.4.0 would send.
    """
    return "\n".join(map(_block, cluster.brokers))


def _block(broker: BrokerTable) -> str:
    rack = "null" if broker.rack is None else broker.rack
    fenced = "true" if broker.is_fenced else "false"
    node = printable(f"{broker.host}:{broker.port} (id: {broker.node_id} rack: {rack} isFenced: {fenced})")
    if broker.problem:
        return f"{node} -> ERROR: {printable(broker.problem)}"
    lines = ",\n".join(f"\t{line}" for line in api_lines(broker.ranges))
    return f"{node} -> (\n{lines}\n)"


def api_lines(ranges: Ranges) -> Iterator[str]:
    """Yield a line for each API that is listed, or that a broker of Kafka 4.4.0 would serve, by key ascending."""
    served = {key for key, api in known_apis().items() if api.for_brokers}
    for key in sorted(ranges.keys() | served):
        name = f"{name_of(key)}({key})"
        yield f"{name}: {_versions(key, ranges[key])}" if key in ranges else f"{name}: UNSUPPORTED"


def _versions(api_key: int, listed: Range) -> str:
    text = listed.in_words()
    known = known_apis().get(api_key)
    if known is None:
        return text
    if known.range is None or listed.lowest > known.range.highest:
        return f"{text} [unusable: node too new]"
    shared = known.range.common_with(listed)
    if shared is None:
        return f"{text} [unusable: node too old]"
    return f"{text} [usable: {shared.highest}]"
