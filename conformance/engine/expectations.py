"""Declared violations: which have expired, and which a run did not need.

What a target inherits from the release that it is judged like is declared for that release, and has to be corrected there:
it is never out of date for the target, and if a violation is gone, the target is better than the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from clauses.catalogue import catalogue
from fixtures.registry.targets import KnownViolation, Target
from reports.records import BROKEN_VERDICTS, Verdict
from reports.run.recorder import RunRecorder


def stale_expectations(targets: Iterable[Target]) -> list[str]:
    """Describe the declared violations that have expired or whose clause does not exist."""
    today = datetime.now(UTC).date()
    stale = []
    for target in targets:
        for known in _own_declarations(target):
            if known.clause not in catalogue():
                stale.append(f"{target.id} declares {known.clause}, which is not in the catalogue")
            elif known.expires <= today:
                stale.append(
                    f"the declaration of {known.clause} on {target.id} expired on {known.expires}"
                )
    return stale


def drop_unneeded(recorder: RunRecorder, targets: Iterable[Target]) -> None:
    """Drop the declarations that targets inherit, from the cells whose clause holds."""
    for target in targets:
        for key, cell in recorder.cells.items():
            if key.target != target.id or cell.verdict is not Verdict.UNEXPECTED_PASS:
                continue
            declared = [
                known
                for known in target.known_violations
                if known.holds_on(key.clause, key.listener)
            ]
            sources = {known.inherited_from for known in declared}
            if "" not in sources:
                recorder.mark_undeclared(key)
                recorder.note_left_out(
                    key,
                    f"the violation that is declared for {', '.join(sorted(sources))} was not found",
                )


def unmatched_expectations(recorder: RunRecorder, targets: Iterable[Target]) -> Iterator[str]:
    """Describe the declared violations that matched nothing in a run that judged their clause.

    A declaration whose clause holds is excluded: that is an unexpected pass.
    """
    for target in targets:
        for known in _own_declarations(target):
            for listener in set(known.listeners) - set(target.listeners):
                yield f"{target.id} declares {known.clause} on the listener {listener}, which it does not have"
            verdicts = {
                cell.verdict
                for key, cell in recorder.cells.items()
                if key.target == target.id and known.holds_on(key.clause, key.listener)
            }
            reason = _why_unmatched(recorder, target, known, verdicts)
            if reason:
                yield f"{target.id} declares {known.clause}, {reason}"


def _why_unmatched(
    recorder: RunRecorder, target: Target, known: KnownViolation, verdicts: set[Verdict]
) -> str:
    if verdicts == {Verdict.NOT_APPLICABLE}:
        return "which does not apply to it"
    if verdicts.isdisjoint(BROKEN_VERDICTS) or (target.id, known) in recorder.matched_expectations:
        return ""
    return f"but no failure matches {known.match!r}"


def _own_declarations(target: Target) -> Iterator[KnownViolation]:
    """Yield the declarations of a target that it does not inherit."""
    return (known for known in target.known_violations if not known.inherited_from)
