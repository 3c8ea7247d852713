"""Rehearsals are compared with what happened with the real release."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from fixtures.registry.given_tables import given_table
from reference_model.profiles.known_apis import Range
from reference_model.profiles.release_tables import recorded_release
from reference_model.profiles.version_tables import ranges_of
from upgrade.prediction.releases import cut_release, release_named
from wire.api_keys import API_VERSIONS_KEY, FETCH_KEY, JOIN_GROUP_KEY, METADATA_KEY, PRODUCE_KEY
from workflows.rehearsals import RehearsedCase, apart, removals_to, summary

BASE = {
    PRODUCE_KEY: Range(0, 13),
    FETCH_KEY: Range(4, 18),
    METADATA_KEY: Range(0, 13),
    JOIN_GROUP_KEY: Range(0, 9),
    API_VERSIONS_KEY: Range(0, 4),
}


@pytest.mark.parametrize(
    ("release", "removals"),
    [
        pytest.param(BASE, [], id="the same"),
        pytest.param(BASE | {FETCH_KEY: Range(0, 17)}, ["Fetch 4-17"], id="an older maximum"),
        pytest.param(BASE | {JOIN_GROUP_KEY: Range(2, 9)}, ["JoinGroup 2-9"], id="a newer minimum"),
        pytest.param(BASE | {FETCH_KEY: Range(0, 3)}, ["no Fetch"], id="nothing in common"),
        pytest.param({key: BASE[key] for key in BASE if key != METADATA_KEY}, ["no Metadata"], id="no such API"),
        pytest.param(BASE | {API_VERSIONS_KEY: Range(0, 3)}, [], id="ApiVersions"),
        pytest.param(BASE | {99: Range(0, 1)}, [], id="what the base does not have"),
    ],
)
def test_removals_lead_to_what_both_have(release: dict[int, Range], removals: list[str]) -> None:
    assert [str(each) for each in removals_to(BASE, release)] == removals


def test_api_without_a_common_version_is_named() -> None:
    """One that the release does not have at all can be rehearsed: by removing it."""
    assert apart(BASE, {FETCH_KEY: Range(0, 3), METADATA_KEY: Range(0, 1)}) == ("Fetch",)


@pytest.mark.parametrize("release", ["2.3.1", "3.3.2", "4.0.0"])
def test_file_of_a_release_can_be_rehearsed_on_the_newest(release: str, tmp_path: Path) -> None:
    newest = release_named("apache-kafka-4.4.0")
    listed = ranges_of(newest.profile.api_keys)
    wanted = ranges_of(recorded_release(release).profile().api_keys)
    file = tmp_path / "release.txt"
    file.write_text("\n".join(map(str, removals_to(listed, wanted))))
    cut = cut_release(given_table(str(file)), newest)
    left = ranges_of(cut.profile.api_keys)
    common = {key: both for key in listed if key in wanted and (both := listed[key].common_with(wanted[key]))}
    assert {**left, API_VERSIONS_KEY: None} == {**common, API_VERSIONS_KEY: None}


def case(rehearsed: str, real: str) -> RehearsedCase:
    """Return a case."""
    return RehearsedCase(
        client="a-client", operation="produce", release="apache-kafka-4.0.0", rehearsed=rehearsed, real=real
    )


@pytest.mark.parametrize(
    ("rehearsed", "real", "agrees", "words"),
    [
        ("", "", True, "the rehearsal works, the release works"),
        ("it hangs", "no such API", True, "the rehearsal fails (it hangs), the release fails (no such API)"),
        ("it hangs", "", False, "the rehearsal fails (it hangs), the release works"),
        ("", "it hangs", False, "the rehearsal works, the release fails (it hangs)"),
    ],
)
def test_case_agrees_if_it_works_with_both_or_neither(rehearsed: str, real: str, agrees: bool, words: str) -> None:
    compared = case(rehearsed, real)
    assert compared.agrees is agrees
    assert str(compared) == f"a-client, produce, apache-kafka-4.0.0: {words}"


def test_summary_counts_by_release() -> None:
    console = Console(width=120)
    with console.capture() as shown:
        console.print(summary([case("", ""), case("", ""), case("x", "y"), case("x", "")]))
    assert shown.get().split()[-5:] == ["apache-kafka-4.0.0", "4", "2", "1", "1"]
