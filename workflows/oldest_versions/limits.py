"""Whether a release is the reason why older versions of a library fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference_model.profiles.profile import release_order
from workflows.oldest_versions.results import Oldest, Tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Libraries by what limits their versions with a release.

    Attributes:
        failing: "sarama before 1.41.2 (1.40.1 was tried)", with a note if it was not tried with an older release.
        elsewhere: the same of those that fail with an older release as well, so that the newer one is not the reason.
        not_found: the libraries of which no version was seen to fail.
        unclear: those whose search ended early.
    """

    failing: tuple[str, ...]
    elsewhere: tuple[str, ...]
    not_found: tuple[str, ...]
    unclear: tuple[str, ...]


def limits_of(found: Sequence[Oldest], all_found: Sequence[Oldest]) -> Limits:
    """Return what limits the versions of libraries with a release.

    Args:
        found: what was measured with the release.
        all_found: that, and what was measured with others.
    """
    failing, elsewhere, not_found, unclear = [], [], [], []
    for each in found:
        if each.unclear:
            unclear.append(each.library)
        elif each.works is None:
            failing.append(f"{each.library} in every version")
        elif not each.is_exact or each.fails is None:
            not_found.append(each.library)
        else:
            sentence = f"{each.library} before {each.works.name} ({each.fails.name} was tried"
            before = _with_oldest_release(each, all_found)
            if before is None:
                failing.append(f"{sentence}, with no older release)")
            elif _fails(each.fails, before):
                elsewhere.append(f"{sentence})")
            else:
                failing.append(f"{sentence})")
    return Limits(
        failing=tuple(failing), elsewhere=tuple(elsewhere), not_found=tuple(not_found), unclear=tuple(unclear)
    )


def _with_oldest_release(own: Oldest, all_found: Sequence[Oldest]) -> Oldest | None:
    """Return what was measured of the same library with the oldest release; None if there is none that is older."""
    older = [each for each in all_found if each.library == own.library and _number(each) < _number(own)]
    return min(older, key=_number, default=None)


def _fails(tried: Tried, before: Oldest) -> bool:
    return before.fails is not None and before.fails.version == tried.version


def _number(found: Oldest) -> tuple[int, ...]:
    return release_order(found.release.removeprefix("apache-kafka-"))
