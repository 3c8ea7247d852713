"""What became of an operation from whose broker's table something was taken away."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from conformance.assertions.client_moves import check_environment, outcome_of
from conformance.assertions.missing_support import names_what_is_missing
from fixtures.client_processes.driver_output import OK
from fixtures.client_processes.driver_process import MEMORY
from fixtures.recording_proxy.written_codecs import written_codecs
from fixtures.scripted_broker.playing import Play
from reference_model.profiles.known_apis import label_of
from reports.client_needs.needs import ProbeOutcome
from wire.api_keys import API_VERSIONS_KEY

MAX_DETAIL = 200


@dataclass(frozen=True, slots=True)
class Usual:
    """What an operation does with nothing taken away, in each of several runs.

    Attributes:
        used: the versions that it sends, by API key, without ApiVersions.
        always: the APIs that it sends in every run.
        codecs: the codecs that it compresses with in every run.
        switched_off: the features that it says to switch off in some run.
        longest_ms: how long the longest run took.
    """

    used: dict[int, tuple[int, ...]]
    always: frozenset[int]
    codecs: frozenset[str]
    switched_off: frozenset[str]
    longest_ms: int


def usual_of(plays: Sequence[Play]) -> Usual:
    """Return what an operation does in some plays with nothing taken away, at least one."""
    versions: dict[int, set[int]] = {}
    for play in plays:
        for key, version in sent_by(play):
            versions.setdefault(key, set()).add(version)
    return Usual(
        used={key: tuple(sorted(versions[key])) for key in sorted(versions)},
        always=frozenset.intersection(*(frozenset(key for key, _ in sent_by(play)) for play in plays)),
        codecs=frozenset.intersection(*(written_codecs(play.recording) for play in plays)),
        switched_off=frozenset().union(*(play.result.found for play in plays)),
        longest_ms=max(play.result.duration_ms for play in plays),
    )


def sent_by(play: Play) -> Iterator[tuple[int, int]]:
    """Yield API key and version of each request of a play, without those about versions."""
    for each in play.recording.requests:
        if each.api_key != API_VERSIONS_KEY:
            yield each.api_key, each.api_version


def software_in(play: Play) -> tuple[str, str]:
    """Return the name and the version that a client states in ApiVersions requests; two empty texts if it does not."""
    bodies = (each.body for each in play.recording.requests if each.body is not None)
    stated = ((body.client_software_name, body.client_software_version) for body in bodies)
    return next((each for each in stated if any(each)), ("", ""))


def has_worked(play: Play) -> bool:
    """Return whether an operation worked.

    Raises:
        HarnessError: the client was ended from outside, or could not be started.
    """
    check_environment(play.result)
    return outcome_of(play) == OK


def outcome_without(play: Play, usual: Usual, removed: Collection[int]) -> tuple[ProbeOutcome, str]:
    """Return what became of an operation, and what it gave up, its error or how it ended.

    Args:
        play: what the client did.
        usual: what it does with nothing taken away.
        removed: the APIs of which the version is gone that it sends: that it sends nothing more of them is no loss.

    Raises:
        HarnessError: the client was ended from outside, or could not be started.
    """
    if has_worked(play):
        lost = [*_lost(play, usual, removed)]
        return (ProbeOutcome.GIVES_UP if lost else ProbeOutcome.WORKS), "; ".join(lost)
    result = play.result
    if result.signal is not None and not result.killed_for:
        return ProbeOutcome.BREAKS, f"its process is aborted by {result.signal}"
    if result.killed_for == MEMORY:
        return ProbeOutcome.BREAKS, "its process uses more memory than it may"
    if result.has_hung:
        return ProbeOutcome.BREAKS, "it hangs"
    detail = (result.detail or result.output.strip()[-MAX_DETAIL:] or "it fails without a word")[:MAX_DETAIL]
    says = names_what_is_missing(result.detail or result.output)
    return (ProbeOutcome.SAYS if says else ProbeOutcome.BREAKS), detail


def _lost(play: Play, usual: Usual, removed: Collection[int]) -> Iterator[str]:
    for codec in sorted(usual.codecs - written_codecs(play.recording)):
        yield f"its records are not compressed with {codec} any more"
    if more := sorted(set(play.result.found) - usual.switched_off):
        yield f"it switches off {', '.join(more)}"
    # Of a play with very many requests the last ones are only counted.
    if play.recording.all_requests == len(play.recording.requests):
        for key in sorted(usual.always - {key for key, _ in sent_by(play)} - set(removed)):
            yield f"it sends no {label_of(key)} any more"
