"""What a release lacks of what clients were measured to need."""

from __future__ import annotations

import pytest

from reference_model.profiles.known_apis import Range
from reference_model.profiles.release_tables import recorded_release
from reference_model.profiles.version_tables import Support
from reports.client_needs.needs import ProbeOutcome
from reports.client_needs.needs_document import blocks_about, blocks_about_release
from reports.client_needs.needs_json import measured_clients
from reports.client_needs.unmet_needs import unmet_needs
from reports.document.blocks import Document, Section
from reports.document.markdown_form import markdown
from tests.reports.client_needs.measured import HUNGRY, MODEST
from wire.api_keys import FETCH_KEY, JOIN_GROUP_KEY, METADATA_KEY, PRODUCE_KEY

EVERYTHING = {
    METADATA_KEY: Support(Range(0, 13)),
    PRODUCE_KEY: Support(Range(0, 11)),
    JOIN_GROUP_KEY: Support(Range(0, 9)),
    FETCH_KEY: Support(Range(0, 17)),
}
BOTH = [("metadata", "Metadata v0 to v7"), ("produce", "Metadata v0 to v7")]


@pytest.mark.parametrize(
    ("changed", "unmet"),
    [
        ({}, []),
        # What is sent has to be served, what is read from the table only to be listed.
        ({PRODUCE_KEY: Support(Range(0, 11), refused=Range(0, 2))}, []),
        ({METADATA_KEY: Support(Range(0, 13), refused=Range(0, 7))}, BOTH),
        ({PRODUCE_KEY: Support(Range(1, 11))}, [("produce", "Produce v0")]),
        ({JOIN_GROUP_KEY: Support(Range(2, 9))}, [("produce", "JoinGroup v0 to v1")]),
        ({JOIN_GROUP_KEY: None}, []),
        ({FETCH_KEY: Support(Range(16, 18))}, []),
        ({FETCH_KEY: None}, [("produce", "Fetch")]),
        # A release that is older than the one that the needs were measured with.
        ({METADATA_KEY: Support(Range(0, 2))}, []),
    ],
    ids=str,
)
def test_unmet_is_what_was_removed(changed: dict[int, Support | None], unmet: list[tuple[str, str]]) -> None:
    table = {key: support for key, support in (EVERYTHING | changed).items() if support is not None}
    assert [(each.operation, each.what) for each in unmet_needs(HUNGRY, table)] == unmet


def test_what_4_0_0_removed_by_mistake_follows_from_what_was_measured() -> None:
    """JoinGroup v0 came back in 4.0.1."""
    (old,) = [each for each in measured_clients() if each.client == "confluent-kafka-2.8.2"]
    removed, back = (
        {each.what for each in unmet_needs(old, recorded_release(release).table())} for release in ("4.0.0", "4.0.2")
    )
    assert removed - back == {"JoinGroup v0"}


def test_release_names_the_clients_that_miss_something() -> None:
    blocks = blocks_about_release([HUNGRY, MODEST], EVERYTHING | {JOIN_GROUP_KEY: Support(Range(2, 9))})
    text = markdown(Document(title="", blocks=blocks))
    assert "1 of 2 clients whose needs were measured needs something that it lacks." in text
    assert f"- a-client-1.0: **JoinGroup v0 to v1**: without it produce {ProbeOutcome.BREAKS}: it hangs" in text
    assert "modest" not in text


def test_release_that_lacks_nothing_says_so() -> None:
    (sentence,) = blocks_about_release([HUNGRY, MODEST], EVERYTHING)
    text = markdown(Document(title="", blocks=(sentence,)))
    assert "None of 2 clients whose needs were measured needs something that it lacks." in text


def test_page_of_a_client_says_how_it_was_measured_and_folds_its_table() -> None:
    blocks = blocks_about(HUNGRY)
    text = markdown(Document(title="", blocks=blocks))
    assert "Measured with apache-kafka-3.9.2: `kafka-conformance needs a-client-1.0`" in text
    (folded,) = [each for each in blocks if isinstance(each, Section) and each.is_folded]
    assert folded.title == "Each API that the client sends, and what becomes of its operations without it"
