"""Measured needs for people.

That is what a client needs without sending it, and which versions it works with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reference_model.profiles.version_tables import Table
from reports.client_needs.needs import SCRIPTED, ApiNeeds, ClientNeeds, HiddenNeed, Probe, ProbeOutcome
from reports.client_needs.unmet_needs import UnmetNeed, unmet_needs
from reports.document.blocks import (
    Block,
    BulletList,
    CellLines,
    Code,
    Document,
    ListItem,
    Piece,
    Section,
    Sentence,
    Strong,
    Text,
    TextTable,
    VerdictWords,
)
from reports.records import Verdict
from reports.wording.verdict_labels import counted

_VERDICTS = {
    ProbeOutcome.WORKS: Verdict.CONFORMS,
    ProbeOutcome.GIVES_UP: Verdict.VIOLATES,
    ProbeOutcome.SAYS: Verdict.INFORMATIONAL,
    ProbeOutcome.BREAKS: Verdict.VIOLATES,
    ProbeOutcome.UNSTABLE: Verdict.INCONCLUSIVE,
}
_NOTHING_HIDDEN = "No hidden need was found: it needs only versions that it sends."
_NONE_FOUND = "No hidden need was found, but not everything could be said: see below."


def needs_document(measured: Sequence[ClientNeeds]) -> Document:
    """Return the report about some clients."""
    return Document(
        title="Which versions these clients need",
        blocks=tuple(Section(title=_title(each), blocks=tuple(_blocks(each))) for each in measured),
    )


def blocks_about(client: ClientNeeds) -> tuple[Block, ...]:
    """Return what a page about a client says about its needs; the table of all of them is folded."""
    blocks = [*_blocks(client)]
    how = Sentence((f"Measured with {_broker(client)}: ", Code(f"kafka-conformance needs {client.client}")))
    folded = (
        Section(title=each.caption, blocks=(replace(each, caption=""),), is_folded=True)
        for each in blocks
        if isinstance(each, TextTable)
    )
    return (how, *(each for each in blocks if not isinstance(each, TextTable)), *folded)


def blocks_about_release(measured: Sequence[ClientNeeds], table: Table) -> tuple[Block, ...]:
    """Return what a page about a release says: which of the measured clients need something that it lacks.

    Args:
        measured: the clients, measured with releases that are not newer.
        table: what the release supports.
    """
    unmet = [(client, needs) for client in measured if (needs := [*unmet_needs(client, table)])]
    number = "None" if not unmet else str(len(unmet))
    verb = "need" if len(unmet) > 1 else "needs"
    return (
        Sentence(
            f"{number} of {counted(len(measured), 'client')} whose needs were measured {verb} something that it lacks."
        ),
        *([BulletList(tuple(_lacking(client, needs) for client, needs in unmet))] if unmet else []),
    )


def _lacking(client: ClientNeeds, needs: Sequence[UnmetNeed]) -> ListItem:
    """Return what a client misses in a release; what is missing in the same way is named once."""
    alike: dict[tuple[str, Probe], list[str]] = {}
    for each in needs:
        alike.setdefault((each.what, each.probe), []).append(each.operation)
    pieces: list[Piece] = []
    for (what, probe), operations in alike.items():
        pieces += ["; " if pieces else "", Strong(what), f": without it {', '.join(operations)} ", *_outcome(probe)]
    return ListItem(tuple(pieces), client.client)


def _title(client: ClientNeeds) -> str:
    return f"{client.name} with {_broker(client)}"


def _broker(client: ClientNeeds) -> str:
    return "a scripted broker" if client.release == SCRIPTED else client.release


def _blocks(client: ClientNeeds) -> Iterator[Block]:
    hidden = client.hidden
    measured = [each for each in client.operations if not each.inconclusive]
    if client.measurements > 1:
        yield Sentence(f"{client.measurements} measurements agree on this. What differs is unstable, and no need.")
    if hidden:
        yield Sentence(
            f"{counted(len(hidden), 'hidden need')}: the client never sends this version or API, and still needs it"
        )
        alike: dict[tuple[object, ...], list[HiddenNeed]] = {}
        for each in hidden:
            alike.setdefault((each.what, each.used, each.probe), []).append(each)
        yield BulletList(tuple(map(_hidden, alike.values())))
    elif measured:
        yield Sentence(_NONE_FOUND if any(_inconclusive(client)) else _NOTHING_HIDDEN)
    rows = [(each.operation, api) for each in measured for api in each.apis if api.used]
    if rows:
        yield TextTable(
            columns=("API", "operations", "sends", "works with", "with others", "without the API"),
            rows=tuple(_rows(rows)),
            caption="Each API that the client sends, and what becomes of its operations without it",
        )
    if items := [*_inconclusive(client)]:
        yield Section(title="What could not be said", blocks=(BulletList(tuple(items)),))


def _hidden(alike: Sequence[HiddenNeed]) -> ListItem:
    """Return a need that several operations have in the same way."""
    need = alike[0]
    sends = f"it sends v{', v'.join(map(str, need.used))}" if need.used else "it never sends this API"
    return ListItem(
        (Strong(need.what), f": {sends}; with {need.probe.removed} ", *_outcome(need.probe)),
        ", ".join(each.operation for each in alike),
    )


def _outcome(probe: Probe) -> tuple[str | VerdictWords, ...]:
    words = VerdictWords(probe.outcome.value, _VERDICTS[probe.outcome])
    return (words, f": {probe.detail}") if probe.detail else (words,)


def _rows(needs: Sequence[tuple[str, ApiNeeds]]) -> Iterator[tuple[Text | CellLines, ...]]:
    """Yield a row for each API and each way in which operations need it."""
    alike: dict[tuple[object, ...], list[tuple[str, ApiNeeds]]] = {}
    for operation, api in needs:
        beyond = _beyond(api)
        key = api.api_key, api.used, api.works_with, tuple(probe.outcome for _, probe in beyond), api.removed.outcome
        alike.setdefault(key, []).append((operation, api))
    for group in sorted(alike.values(), key=lambda each: each[0][1].api_key):
        api = group[0][1]
        yield (
            api.name,
            ", ".join(operation for operation, _ in group),
            f"v{', v'.join(map(str, api.used))}",
            api.works_with + ("" if _is_monotone(api) else " (with gaps)"),
            CellLines(tuple((f"{where}: ", *_outcome(probe)) for where, probe in _beyond(api))),
            _outcome(api.removed),
        )


def _is_monotone(api: ApiNeeds) -> bool:
    return all(each is None or each.is_monotone for each in (api.minimum, api.maximum))


def _beyond(api: ApiNeeds) -> list[tuple[str, Probe]]:
    """Return what becomes of an operation one step beyond the versions that it works with."""
    edges = (("only older", api.maximum), ("only newer", api.minimum))
    return [(where, edge.failure) for where, edge in edges if edge is not None and edge.failure is not None]


def _inconclusive(client: ClientNeeds) -> Iterator[ListItem]:
    for operation in client.operations:
        if operation.inconclusive:
            yield ListItem(operation.inconclusive, operation.operation)
        for probe in operation.unclear:
            yield ListItem((f"with {probe.removed} ", *_outcome(probe)), operation.operation)
