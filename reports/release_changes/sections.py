"""What an upgrade changes, as sections for the terminal, pages and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reference_model.profiles.profile import release_order
from reference_model.profiles.version_tables import RequestKind
from reports.grid.grid_view import verdict_text
from reports.release_changes.request_lines import RequestLine
from reports.release_changes.rule_changes import RuleChange, RuleKind
from reports.release_changes.steps import has_old_versions
from reports.release_changes.upgrade import Upgrade
from reports.wording.verdict_labels import counted

_NONE = "–"


_WITH_QUORUM = {
    RequestKind.GONE: "Gone with ZooKeeper",
    RequestKind.NEW: "New with KRaft",
}


class TextLine(NamedTuple):
    """One line of a section: a label, a text, and a note that only pages have space for.

    The label says what or whom the line is about, and is empty if that is clear.
    """

    label: str
    text: str
    note: str = ""

    @property
    def has_label(self) -> bool:
        """Whether the line has a label."""
        return bool(self.label)

    def __str__(self) -> str:
        return f"{self.label}: {self.text}" if self.label else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of the report."""

    title: str
    lines: tuple[TextLine, ...] = ()


def sections_of(upgrade: Upgrade, *, with_steps: bool = True) -> tuple[Section, ...]:
    """Return the report's sections; one without content is left out.

    Args:
        upgrade: what changes.
        with_steps: whether the steps on the way are one of them; a page shows these with links.
    """
    sections = (
        _failing(upgrade),
        *_client_sections(upgrade),
        *_request_sections(upgrade),
        *_rule_sections(upgrade),
        _features(upgrade),
        *([_steps(upgrade)] if with_steps else []),
    )
    return tuple(section for section in sections if section.lines)


def _failing(upgrade: Upgrade) -> Section:
    """Return who fails after the upgrade: the question with which everybody comes."""
    lines = [TextLine(each.client, f"tried with both: {each.result}") for each in upgrade.clients or () if each.lost]
    by_clients: dict[str, list[str]] = {}
    for line in _newest_first(upgrade.requests.lost_by_clients):
        by_clients.setdefault(line.failing_clients, []).append(line.name)
    lines += [
        TextLine(f"{clients[:1].upper()}{clients[1:]}", f"fail if they send {', '.join(names)}")
        for clients, names in by_clients.items()
    ]
    if gone := upgrade.requests.gone_with_zookeeper:
        names = ", ".join(line.name for line in gone)
        lines.append(TextLine("All clients", f"fail if they send {names}: gone with ZooKeeper"))
    if not lines:
        lines = [TextLine("", "No client, by the recorded tables: no version of a request is lost.")]
    watch = f"kafka-conformance watch --bootstrap-server HOST:PORT --for {upgrade.after.target}"
    lines.append(
        TextLine(
            "Your own clients",
            f"{watch} stands between them and a broker, and names those that will fail",
        )
    )
    return Section(title="Who will fail", lines=tuple(lines))


def _newest_first(lines: Sequence[RequestLine]) -> Sequence[RequestLine]:
    return sorted(lines, key=lambda line: release_order(line.too_old or "0"), reverse=True)


def _client_sections(upgrade: Upgrade) -> Iterator[Section]:
    if upgrade.clients is not None:
        ends = f"{upgrade.before.title} and {upgrade.after.title}"
        none = TextLine("", f"No operation of a client was tried with both {ends} in this grid.")
        lines = [TextLine(each.client, f"{each.before} → {each.after}. {each.result}") for each in upgrade.clients]
        yield Section(title="Your clients", lines=tuple(lines or [none]))
    yield Section(title="Java clients that Kafka supports", lines=tuple(_statements(upgrade)))


