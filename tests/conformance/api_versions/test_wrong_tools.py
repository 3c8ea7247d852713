"""The tests of `api-versions` fail with a tool that violates a clause."""

from __future__ import annotations

import pytest

from tests.conformance.api_versions.wrong_tools import WRONG_TOOLS, WrongTool


@pytest.mark.parametrize("wrong", WRONG_TOOLS, ids=lambda wrong: wrong.name)
def test_wrong_tool_is_noticed(wrong: WrongTool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test passes with the right tool, as its own run shows."""
    where, name = wrong.replaces
    monkeypatch.setattr(where, name, wrong.wrong)
    with pytest.raises(AssertionError):
        wrong.noticed_by()
