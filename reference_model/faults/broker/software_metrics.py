"""Defects in client software names in the metric and the request log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from reference_model.broker.model.client_software import (
    CONNECTIONS,
    ClientMetric,
    ClientSoftware,
    DeprecatedRequest,
    Gauge,
    only_connections,
)
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.connection_states import SERVING, ConnectionEvent
from reference_model.faults.broker.registry import defect
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.request_log import UNKNOWN_SOFTWARE

NAMELESS = ClientSoftware()
"""The software of a connection that has named none."""


def _rename(metric: ClientMetric, change: Callable[[Gauge], Gauge]) -> None:
    """Change the names of the beans of all software that has a name."""
    metric.counts = {
        gauge if gauge.software == NAMELESS else change(gauge): number for gauge, number in metric.counts.items()
    }


@defect(Stage.METRIC, "KIP-511.connections-metric")
def a_third_connection_is_not_counted(metric: ClientMetric) -> None:
    """The metric counts at most two connections per client software."""
    for gauge, number in metric.counts.items():
        metric.counts[gauge] = min(number, 2)


@defect(Stage.METRIC, "KIP-511.connections-metric")
def metrics_lack_the_listener(metric: ClientMetric) -> None:
    """The names of the metric's beans have no listener."""
    _rename(metric, lambda gauge: replace(gauge, listener=""))


@defect(Stage.METRIC, "KIP-511.connections-metric")
def metrics_lack_the_network_processor(metric: ClientMetric) -> None:
    """The names of the metric's beans have no network processor."""
    _rename(metric, lambda gauge: replace(gauge, network_processor=""))


@defect(Stage.METRIC, "KIP-511.connections-metric")
def network_processors_have_names(metric: ClientMetric) -> None:
    """The network processor of the metric's beans is a name instead of a number."""
    _rename(metric, lambda gauge: replace(gauge, network_processor="first"))


@defect(Stage.METRIC, "KIP-511.connections-metric")
def metrics_are_of_another_type(metric: ClientMetric) -> None:
    """The type of the metric's beans is that of the metrics of one connection."""
    _rename(metric, lambda gauge: replace(gauge, type="socket-metrics"))


def _show(metric: ClientMetric, change: Callable[[int], Mapping[str, Any]]) -> None:
    """Change the attributes of the beans that count several connections of software that has a name."""
    metric.attributes = lambda gauge, number: (
        change(number) if number > 1 and gauge.software != NAMELESS else only_connections(gauge, number)
    )


@defect(Stage.METRIC, "KIP-511.connections-metric")
def metrics_have_a_second_value(metric: ClientMetric) -> None:
    """A bean of the metric that counts several connections has another value next to their number."""
    _show(metric, lambda number: {CONNECTIONS: number, "connections-total": number})


@defect(Stage.METRIC, "KIP-511.connections-metric")
def connections_have_another_name(metric: ClientMetric) -> None:
    """The value of a bean of the metric that counts several connections is named connection-count."""
    _show(metric, lambda number: {"connection-count": number})


@defect(Stage.METRIC, "KIP-511.connections-metric")
def connections_are_two_numbers(metric: ClientMetric) -> None:
    """The value connections of a bean that counts several consists of the present number and the highest one."""
    _show(metric, lambda number: {CONNECTIONS: {"current": number, "highest": number}})


@defect(Stage.METRIC, "KIP-511.connections-metric")
def unused_metrics_stay_at_zero(metric: ClientMetric) -> None:
    """The metric of a client software stays, at zero, after its last connection has closed."""
    metric.counts |= dict.fromkeys(metric.unused, 0)


@defect(Stage.METRIC, "KIP-896.deprecated-requests-metric")
def current_versions_count_as_deprecated(metric: ClientMetric) -> None:
    """The metric of deprecated requests counts one for all client software that was named lately."""
    for gauge in (*metric.counts, *metric.unused):
        if gauge.software != NAMELESS:
            metric.deprecated[DeprecatedRequest("DescribeConfigs", 1, gauge.software)] = 1


@defect(Stage.LOG, "KIP-511.request-log")
def the_request_log_knows_no_software(entry: dict[str, Any]) -> None:
    """Entries of the request log lack the client software."""
    del entry["clientInformation"]


@defect(Stage.LOG, "KIP-511.request-log")
def the_request_log_lacks_the_version(entry: dict[str, Any]) -> None:
    """Entries of the request log have the name of the client software, but not its version."""
    entry["clientInformation"]["softwareVersion"] = UNKNOWN_SOFTWARE


@defect(Stage.LOG, "KIP-511.request-log")
def the_request_log_has_the_software_elsewhere(entry: dict[str, Any]) -> None:
    """Entries of the request log have the client software as text, not in the field clientInformation."""
    software = entry.pop("clientInformation")
    entry["client"] = f"{software['softwareName']} {software['softwareVersion']}"


@defect(Stage.LOG, "KIP-511.request-log")
def only_api_versions_is_logged_with_the_software(entry: dict[str, Any]) -> None:
    """Entries for requests of other APIs have no client software."""
    if entry["requestHeader"]["requestApiKey"] != API_VERSIONS_KEY:
        entry["clientInformation"] = {
            "softwareName": UNKNOWN_SOFTWARE,
            "softwareVersion": UNKNOWN_SOFTWARE,
        }


@defect(Stage.ANSWER, "KIP-511.name-attached-to-connection", "KIP-511.request-log", every_api=True)
def authentication_makes_the_name_unknown(context: RequestContext) -> None:
    """A name that a connection gave before SASL authentication is lost with it."""
    if context.state not in SERVING and context.reaction.event is ConnectionEvent.TOKEN_TAKEN:
        context.connection.software = NAMELESS


@defect(Stage.ANSWER, "KIP-511.name-attached-to-connection")
def the_first_version_of_a_name_stays(context: RequestContext) -> None:
    """A connection that names its software again keeps the version that it gave first."""
    memory, body = context.connection.memory, context.body
    if body is None or not context.succeeds:
        return
    software = context.connection.software
    kept = memory.setdefault("first version", software)
    if kept.name == software.name:
        context.connection.software = kept


@defect(Stage.ANSWER, "KIP-511.name-attached-to-connection")
def the_first_name_of_a_connection_stays(context: RequestContext) -> None:
    """A connection is always counted under the first software that it named."""
    memory = context.connection.memory
    body = context.body
    if body is not None and context.succeeds:
        memory.setdefault("first software", context.connection.software)
        context.connection.software = memory["first software"]


@defect(Stage.METRIC, "KIP-511.name-attached-to-connection")
def connections_without_a_name_are_not_counted(metric: ClientMetric) -> None:
    """The metric leaves out the connections whose software is unknown."""
    named = ((key, count) for key, count in metric.counts.items() if key.software != NAMELESS)
    metric.counts = dict(named)


@defect(Stage.ANSWER, "KIP-511.name-attached-to-connection")
def versions_without_a_name_leave_the_name(context: RequestContext) -> None:
    """A connection keeps its named software when it continues with a version that carries no name."""
    memory = context.connection.memory
    if context.version >= FIRST_FLEXIBLE_VERSION:
        memory["software"] = context.connection.software
    elif "software" in memory:
        context.connection.software = memory["software"]
