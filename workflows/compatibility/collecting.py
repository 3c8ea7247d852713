"""Collector of the data of docs/COMPATIBILITY.md from a grid.

It also finds the stored failure of each defect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from clauses.catalogue import Level, Role
from reference_model.profiles.listeners import PLAINTEXT, TLS_LISTENERS
from reference_model.profiles.profile import line_of, release_order
from reference_model.profiles.release_tables import RecordedRelease, recorded_releases
from reference_model.profiles.version_tables import RequestKind
from reports.grid.bugs import Bug, Evidence, bugs_of, title_of, without_log
from reports.grid.grid_view import FoldedGrid, reason_text
from reports.grid.history_tables import failures_by_run, stored_facts
from reports.grid.products import Product, evidence_of, library_in, library_of, owner_of, products_of
from reports.records import OPERATION, UNSETTLED_VERDICTS, Verdict
from reports.release_changes.client_versions import tried_operations
from reports.release_changes.rule_changes import RuleKind
from reports.release_changes.upgrade import upgrade_between
from reports.repeats import FailureClass
from reports.tables.failure_rows import KeptFailure
from reports.tables.run_rows import GridRun
from reports.tables.target_names import implementation_name
from reports.wording.escaping import one_line
from upgrade.planning.release_names import ends_named
from workflows.compatibility.data import (
    BROKEN,
    UNJUDGED,
    UNSUPPORTED,
    WORKS,
    Compatibility,
    Finding,
    JudgedVersion,
    LineStep,
    Made,
    TriedClient,
    Undecided,
    is_dotted,
)
from workflows.compatibility.kept_parts import ROLES, with_kept_parts
from workflows.compatibility.names import FindingIdentity, FindingName, named
from workflows.compatibility.scripts import PLAYER, SENDER

SYMBOLS = {
    Verdict.CONFORMS: WORKS,
    Verdict.INFORMATIONAL: UNSUPPORTED,
    Verdict.VIOLATES: BROKEN,
    Verdict.FLAKY: BROKEN,
    Verdict.INCONCLUSIVE: UNJUDGED,
}
"""The symbols of operations; one that cannot be tried, or was not, has a space."""
NOT_TRIED = " "
_SAY_NOTHING = {*UNSETTLED_VERDICTS, Verdict.NOT_APPLICABLE}
_LINKS = re.compile(r"\s*\(?https?://[^\s)]*\)?")
_MAX_REASON = 200
_LISTENER_OF_SCRIPT = re.compile(r"\blistener='(\w+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What was collected from a grid.

    Attributes:
        data: the data.
        kept: the ids of the findings that are kept as they were published, because the grid does not have their role.
        evidence: the failure that shows each other finding, by its id; a finding without a stored failure has none.
        names: the names of the other findings.
        names_before: the names that were given before.
    """

    data: Compatibility
    kept: frozenset[str]
    evidence: Mapping[str, Evidence]
    names: tuple[FindingName, ...]
    names_before: tuple[FindingName, ...]


def collect(
    folded: FoldedGrid,
    failures: Sequence[KeptFailure],
    project: str = "",
    names: tuple[FindingName, ...] = (),
    before: Compatibility | None = None,
) -> Collected:
    """Return the data of a grid, and what it lacks as it was published before.

    Args:
        folded: the grid.
        failures: its stored failures.
        project: the address of this project's repository; empty if it is not published.
        names: the names of findings that were given before.
        before: what was published before; None if nothing was.
    """
    products = products_of(folded, failures)
    judged = {product.id: _judged(product) for product in products}
    unnamed: list[tuple[Finding, Evidence | None, FindingIdentity]] = []
    for family in dict.fromkeys(each.family for each in judged.values()):
        own = [product for product in products if judged[product.id].family == family]
        for bug, reason in (*_open_bugs(own), *_declared_bugs(own, failures)):
            finding, shown = _finding(family, bug, reason, list(judged))
            since, fixed = between_versions(finding, own)
            unnamed.append((replace(finding, since=since, fixed=fixed), shown, _identity(finding, shown, bug)))
    made = {role: _made(runs) for role in ROLES if (runs := _runs_of(role, folded))}
    kept = frozenset(each.id for each in (before.findings if before else ()) if each.role not in made)
    own_names = named([identity for *_, identity in unnamed], names, kept)
    findings = [replace(finding, id=name.id) for (finding, *_), name in zip(unnamed, own_names, strict=True)]
    shown_by = zip(findings, (shown for _, shown, _ in unnamed), strict=True)
    broken = {clause for finding in findings for clause in finding.clauses}
    releases, clients = _operations(folded)
    data = Compatibility(
        project=project,
        made=made,
        levels={each.clause: each.level for each in folded.grid.clauses if each.clause in broken},
        products=tuple(judged.values()),
        findings=tuple(findings),
        releases=releases,
        clients=clients,
        steps=tuple(_steps(folded)),
        undecided=tuple(_undecided(products)),
    )
    evidence = {finding.id: shown for finding, shown in shown_by if shown is not None}
    return Collected(
        data=with_kept_parts(data, before), kept=kept, evidence=evidence, names=own_names, names_before=names
    )


