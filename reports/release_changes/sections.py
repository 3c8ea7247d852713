"""What an upgrade changes, as a report for the terminal, pages and Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from reference_model.clients.rules.transaction_versions import (
    FIRST_LEVEL_OF_V2,
    NEWEST_BEFORE_V2,
    TRANSACTION_VERSION,
)
from reference_model.profiles.known_apis import label_of
from reference_model.profiles.profile import line_of, release_order
from reference_model.profiles.version_tables import RequestKind
from reports.document.blocks import (
    Block,
    BulletList,
    Document,
    Hyperlink,
    ListItem,
    Section,
    Sentence,
    Strong,
)
from reports.grid.grid_view import verdict_text
from reports.records import Verdict
from reports.release_changes.levels import returning_line
from reports.release_changes.request_lines import RequestLine
from reports.release_changes.rule_changes import RuleChange, RuleKind
from reports.release_changes.steps import SOURCES, has_old_versions
from reports.release_changes.upgrade import Upgrade
from reports.wording.verdict_labels import counted

_NONE = "–"


_WITH_QUORUM = {
    RequestKind.GONE: "Gone with ZooKeeper",
    RequestKind.NEW: "New with KRaft",
}


def upgrade_report(upgrade: Upgrade) -> Document:
    """Return the complete report; a page shows the steps on the way itself, with links to other pages."""
    links = tuple(piece for each in SOURCES for piece in (", ", Hyperlink(each.title, each.link)))
    return Document(
        title=upgrade.title,
        blocks=(
            Sentence(Strong(upgrade.in_short)),
            *map(Sentence, upgrade.notes),
            *sections_of(upgrade),
            *_steps(upgrade),
            Sentence(("What Apache Kafka states: ", *links[1:], ".")),
        ),
    )


def sections_of(upgrade: Upgrade) -> tuple[Section, ...]:
    """Return the report's sections but for the steps on the way; one without content is left out."""
    sections = (
        _failing(upgrade),
        *_client_sections(upgrade),
        *_request_sections(upgrade),
        *_rule_sections(upgrade),
        _features(upgrade),
        *_level_sections(upgrade),
    )
    return tuple(section for section in sections if section.blocks)


def _section(title: str, lines: Iterable[ListItem]) -> Section:
    """Return lines as a section; those without a label are sentences."""
    blocks: list[Block] = []
    for has_label, group in groupby(lines, key=lambda line: bool(line.label)):
        own = tuple(group)
        blocks += [BulletList(own)] if has_label else [Sentence(line.text) for line in own]
    return Section(title=title, blocks=tuple(blocks))


def _failing(upgrade: Upgrade) -> Section:
    """Return who fails after the upgrade: the question with which everybody comes."""
    lines = [
        ListItem(f"tried with both: {each.result}", each.client, verdict=each.verdict)
        for each in upgrade.clients or ()
        if each.lost
    ]
    by_clients: dict[str, list[str]] = {}
    for line in _newest_first(upgrade.requests.lost_by_clients):
        by_clients.setdefault(line.failing_clients, []).append(line.name)
    lines += [
        ListItem(f"fail if they send {', '.join(names)}", f"{clients[:1].upper()}{clients[1:]}")
        for clients, names in by_clients.items()
    ]
    if gone := upgrade.requests.gone_with_zookeeper:
        names = ", ".join(line.name for line in gone)
        lines.append(ListItem(f"fail if they send {names}: gone with ZooKeeper", "All clients"))
    if not lines:
        lines = [ListItem("No client, by the recorded tables: no version of a request is lost.")]
    watch = f"kafka-conformance watch --bootstrap-server HOST:PORT --for {shlex.quote(upgrade.after.target)}"
    own = f"{watch} stands between them and a broker, and names those that will fail"
    return _section("Who will fail", [*lines, ListItem(own, "Your own clients")])


def _newest_first(lines: Sequence[RequestLine]) -> Sequence[RequestLine]:
    return sorted(lines, key=lambda line: release_order(line.too_old or "0"), reverse=True)


def _client_sections(upgrade: Upgrade) -> Iterator[Section]:
    if upgrade.clients is not None:
        ends = f"{upgrade.before.title} and {upgrade.after.title}"
        none = ListItem(f"No operation of a client was tried with both {ends} in this grid.")
        lines = [
            ListItem(f"{each.before} → {each.after}. {each.result}", each.client, verdict=each.verdict)
            for each in upgrade.clients
        ]
        yield _section("Your clients", lines or [none])
    yield _section("Java clients that Kafka supports", _statements(upgrade))


def _statements(upgrade: Upgrade) -> Iterator[ListItem]:
    served, release = upgrade.served, upgrade.after.release
    source = "" if has_old_versions(release) else " (KIP-896)"
    text = f"its own clients {served.stated} are supported with brokers of {release}{source}"
    if served.partly:
        text += f"; its tables call those of {served.partly[0]} to {served.partly[-1]} partly compatible"
    yield ListItem(f"{text}.", "Apache Kafka states")
    yield ListItem(
        f"those of {served.oldest} to {served.newest} share with {release} a version of each request for writing and reading.",
        "By the recorded tables",
    )
    if served.beyond:
        older = ", ".join(served.beyond)
        yield ListItem(f"{older}, although the tables would do.", "≠ Not supported")
    if served.missing:
        missing = ", ".join(served.missing)
        yield ListItem(f"{missing}, although Kafka supports them.", "≠ No common version")
    for operation in served.tried:
        against = f", against {operation.contradicts} ≠" if operation.contradicts else ""
        result = f"kafka-clients {operation.client} with {release}: {operation.text}{against}"
        yield ListItem(result, "Tried", verdict=operation.verdict)


