"""What measured needs mean, as a value, as JSON and for people."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reports.client_needs.needs import ApiNeeds, Edge
from reports.client_needs.needs_document import needs_document
from reports.client_needs.needs_json import MEASURED, InvalidNeeds, as_json, measured_clients, read_needs
from reports.document.markdown_form import markdown
from tests.reports.client_needs.measured import FETCH, HUNGRY, JOIN_GROUP, METADATA, MODEST, PRODUCE, UNSTABLE


@pytest.mark.parametrize(
    ("api", "hidden", "is_needed", "works_with"),
    [
        (METADATA, None, True, "v3 to v7"),
        (PRODUCE, 0, True, "v0"),
        (JOIN_GROUP, 1, False, ""),
        (FETCH, None, True, ""),
    ],
)
def test_hidden_version_is_older_than_what_is_sent(
    api: ApiNeeds, hidden: int | None, is_needed: bool, works_with: str
) -> None:
    assert (api.hidden_version, api.is_needed, api.works_with) == (hidden, is_needed, works_with)


def test_every_later_version_may_do() -> None:
    api = ApiNeeds(
        api_key=3,
        served=METADATA.served,
        used=(13,),
        minimum=Edge(version=13),
        maximum=Edge(version=2),
        removed=METADATA.removed,
    )
    assert api.works_with == "v2 or newer"


def test_client_may_need_an_old_and_a_new_version() -> None:
    """It derives one thing from the old one, and sends the new one."""
    api = ApiNeeds(
        api_key=3,
        served=METADATA.served,
        used=(9,),
        minimum=PRODUCE.minimum,
        maximum=Edge(version=4),
        removed=METADATA.removed,
    )
    assert api.works_with == "v0 and v4"


def test_hidden_needs_are_versions_and_apis() -> None:
    assert [(each.operation, each.what) for each in HUNGRY.hidden] == [
        ("produce", "Produce v0"),
        ("produce", "Fetch"),
        ("produce", "JoinGroup v1"),
    ]


def test_json_is_read_back_as_it_was() -> None:
    text = json.dumps(as_json([HUNGRY, MODEST])).encode()
    assert read_needs(text, "a file") == (HUNGRY, MODEST)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "a file is no output of `kafka-conformance needs --format json`"),
        (b'{"version": 2, "clients": []}', "a file: $.version: 1 was expected"),
    ],
)
def test_other_json_is_refused_in_one_sentence(text: bytes, message: str) -> None:
    with pytest.raises(InvalidNeeds) as raised:
        read_needs(text, "a file")
    assert str(raised.value).startswith(message)


def test_document_says_what_is_hidden_and_what_is_needed() -> None:
    text = markdown(needs_document([HUNGRY, MODEST]))
    for line in (
        "3 hidden needs: the client never sends this version or API, and still needs it",
        "- produce: **Produce v0**: it sends v10; with Produce 1\\+ gives something up: its records are not compressed",
        "- produce: **JoinGroup v1**: it never sends this API; with JoinGroup 2\\+ breaks: it hangs",
        "- consume: it works in 2 of 3 runs with nothing taken away: it hangs",
        "- produce: with no Heartbeat unstable: it works in 1 of 3 runs; otherwise: it hangs",
        "## modest with a scripted broker",
        "No hidden need was found: it needs only versions that it sends.",
    ):
        assert line in text
    (metadata,) = [line for line in text.splitlines() if line.startswith("| Metadata | metadata, produce ")]
    assert "| v7 | v3 to v7 |" in metadata
    assert "v0 \\(with gaps\\)" in text


def test_document_does_not_deny_needs_of_what_is_unclear() -> None:
    (metadata,) = MODEST.operations
    unsure = replace(MODEST, operations=(replace(metadata, unclear=(UNSTABLE,)),))
    assert "No hidden need was found, but not everything could be said: see below." in markdown(
        needs_document([unsure])
    )


def test_need_that_operations_share_is_one_entry() -> None:
    metadata, produce, _ = HUNGRY.operations
    twice = replace(HUNGRY, operations=(produce, replace(produce, operation="consume"), metadata))
    assert "- produce, consume: **JoinGroup v1**: it never sends this API" in markdown(needs_document([twice]))


def test_what_is_measured_follows_the_schema() -> None:
    assert read_needs(MEASURED.read_bytes(), MEASURED.name) == measured_clients()