def _runs_of(role: str, folded: FoldedGrid) -> Sequence[GridRun]:
    own = {entry.run_id for entry in folded.grid.targets if entry.role == role}
    return [run for run in folded.grid.runs if run.in_grid and run.run_id in own]


def _made(runs: Sequence[GridRun]) -> Made:
    return Made(
        date=max(run.finished_at for run in runs).date().isoformat(),
        version=max(runs, key=lambda run: run.finished_at).suite_version,
        commits=tuple(dict.fromkeys(run.suite_commit for run in runs if run.suite_commit)),
        tiers=tuple(sorted({run.tier for run in runs})),
        runs=len(runs),
    )


def _undecided(products: Sequence[Product]) -> Iterator[Undecided]:
    for product in products:
        for own in product.cells:
            if own.clause.level == Level.MUST and own.cell.verdict in UNSETTLED_VERDICTS:
                yield Undecided(
                    role=own.role,
                    product=product.id,
                    clause=own.clause.clause,
                    target=own.cell.target,
                    reason=one_line(without_log(reason_text(own.cell.worst)) or "no run judged it"),
                )


def _judged(product: Product) -> JudgedVersion:
    return JudgedVersion(
        id=product.id,
        family=implementation_name(library_of(product)),
        release=product.release,
        role=product.role,
        judged={
            role: any(own.role == role and own.cell.verdict not in _SAY_NOTHING for own in product.cells)
            for role in ROLES
            if any(own.role == role for own in product.cells) or (role == product.role and product.column)
        },
    )


def _open_bugs(products: Iterable[Product]) -> Iterator[tuple[Bug, str]]:
    """Yield the bugs of all versions of a product: the failures of two versions with one cause are one bug."""
    evidence = [each for product in products for bug in product.bugs for each in bug.evidence]
    return ((bug, "") for bug in bugs_of(evidence))


def _declared_bugs(products: Iterable[Product], failures: Sequence[KeptFailure]) -> Iterator[tuple[Bug, str]]:
    """Yield what is declared as known: the failures with the same reason are one bug."""
    kept = failures_by_run(failures)
    by_reason: dict[str, list[Evidence]] = {}
    reasons: dict[str, str] = {}
    for own in (own for product in products for own in product.cells):
        for row, evidence in evidence_of(own, kept, {Verdict.KNOWN_VIOLATION}):
            failure = evidence.failure
            reason = one_line((failure.known_violation if failure else "") or row.known_violation)
            # The source that a declaration links to differs from release to release.
            by_reason.setdefault(_without_links(reason), []).append(evidence)
            reasons.setdefault(_without_links(reason), reason)
    for title, alike in by_reason.items():
        yield Bug(title=title, evidence=tuple(alike), cause=("declared", title)), reasons[title]


def _without_links(reason: str) -> str:
    text = _LINKS.sub("", reason).strip().rstrip(".")
    return text if len(text) <= _MAX_REASON else f"{text[: _MAX_REASON - 1].rstrip()}…"


def _finding(family: str, bug: Bug, reason: str, order: Sequence[str]) -> tuple[Finding, Evidence | None]:
    """Return a finding without a name, and the failure that shows it best."""
    broken: dict[str, dict[str, None]] = {}
    for evidence in bug.evidence:
        broken.setdefault(_owner(evidence), {})[evidence.clause.clause] = None
    newest = next(owner for owner in order if owner in broken)
    # The title describes the newest version; a declaration has one text for all versions.
    own = [each for each in bug.evidence if _owner(each) == newest]
    shown = min((each for each in own if each.failure is not None), key=_usefulness, default=None)
    title = bug.title if reason else title_of(own, shown)
    finding = Finding(
        id="",
        role=_role(bug.first),
        family=family,
        title=one_line(title),
        broken={owner: tuple(broken[owner]) for owner in order if owner in broken},
        since="",
        fixed="",
        crashes=bug.crashes,
        declared=reason,
        tried_with=tuple(dict.fromkeys(each.target.target for each in bug.evidence)) if bug.first.is_operation else (),
        target="" if shown is None or shown.failure is None else shown.failure.target,
        listener="" if shown is None else _listener(shown),
        script=_script(shown),
    )
    return finding, shown


