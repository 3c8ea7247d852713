"""Scripts that have a name."""

from __future__ import annotations

import pytest

from reference_model.clients.scripts.named_scripts import NAMED_SCRIPTS, scripted_name


@pytest.mark.parametrize(
    ("target_id", "name"),
    [
        ("scripted", "healthy"),
        ("scripted+only-v0", "only-v0"),
        ("scripted+no-such", "no-such"),
        ("reference+tags-descend", None),
        ("scripted-broker", None),
    ],
)
def test_a_target_names_its_script(target_id: str, name: str | None) -> None:
    """Alone it is the healthy one; whether there is such a script is another question."""
    assert scripted_name(target_id) == name


def test_named_scripts_differ() -> None:
    """Each name is worth typing: no two brokers are the same."""
    assert len({repr(each) for each in NAMED_SCRIPTS.values()}) == len(NAMED_SCRIPTS)
