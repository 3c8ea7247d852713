"""Numbers as they are shown to readers."""

from __future__ import annotations

import pytest

from reports.verdict_labels import BROKER_DOUBT, percent, with_doubts


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        pytest.param(0.0, "0%", id="never"),
        pytest.param(0.004, "<1%", id="rare"),
        pytest.param(0.01, "1%", id="one"),
        pytest.param(0.15, "15%", id="sometimes"),
        pytest.param(1.0, "100%", id="always"),
    ],
)
def test_rare_is_not_never(rate: float, text: str) -> None:
    """A rate is shown in whole percent, but a small one is never 0 %."""
    assert percent(rate) == text


def test_doubts_follow_the_first_line() -> None:
    """A message without doubts is shown by its first line alone."""
    doubt = f"{BROKER_DOUBT}it lies"
    assert with_doubts(f"it hangs\n{doubt}\nthe play") == f"it hangs; {doubt}"
    assert with_doubts("it hangs\nthe play") == "it hangs"
    assert with_doubts("") == ""