def between_versions(finding: Finding, versions: Sequence[Product]) -> tuple[str, str]:
    """Return since which version a product has a defect, and which has it no more; empty where that is not known.

    Versions without a number, such as "unknown" of a broker at an address, have no order.

    A version has it no more if each of its rules was judged and is kept there. What was not judged may have it.

    Args:
        finding: the defect.
        versions: the product in all versions that were judged.
    """
    if finding.tried_with or not all(map(is_dotted, (each.release for each in versions))):
        return "", ""
    by_release: dict[str, list[Product]] = {}
    for product in sorted(versions, key=lambda each: release_order(each.release)):
        by_release.setdefault(product.release, []).append(product)
    releases = list(by_release)
    having = [index for index, own in enumerate(by_release.values()) if any(each.id in finding.broken for each in own)]
    first, last = having[0], having[-1]
    before, after = (
        0 <= index < len(releases) and all(_keeps(finding, each) for each in by_release[releases[index]])
        for index in (first - 1, last + 1)
    )
    return releases[first] if before else "", releases[last + 1] if after else ""


def _keeps(finding: Finding, product: Product) -> bool:
    verdicts = {own.clause.clause: own.cell.verdict for own in product.cells}
    return all(verdicts.get(clause) is Verdict.CONFORMS for clause in finding.clauses)


def _identity(finding: Finding, shown: Evidence | None, bug: Bug) -> FindingIdentity:
    rule = finding.clauses[0]
    return FindingIdentity(
        family=finding.family,
        rule=rule.rpartition(".")[2] if finding.tried_with else rule,
        cause=bug.cause,
        signature="" if shown is None or shown.failure is None else shown.failure.signature,
    )


def _role(evidence: Evidence) -> str:
    return OPERATION if evidence.is_operation else Role.CLIENT if evidence.is_client else Role.BROKER


def _owner(evidence: Evidence) -> str:
    return owner_of(evidence.clause, evidence.target.target, _role(evidence))


def _script(shown: Evidence | None) -> str:
    if shown is None or shown.failure is None or not shown.failure.reproducer:
        return ""
    if not shown.is_client:
        return f"../../{SENDER}"
    # The script that plays a broker has no TLS; `replay` has.
    return "" if _listener(shown) in TLS_LISTENERS else f"../../{PLAYER}"


def _listener(evidence: Evidence) -> str:
    """Return the listener on which a failure was met: a scripted broker has that of its script."""
    assert evidence.failure is not None
    example = stored_facts(evidence.failure).get("example", "") if evidence.is_client else ""
    of_script = _LISTENER_OF_SCRIPT.search(str(example))
    return of_script[1] if of_script else evidence.failure.listener


def _usefulness(evidence: Evidence) -> tuple[bool, bool, bool, bool]:
    """Return the sort key of evidence: the most usable evidence first.

    A failure with a script comes first, then one on the plaintext listener, which needs no keys, then one that happens
    each time, then one whose rule fails a run. The sort keeps the rest of the order.
    """
    assert evidence.failure is not None
    repeats = stored_facts(evidence.failure).get("repeats") or {}
    return (
        not evidence.failure.reproducer,
        _listener(evidence) != PLAINTEXT,
        repeats.get("class") != FailureClass.DETERMINISTIC,
        not evidence.level_gates,
    )


def _operations(folded: FoldedGrid) -> tuple[tuple[str, ...], tuple[TriedClient, ...]]:
    tried = tried_operations(folded)
    releases = tuple(sorted({name for each in tried for name in each.by_release}, key=release_order))
    by_client: dict[str, dict[str, str]] = {}
    for operation in tried:
        cells = [operation.by_release.get(release) for release in releases]
        text = "".join(NOT_TRIED if cell is None else SYMBOLS.get(cell.verdict, NOT_TRIED) for cell in cells)
        if text.strip():
            by_client.setdefault(operation.client, {})[operation.operation] = text
    return releases, tuple(
        TriedClient(client=client, library=implementation_name(library_in(client)), operations=operations)
        for client, operations in by_client.items()
    )


def _steps(folded: FoldedGrid) -> Iterator[LineStep]:
    newest: dict[object, RecordedRelease] = {line_of(each.release): each for each in recorded_releases()}
    lines = [each.release for each in newest.values()]
    for older, newer in pairwise(lines):
        yield step_between(older, newer, folded)


def step_between(older: str, newer: str, folded: FoldedGrid | None) -> LineStep:
    """Return what changes from one release to another."""
    upgrade = upgrade_between(*ends_named(older, newer), folded)
    rules = None if upgrade.rules is None or upgrade.rules.absent else upgrade.rules
    worse, better = (
        None if rules is None else tuple(each.clause.clause for each in rules.of(kind))
        for kind in (RuleKind.WORSE, RuleKind.BETTER)
    )
    return LineStep(
        before=older,
        after=newer,
        lost=tuple(line.name for line in upgrade.requests.lost_by_clients),
        new=tuple(line.name for line in upgrade.requests.of(RequestKind.NEW) if line.is_for_clients),
        more=sum(line.is_for_clients for line in upgrade.requests.of(RequestKind.MORE)),
        moved=len(upgrade.requests.with_quorum),
        drops_old_clients=upgrade.loses_old_clients,
        worse=worse,
        better=better,
    )
