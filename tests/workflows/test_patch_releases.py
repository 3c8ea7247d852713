"""Patch releases are compared by what the classes of their jars list."""

from __future__ import annotations

import pytest

from fixtures.artefacts.schema_jars import clients_jar
from reference_model.profiles.profile import profile_of
from workflows.patch_releases.__main__ import listed_versions
from workflows.patch_releases.comparison import difference, recorded_equals

ONE, OTHER = {("broker", 11): (2, 9)}, {("broker", 11): (0, 9), ("broker", 0): (3, 12)}
PRODUCE, TELEMETRY = 0, (71, 72)


def test_a_patch_release_with_a_recorded_table_needs_no_target() -> None:
    """The newest recorded one of its line stands for it; one that differs from all of them stands alone."""
    listed = {"4.0.0": ONE, "4.0.1": OTHER, "4.0.2": OTHER, "4.0.3": OTHER, "4.1.0": OTHER}
    assert recorded_equals(listed, ["4.0.2", "4.0.3"]) == {"4.0.0": "", "4.0.1": "4.0.3", "4.1.0": ""}


def test_recorded_releases_of_a_line_are_compared() -> None:
    """Each API that differs is one line, in the words of the schemas."""
    listed = {"4.0.0": ONE, "4.0.2": OTHER}
    assert [*difference("4.0.0", listed, ["4.0.0", "4.0.2"])] == [
        "Produce on the broker listener: not listed in 4.0.0, 3-12 in 4.0.2",
        "JoinGroup on the broker listener: 2-9 in 4.0.0, 0-9 in 4.0.2",
    ]
    assert [*difference("4.0.2", listed, ["4.0.0", "4.0.2"])] == []


@pytest.mark.slow
def test_classes_of_a_jar_list_what_a_broker_was_seen_to_list() -> None:
    """They do but for Produce, which brokers list from v0 on, and telemetry, which needs a plugin."""
    (listed,) = listed_versions([clients_jar("4.4.0")])
    recorded = {each.api_key: (each.min_version, each.max_version) for each in profile_of("4.4.0").api_keys}
    of_brokers = {key: range_ for (listener, key), range_ in listed.items() if listener == "broker"}
    assert of_brokers == {**recorded, PRODUCE: (3, 13), **dict.fromkeys(TELEMETRY, (0, 0))}
