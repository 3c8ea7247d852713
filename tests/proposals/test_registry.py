"""The registry finds proposals by their folders, and imports parts on demand."""

from __future__ import annotations

import pytest

import proposals
from proposals import Proposal, merged, proposed_brokers, proposed_commands, provided

BARE = Proposal(package="proposals", source="KIP-0")
WITH_PARTS = Proposal(
    package="proposals",
    source="KIP-1",
    commands={"try": ("commands.trying", "Try it.")},
    brokers={"kip-1": "broker:make"},
    client_apis="__init__:ENTRIES",
)


@pytest.fixture
def two_proposals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be one proposal without any part, and one with some."""
    monkeypatch.setattr(proposals, "proposals", lambda: (BARE, WITH_PARTS))
    monkeypatch.setattr(Proposal, "load", lambda self, part: {self.source: part})


def test_every_folder_is_a_proposal() -> None:
    found = {each.package.rpartition(".")[2]: each.source for each in proposals.proposals()}
    assert {name.replace("_", "-").upper() for name in found} == set(found.values())


@pytest.mark.usefixtures("two_proposals")
def test_parts_of_all_proposals_are_asked_for() -> None:
    """A proposal without a part is left out."""
    assert list(provided("client_apis")) == [{"KIP-1": "__init__:ENTRIES"}]
    assert merged("client_apis") == {"KIP-1": "__init__:ENTRIES"}
    assert list(provided("page")) == []
    assert proposed_brokers() == {"kip-1": WITH_PARTS}
    assert proposed_commands() == {"try": ("proposals.commands.trying", "Try it.")}


def test_properties_have_a_folder_per_role() -> None:
    assert BARE.properties("brokers") == proposals.FOLDER / "properties" / "brokers"


def test_two_proposals_cannot_have_entries_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "proposals", lambda: (WITH_PARTS, WITH_PARTS))
    monkeypatch.setattr(Proposal, "load", lambda self, part: {"same": part})
    with pytest.raises(ValueError, match="client_apis of the same name"):
        merged("client_apis")
