"""A finding as data, its `failure.json`.

The scripts, `replay` and the texts of findings read it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from clauses.catalogue import Role
from conformance.failures.drawn_values import UnreadableValues, read_values
from reference_model.clients.scripts.script import Script
from reports.grid.bugs import Evidence, request_of
from reports.records import OPERATION
from reports.run.failures import SEEN_ELSEWHERE
from reports.run.stored_conversation import stored_conversation
from reports.tables.failure_rows import KeptFailure
from wire.foreign_json import read_foreign_json
from workflows.compatibility.data import Finding
from workflows.compatibility.exchanges import explaining
from workflows.compatibility.scripts import PLAYER, SENDER

_KEPT_FACTS = ("driver", "reported", "repeats")
_VARIABLES = {"steps": "STEPS", "play": "DATA"}
"""The data of a script, and the name that it has there."""
_MAX_SENT_BYTES = 8 * 1024
_FOLDERS = re.compile(r"/(?:home|root|tmp|Users|work)/(?:[\w.@+-]+/)*")


def without_folders(text: str) -> str:
    """Return a message in which a path of a machine is the name of its file: a stack trace has such paths."""
    return _FOLDERS.sub("…/", text)


def finding_facts(finding: Finding, evidence: Evidence, failure: KeptFailure) -> Mapping[str, Any]:
    """Return the data of a finding.

    It has the facts of the failure that `replay` needs, and

    - `statement`, `location` and `meaning` of the clause;
    - `request`: what was sent last to a broker, "Fetch v4";
    - `seen_elsewhere`: true if the responses to a broker's `steps` do not show the failure;
    - `sent`: the bytes that were sent to a broker, if they are not too many;
    - `steps` or `play`: what the script of a broker or of a client needs;
    - `exchange`: the bytes that explain the failure, see `exchanges`.
    """
    stored = read_foreign_json(failure.facts)
    clause = evidence.clause
    facts: dict[str, Any] = {
        "signature": failure.signature,
        "clause": clause.clause,
        "statement": clause.statement,
        "location": clause.location,
        "meaning": clause.meaning,
        "property_name": failure.property,
        "target": failure.target,
        "listener": failure.listener,
        "message": without_folders(failure.message),
        "example": failure.example,
        **_role(evidence),
        **{name: stored[name] for name in _KEPT_FACTS if name in stored},
    }
    if not evidence.is_client and (request := request_of(failure)):
        facts["request"] = request
    if finding.script.endswith(SENDER):
        if clause.clause in SEEN_ELSEWHERE:
            facts["seen_elsewhere"] = True
        facts["steps"] = data_of_script(failure, "steps")
    if finding.script.endswith(PLAYER):
        facts["play"] = {**data_of_script(failure, "play"), "timeout_s": _timeout_s(stored)}
    elif len(json.dumps(stored.get("sent", []))) <= _MAX_SENT_BYTES:
        facts["sent"] = stored.get("sent", [])
    if parts := stored_conversation(stored, failure.hex_dump):
        facts["exchange"] = explaining(parts, failure.message)
    return facts


def _role(evidence: Evidence) -> Mapping[str, str]:
    """Return what was judged, unless it was a broker."""
    if not evidence.is_client:
        return {}
    return {"role": OPERATION if evidence.is_operation else Role.CLIENT.value}


def data_of_script(failure: KeptFailure, name: str) -> Any:
    """Return the steps or the play that the script of a failure repeats; it contains them, or its facts do.

    Raises:
        ValueError: neither does.
    """
    facts = read_foreign_json(failure.facts)
    if name in facts:
        return facts[name]
    for node in ast.parse(failure.reproducer).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _VARIABLES[name]:
            return ast.literal_eval(node.value)
    raise ValueError(f"the reproducer of {failure.signature} has no {name}")


def _timeout_s(facts: Mapping[str, Any]) -> float:
    """Return for how long a client may run, by the drawn script."""
    try:
        scripts = [each for each in read_values(facts["example"]).values() if isinstance(each, Script)]
    except UnreadableValues:
        scripts = []
    return (scripts[0] if scripts else Script(nodes=())).timeout_ms / 1000
