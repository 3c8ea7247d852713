"""What is known of a client beyond what it was seen to send: measured needs.

A client whose requests are all served works if it is known to need nothing else. Of any other one only that is known
which was seen: it may read from the lowest versions of a table what it can do.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from clauses.operations import METADATA
from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import ranges_of
from reports.client_needs.needs import ClientNeeds, HiddenNeed, ProbeOutcome
from reports.client_needs.needs_json import read_needs
from upgrade.prediction.observed_requests import ClientIdentity
from upgrade.prediction.outcomes import Decision, PredictedOutcome
from upgrade.prediction.releases import Release

FILE = files("reports.client_needs") / "measured.json"
"""What `kafka-conformance needs --format json` printed about the clients of the registry."""
Software = tuple[str, str]
"""The name and the version that a client states in ApiVersions requests (KIP-511)."""


@cache
def measured_needs() -> Mapping[Software, Sequence[ClientNeeds]]:
    """Return the measured needs by software; clients that state none are left out."""
    found: dict[Software, list[ClientNeeds]] = {}
    for each in read_needs(FILE.read_bytes(), "measured.json"):
        if each.software_name and each.software_version:
            found.setdefault((each.software_name, each.software_version), []).append(each)
    return found


def decisions_by_needs(
    client: ClientIdentity,
    seen: Collection[int],
    release: Release,
    measured: Mapping[Software, Sequence[ClientNeeds]],
) -> Iterator[Decision]:
    """Yield what measured needs say about a client of which a release serves every request; nothing if it works.

    Args:
        client: the client.
        seen: the APIs that it was seen to send; the needs of operations that send others say nothing about it.
        release: the release.
        measured: the needs that were measured, by software.
    """
    known = measured.get((client.software_name or "", client.software_version or ""))
    if known is None:
        command = f"kafka-conformance watch --rehearse {shlex.quote(release.id)}"
        yield Decision(outcome=PredictedOutcome.SERVED, sentence=_why_unknown(client), command=command)
        return
    listed = ranges_of(release.profile.api_keys)
    told: set[str] = set()
    for each in known:
        used = {one.operation: {api.api_key for api in one.apis if api.used} for one in each.operations}
        for need in each.hidden:
            is_done = used[need.operation] <= set(seen)
            if not is_done or _is_listed(need, listed) or need.what in told:
                continue
            told.add(need.what)
            yield Decision(
                outcome=_outcome_of(need),
                api_key=need.api_key,
                api_version=need.version,
                sentence=f"it needs {need.what}, which is not listed, although it does not send it; without it "
                f"{need.operation} {need.probe.outcome}: {need.probe.detail}",
            )


def _outcome_of(need: HiddenNeed) -> PredictedOutcome:
    """Return what an unmet need means; what a client gives up at its start it may not use at all."""
    if need.probe.outcome is ProbeOutcome.BREAKS:
        return PredictedOutcome.BREAKS
    return PredictedOutcome.SERVED if need.operation == METADATA else PredictedOutcome.CANNOT_SAY


def _is_listed(need: HiddenNeed, listed: Mapping[int, Range]) -> bool:
    range_ = listed.get(need.api_key)
    return range_ is not None and (need.version is None or range_.lowest <= need.version)


def _why_unknown(client: ClientIdentity) -> str:
    if client.software_name:
        who = " ".join(filter(None, (client.software_name, client.software_version)))
        why = f"the needs of {who} were not measured"
    else:
        why = "it never said which software it is"
    return f"every request that was seen is served, but {why}: rehearse it, because it may read minimums"
