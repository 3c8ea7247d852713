"""Says as JSON what the suite has of the toy proposal.

It runs in a process in which the toy is among the folders of the registry.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from clauses.catalogue import catalogue, source_url
from conformance.assertions.blame import ABOUT_PLAIN_REQUESTS
from conformance.assertions.errors import Unjudged
from conformance.assertions.superseded import check_not_superseded
from conformance.commands.command_list import COMMANDS
from conformance.commands.explain import PLANTED, properties_of
from conformance.failures.drawn_values import read_values
from conformance.mutation.properties import Property, holds
from conformance.mutation.subjects import SUBJECTS
from conformance.roles.client_needs import NEEDS as CLIENT_NEEDS
from conformance.roles.role_registry import EVERY_ROLE
from fixtures.launchers.built_in import reference_targets
from fixtures.model_processes.server import listeners_of, option_parser
from fixtures.under_test.broker import Broker
from reference_model.clients.model.negotiation import MODEL
from reference_model.faults.clients import FAULTS
from reference_model.profiles.listeners import PLAINTEXT
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.reports.site.sites import write_small_site
from workflows.documents.table_json_schema import table_schema

BROKER = "model-kip-9999"
LISTED = "test_ping_is_listed_from_v0"
PINGING = "test_client_pings_brokers_that_list_it"


def kept_by(judged: Property, model: str, fault: str) -> bool:
    """Return whether a model with a fault, or without for an empty name, keeps a property's pinned examples."""
    target = SUBJECTS[model].at(fault, PLAINTEXT)
    with assumptions_outside_hypothesis():
        return all(holds(judged, target, values) for values in judged.pinned)


def faults_found(judged: Property, model: str, faults: Iterator[str]) -> dict[str, bool]:
    """Return by fault whether the property is broken; the empty name stands for the correct model."""
    return {fault: not kept_by(judged, model, fault) for fault in ("", *faults)}


def superseded() -> str:
    """Return why the toy's broker may break a clause of today."""
    broker = SUBJECTS[BROKER].at("", PLAINTEXT)
    assert isinstance(broker, Broker)
    try:
        check_not_superseded(broker, "KIP-35.keys-unique")
    except Unjudged as reason:
        return str(reason)
    return ""


def main(out_dir: Path) -> None:
    """Print what there is of the toy, and write a site."""
    site = write_small_site(out_dir)
    served = listeners_of(option_parser().parse_args(["--proposal=kip-9999"], Namespace()))
    of_toy = (name for name, fault in FAULTS.items() if fault.breaks == ("KIP-9999.ping-only-if-listed",))
    found = {
        "clauses": [clause.id for clause in catalogue() if clause.source == "KIP-9999"],
        "url": source_url("KIP-9999"),
        "plain": [clause for clause in ABOUT_PLAIN_REQUESTS if "9999" in clause],
        "explained": [*properties_of("KIP-9999.ping-listed")],
        "command": COMMANDS["ping"],
        "needs": CLIENT_NEEDS["a_driver"].otherwise,
        "role_folders": [str(folder) for role in EVERY_ROLE for folder in role.folders() if "kip_9999" in str(folder)],
        "target": [target.id for target in reference_targets() if "9999" in target.id],
        "serves": type(served[PLAINTEXT].serves).__name__,
        "superseded": superseded(),
        "drawn": str(read_values("{'pings': Pings(count=2)}")),
        "broker": faults_found(SUBJECTS[BROKER].properties()[LISTED], BROKER, iter(PLANTED[BROKER])),
        "client": faults_found(SUBJECTS[MODEL].properties()[PINGING], MODEL, of_toy),
        "page": (site / "ping.html").read_text(),
        "link": "ping.html" in (site / "rules.html").read_text(),
        "table": '"pings"' in "\n".join(table_schema()),
    }
    sys.stdout.write(json.dumps(found))
