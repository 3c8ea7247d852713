"""Other brokers: their known defects appear in the grid, although no property knows about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pytest

from reports.records import Verdict
from tests.clauses.properties import properties_in
from tests.conformance.suite_runs import SuiteRun, run_suite
from tests.programs import require_program

SERVED = "KIP-35.every-advertised-version-served"
ANSWERED_IN_V0 = "KIP-511.unsupported-version-answered-in-v0"
KNOWN_DEFECTS: Mapping[str, Mapping[str, str]] = {
    "tansu-0.6.0": {
        "KIP-35.unknown-version-gives-35": "v5, v99 and v32767 are answered without an error",
        ANSWERED_IN_V0: "they are answered in the layout of v4",
        "KIP-511.names-refused": "spaces and empty names are accepted",
        "KIP-511.null-name-refused": "so is a null name",
        "KIP-35.error-code-first": "v-1 gives four bytes, a correlation id alone",
        "KIP-511.unparsed-when-unsupported": "v99 without a body closes the connection",
        SERVED: "four APIs close the connection on minimal requests, three answer truncated bodies",
        "KIP-482.default-tags-omitted": "tags 0 to 3 are sent with their default values",
    },
    "librdkafka-mock-2.16.0": {
        ANSWERED_IN_V0: "the refusal of v3 and above is neither v0 nor v3",
        SERVED: "Heartbeat v5, which no schema describes; Metadata v9 to v13 with a byte too many",
    },
    "nafka-0.1": {
        "KIP-35.v0-always-served": "v0 to v3 are answered in the layout of v4",
        "KIP-35.table-lists-itself": "the table has ApiVersions from v4 on",
        "KIP-35.unknown-version-gives-35": "v5 and above close the connection",
        ANSWERED_IN_V0: "so nothing is answered in v0",
        "KIP-511.names-refused": "no name is refused",
    },
    # As of August 2026, its sources list every API in refusals.
    "franz-go-kfake-20260918": {},
    "noida-db-0.2.3": {},
}
"""By target and clause: what is wrong."""
CORE = {
    "KIP-35.v0-always-served",
    "KIP-35.table-lists-itself",
    ANSWERED_IN_V0,
    "KIP-511.unsupported-table-is-only-itself",
}
"""Clauses that hold for targets without known defects."""
SHOWN = (Verdict.VIOLATES, Verdict.INFORMATIONAL)


def _judged(target: str, clauses: Collection[str], runs: Path) -> SuiteRun:
    """Judge a target by some clauses; all of them would use up the patience of a target that is often silent."""
    chosen = [one.name for one in properties_in() if set(clauses).intersection(one.clauses)]
    return run_suite("--broker", target, "--tier", "smoke", "-k", " or ".join(chosen), runs=runs)


def _verdicts(runs: Iterable[SuiteRun]) -> dict[str, Verdict]:
    return {clause: verdict for run in runs for (_, clause), verdict in run.verdicts().items()}


def _without_bytes(runs: Iterable[SuiteRun]) -> list[Path]:
    failures = [place for run in runs for place in run.folder.glob("failures/*")]
    return [place for place in failures if not (place / "exchange.pcap").exists()]


@pytest.mark.slow  # Starts other brokers
@pytest.mark.parametrize("target", KNOWN_DEFECTS)
def test_known_defects_of_other_brokers_appear(target: str, tmp_path: Path) -> None:
    """Each is seen in the cell of the clause that it breaks, and has the bytes that show it."""
    if target.startswith("franz-go"):
        require_program("go")
    known = KNOWN_DEFECTS[target].keys()
    runs = [_judged(target, (known or CORE) - {SERVED}, tmp_path / "handshake")]
    if SERVED in known:
        runs.append(_judged(target, {SERVED}, tmp_path / "served"))
    verdicts = _verdicts(runs)
    if known:
        hidden = {clause for clause in known if verdicts[clause] not in SHOWN}
        assert not hidden, verdicts
    else:
        assert set(verdicts.values()) == {Verdict.CONFORMS}
    assert _without_bytes(runs) == []
