"""Defects where the names of client software appear: in the metric and the request log."""

from __future__ import annotations

from typing import Any

from reference_model.client_software import ClientSoftware, Counts
from reference_model.defects.registry import body_of, defect, succeeds, version_of
from reference_model.state_machine import RequestContext, Stage
from wire.api_versions import FIRST_FLEXIBLE_VERSION


@defect(Stage.METRIC, "KIP-511.connections-metric")
def a_third_connection_is_not_counted(counts: Counts) -> None:
    """The metric counts at most two connections per client software."""
    for gauge, number in counts.items():
        counts[gauge] = min(number, 2)


@defect(Stage.LOG, "KIP-511.request-log")
def the_request_log_knows_no_software(entry: dict[str, Any]) -> None:
    """Entries of the request log lack the client software."""
    del entry["clientInformation"]


@defect(Stage.ANSWER, "KIP-511.name-attached-to-connection")
def the_first_name_of_a_connection_stays(context: RequestContext) -> None:
    """A connection is always counted under the first software that it named."""
    memory = context.connection.memory
    body = body_of(context)
    if body is not None and succeeds(context):
        memory.setdefault("first software", context.connection.software)
        context.connection.software = memory["first software"]


@defect(Stage.METRIC, "KIP-511.name-attached-to-connection")
def connections_without_a_name_are_not_counted(counts: Counts) -> None:
    """The metric leaves out the connections whose software is unknown."""
    for gauge in [each for each in counts if each.software == ClientSoftware()]:
        del counts[gauge]


@defect(Stage.ANSWER, "KIP-511.name-attached-to-connection")
def versions_without_a_name_leave_the_name(context: RequestContext) -> None:
    """A connection keeps its named software when it continues with a version that carries no name."""
    memory = context.connection.memory
    if version_of(context) >= FIRST_FLEXIBLE_VERSION:
        memory["software"] = context.connection.software
    elif "software" in memory:
        context.connection.software = memory["software"]