def _statements(upgrade: Upgrade) -> Iterator[TextLine]:
    served, release = upgrade.served, upgrade.after.release
    source = "" if has_old_versions(release) else " (KIP-896)"
    text = f"its own clients {served.stated} are supported with brokers of {release}{source}"
    if served.partly:
        text += f"; its tables call those of {served.partly[0]} to {served.partly[-1]} partly compatible"
    yield TextLine("Apache Kafka states", f"{text}.")
    yield TextLine(
        "By the recorded tables",
        f"those of {served.oldest} to {served.newest} share with {release} a version of each request for writing and reading.",
    )
    if served.beyond:
        older = ", ".join(served.beyond)
        yield TextLine("≠ Not supported", f"{older}, although the tables would do.")
    if served.missing:
        missing = ", ".join(served.missing)
        yield TextLine("≠ No common version", f"{missing}, although Kafka supports them.")
    for each in served.tried:
        against = f", against {each.contradicts} ≠" if each.contradicts else ""
        yield TextLine("Tried", f"kafka-clients {each.client} with {release}: {each.text}{against}")


def _request_sections(upgrade: Upgrade) -> Iterator[Section]:
    for kind, lines in upgrade.requests.by_kind.items():
        title = f"Requests: {kind} ({len(lines)})"
        yield Section(title=title, lines=tuple(_by_meaning(lines)))
    moved = upgrade.requests.with_quorum
    yield Section(
        title=f"Requests that come or go with KRaft, not with the release ({len(moved)})",
        lines=tuple(
            TextLine(label, ", ".join(_step(line) for line in moved if line.kind is kind))
            for kind, label in _WITH_QUORUM.items()
            if any(line.kind is kind for line in moved)
        ),
    )


def _by_meaning(lines: Sequence[RequestLine]) -> Iterator[TextLine]:
    """Yield one line for each meaning; requests that concern the newest clients come first."""
    for meaning in dict.fromkeys(line.meaning for line in _newest_first(lines)):
        own = (_step(line) for line in lines if line.meaning == meaning)
        yield TextLine(meaning[:1].upper() + meaning[1:], ", ".join(own))


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
        yield Section(title="Rules", lines=(TextLine("", f"This grid has no verdicts of {absent}."),))
        return
    unclear = f"; {rules.unclear} could not be judged on one of them" if rules.unclear else ""
    differing = len(rules.changes) + len(rules.with_quorum)
    judged = counted(rules.compared, "rule")
    sentences = [f"{differing} of {judged} that were judged on both{unclear}."]
    if rules.is_quorum_mixed and differing:
        sentences.append("Some may differ with KRaft and not with the release: this grid cannot tell.")
    yield Section(title="Rules whose verdict differs", lines=tuple(TextLine("", each) for each in sentences))
    for kind in RuleKind:
        changes = rules.of(kind)
        title = f"Rules: {kind} ({len(changes)})"
        is_long = kind in (RuleKind.APPLIES, RuleKind.ENDS)
        lines = _names_by_verdict(changes, kind) if is_long else map(_rule_line, changes)
        yield Section(title=title, lines=tuple(lines))
    moved = rules.with_quorum
    yield Section(
        title=f"Rules that differ with KRaft, not with the release ({len(moved)})",
        lines=tuple(map(_rule_line, moved)),
    )


def _names_by_verdict(changes: Sequence[RuleChange], kind: RuleKind) -> Iterator[TextLine]:
    """Yield the names of rules that apply to one of the releases only, a line for each verdict."""
    verdicts = [each.after if kind is RuleKind.APPLIES else each.before for each in changes]
    for verdict in dict.fromkeys(verdicts):
        pairs = zip(changes, verdicts, strict=True)
        names = ", ".join(each.clause.clause for each, own in pairs if own is verdict)
        yield TextLine(verdict_text(verdict), names)


def _rule_line(change: RuleChange) -> TextLine:
    step = " → ".join(verdict_text(each) for each in (change.before, change.after))
    text = f"{step}. {change.why}" if change.why else step
    return TextLine(change.clause.clause, text, change.clause.statement)


def _features(upgrade: Upgrade) -> Section:
    return Section(
        title="Features of the cluster",
        lines=tuple(
            TextLine(each.name, f"{each.before or _NONE} → {each.after or _NONE}") for each in upgrade.features
        ),
    )


def _steps(upgrade: Upgrade) -> Section:
    return Section(
        title="On the way",
        lines=tuple(
            TextLine("", f"{number}. {step.text}{f' ({step.source.title})' if step.source else ''}")
            for number, step in enumerate(upgrade.steps, start=1)
        ),
    )
