"""Which libraries have an oldest version because of a release, and which for another reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workflows.oldest_versions.results import Oldest


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Libraries by what limits their versions with a release.

    Attributes:
        breaking: "sarama before 1.41.2 (1.40.1 was tried)": not tried with the release before, or working there.
        elsewhere: the same of those that fail with the release before as well, so that the release is not the reason.
        not_found: the libraries of which no version was seen to fail.
    """

    breaking: tuple[str, ...]
    elsewhere: tuple[str, ...]
    not_found: tuple[str, ...]


def limits_of(found: Sequence[Oldest], release: str, before: str) -> Limits:
    """Return what limits the versions of each library with a release.

    Args:
        found: what was measured.
        release: the release: "apache-kafka-4.4.0".
        before: the release to compare it with, from which a cluster is upgraded.
    """
    failing_before = {(each.library, each.fails.version) for each in found if each.release == before and each.fails}
    breaking, elsewhere, not_found = [], [], []
    for each in found:
        if each.release != release:
            continue
        if not each.is_exact or each.works is None or each.fails is None:
            not_found.append(each.library)
            continue
        sentence = f"{each.library} before {each.works.name} ({each.fails.name} was tried)"
        fails_before = (each.library, each.fails.version) in failing_before
        (elsewhere if fails_before else breaking).append(sentence)
    return Limits(breaking=tuple(breaking), elsewhere=tuple(elsewhere), not_found=tuple(not_found))