def _request_sections(upgrade: Upgrade) -> Iterator[Section]:
    for kind, lines in upgrade.requests.by_kind.items():
        yield _section(f"Requests: {kind} ({len(lines)})", _by_meaning(lines))
    moved = upgrade.requests.with_quorum
    by_kind = {label: [_step(line) for line in moved if line.kind is kind] for kind, label in _WITH_QUORUM.items()}
    yield _section(
        f"Requests that come or go with KRaft, not with the release ({len(moved)})",
        [ListItem(", ".join(steps), label) for label, steps in by_kind.items() if steps],
    )


def _by_meaning(lines: Sequence[RequestLine]) -> Iterator[ListItem]:
    """Yield one line for each meaning; requests that concern the newest clients come first."""
    for meaning in dict.fromkeys(line.meaning for line in _newest_first(lines)):
        own = (_step(line) for line in lines if line.meaning == meaning)
        yield ListItem(", ".join(own), meaning[:1].upper() + meaning[1:])


def _step(line: RequestLine) -> str:
    """Return a request with its versions before and after: "Fetch 0-11 → 4-18". A new or gone one has one range."""
    ranges = filter(None, (line.change.before, line.change.after))
    return f"{line.name} {' → '.join(map(str, ranges))}"


def _rule_sections(upgrade: Upgrade) -> Iterator[Section]:
    rules = upgrade.rules
    if rules is None:
        return
    if rules.absent:
        absent = " and ".join(rules.absent)
        yield _section("Rules", [ListItem(f"This grid has no verdicts of {absent}.")])
        return
    unclear = f"; {rules.unclear} could not be judged on one of them" if rules.unclear else ""
    differing = len(rules.changes) + len(rules.with_quorum)
    judged = counted(rules.compared, "rule")
    sentences = [f"{differing} of {judged} that were judged on both{unclear}."]
    if rules.is_quorum_mixed and differing:
        sentences.append("Some may differ with KRaft and not with the release: this grid cannot tell.")
    yield _section("Rules whose verdict differs", map(ListItem, sentences))
    for kind in RuleKind:
        changes = rules.of(kind)
        title = f"Rules: {kind} ({len(changes)})"
        is_long = kind in (RuleKind.APPLIES, RuleKind.ENDS)
        lines = _names_by_verdict(changes, kind) if is_long else map(_rule_line, changes)
        yield _section(title, lines)
    moved = rules.with_quorum
    yield _section(f"Rules that differ with KRaft, not with the release ({len(moved)})", map(_rule_line, moved))


def _names_by_verdict(changes: Sequence[RuleChange], kind: RuleKind) -> Iterator[ListItem]:
    """Yield the names of rules that apply to one of the releases only, a line for each verdict."""
    verdicts = [each.after if kind is RuleKind.APPLIES else each.before for each in changes]
    for verdict in dict.fromkeys(verdicts):
        pairs = zip(changes, verdicts, strict=True)
        names = ", ".join(each.clause.clause for each, own in pairs if own is verdict)
        yield ListItem(names, verdict_text(verdict))


def _rule_line(change: RuleChange) -> ListItem:
    verdicts = (change.before, change.after)
    step = " → ".join(map(verdict_text, verdicts))
    text = f"{step}. {change.why}" if change.why else step
    is_violated = Verdict.VIOLATES in verdicts
    return ListItem(
        text, change.clause.clause, change.clause.statement, verdict=Verdict.VIOLATES if is_violated else None
    )


def _features(upgrade: Upgrade) -> Section:
    lines = [ListItem(f"{each.before or _NONE} → {each.after or _NONE}", each.name) for each in upgrade.features]
    return _section("Features of the cluster", lines)


def _level_sections(upgrade: Upgrade) -> Iterator[Section]:
    """Yield what operators ask who upgrade the brokers first, and finalize the features later or never."""
    levels = upgrade.levels
    if levels is None:
        return
    name = levels.unfinalized.title
    lines = [ListItem(f"{name} lists the same versions as {upgrade.after.title} at its own levels.", "Requests")]
    lines += [
        ListItem(", ".join(names), f"Refused until {each} is finalized") for each, names in levels.refused.items()
    ]
    if levels.limits_transactions:
        newest = ", ".join(f"{label_of(key)} v{version}" for key, version in NEWEST_BEFORE_V2.items())
        level = f"{TRANSACTION_VERSION} is {FIRST_LEVEL_OF_V2}"
        text = f"clients may send no newer version than {newest} in a transaction until {level}"
        refused = "a newer Produce is listed, and answered with UNSUPPORTED_VERSION."
        lines.append(ListItem(f"{text}; {refused}", "In transactions"))
    line = levels.unfinalized.level
    # From ZooKeeper one goes to that line first, and comes back to nothing older.
    where = "yes" if line_of(upgrade.before.release) >= line_of(line) else f"to {line}, and no further"
    back = f"{where}, as long as nothing is finalized"
    start = f"kafka-conformance start {levels.unfinalized.target} starts such a broker."
    lines.append(ListItem(f"{back}; {start}", "Can I go back"))
    yield _section("If you upgrade the brokers and do not finalize", lines)
    rising = ", ".join(f"{each} {old or 'not set'} → {new}" for each, (old, new) in levels.rising.items())
    lines = [ListItem(rising, "Levels"), ListItem(returning_line(levels, upgrade.before), "Can I go back")]
    yield _section("If you finalize", lines)


def _steps(upgrade: Upgrade) -> Iterator[Section]:
    if upgrade.steps:
        items = tuple(
            ListItem(
                (step.text, " (", Hyperlink(step.source.title, step.source.link), ")") if step.source else step.text
            )
            for step in upgrade.steps
        )
        yield Section(title="On the way", blocks=(BulletList(items, is_numbered=True),))
