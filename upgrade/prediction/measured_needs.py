"""What is known of a client beyond what it was seen to send: measured needs.

A client whose requests are all served works if it is known to need nothing else: the needs of what it was seen to do
were measured. Of any other one only that is known which was seen: it may read from the lowest versions of a table what
it can do.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from clauses.operations import METADATA
from reference_model.profiles.known_apis import Range, label_of
from reference_model.profiles.version_tables import ranges_of
from reports.client_needs.needs import ClientNeeds, HiddenNeed, OperationNeeds, ProbeOutcome
from reports.client_needs.needs_json import measured_clients
from upgrade.prediction.observed_requests import ClientIdentity
from upgrade.prediction.outcomes import WORST_FIRST, Decision, PredictedOutcome
from upgrade.prediction.releases import Release
from wire.api_keys import API_VERSIONS_KEY

Software = tuple[str, str]
"""The name and the version that a client states in ApiVersions requests (KIP-511)."""


@cache
def measured_needs() -> Mapping[Software, Sequence[ClientNeeds]]:
    """Return the measured needs by software; clients that state none are left out."""
    found: dict[Software, list[ClientNeeds]] = {}
    for each in measured_clients():
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
        seen: the APIs that it was seen to send. An operation whose APIs were all seen may have been done; one of which
            only some were seen may be meant by those that no such operation explains.
        release: the release.
        measured: the needs that were measured, by software.
    """
    name = shlex.quote(release.id)
    command = f"kafka-conformance watch --bootstrap-server HOST:PORT --for {name} --rehearse {name}"
    known = measured.get((client.software_name or "", client.software_version or ""))
    if known is None:
        yield Decision(outcome=PredictedOutcome.SERVED, sentence=_served_but(_why_unknown(client)), command=command)
        return
    operations = [operation for each in known for operation in each.operations]
    is_done = {each: _sent_by(each) <= set(seen) for each in operations}
    explaining = (_sent_by(each) for each in operations if is_done[each] and not each.unclear)
    unexplained = set(seen).difference({API_VERSIONS_KEY}, *explaining)
    listed = ranges_of(release.profile.api_keys)
    worst: dict[str, Decision] = {}
    for operation in operations:
        if not is_done[operation] and not _sent_by(operation) & unexplained:
            continue
        for need in operation.hidden:
            if _is_listed(need, listed):
                continue
            outcome = _outcome_of(need) if is_done[operation] else PredictedOutcome.SERVED
            if need.what in worst and WORST_FIRST.index(worst[need.what].outcome) <= WORST_FIRST.index(outcome):
                continue
            worst[need.what] = Decision(
                outcome=outcome,
                api_key=need.api_key,
                api_version=need.version,
                sentence=f"it needs {need.what}, which is not listed, although it does not send it; without it "
                f"{need.operation} {need.probe.outcome}: {need.probe.detail}",
                command=command if outcome is PredictedOutcome.SERVED else "",
            )
    yield from worst.values()
    if unmeasured := sorted(unexplained.difference(*map(_sent_by, operations))):
        why = f"what it needs for {', '.join(map(label_of, unmeasured))} was not measured"
        yield Decision(outcome=PredictedOutcome.SERVED, sentence=_served_but(why), command=command)


def _sent_by(operation: OperationNeeds) -> set[int]:
    """Return the APIs that an operation sends."""
    return {api.api_key for api in operation.apis if api.used}


def _outcome_of(need: HiddenNeed) -> PredictedOutcome:
    """Return what an unmet need means; what a client gives up at its start it may not use at all."""
    if need.probe.outcome is ProbeOutcome.BREAKS:
        return PredictedOutcome.BREAKS
    return PredictedOutcome.SERVED if need.operation == METADATA else PredictedOutcome.CANNOT_SAY


def _is_listed(need: HiddenNeed, listed: Mapping[int, Range]) -> bool:
    range_ = listed.get(need.api_key)
    return range_ is not None and (need.version is None or range_.lowest <= need.version)


def _why_unknown(client: ClientIdentity) -> str:
    if not client.software_name:
        return "it never said which software it is"
    who = " ".join(filter(None, (client.software_name, client.software_version)))
    return f"the needs of {who} were not measured"


def _served_but(why: str) -> str:
    return f"every request that was seen is served, but {why}: rehearse it, because it may read minimums"
