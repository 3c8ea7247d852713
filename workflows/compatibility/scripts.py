"""The two scripts next to all findings.

One sends bytes to a broker, one plays a broker to a client. Both get the folder of a finding, and read its
`failure.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import CodeType
from typing import Any

from reference_model.clients.scripts.script import Script
from reports.run.client_reproducer import render_client_reproducer, render_player
from reports.run.failures import render_sender, script_templates

SENDER = "send_again.py"
"""Sends the requests of a broker's failure again."""
PLAYER = "play_broker.py"
"""Plays the broker of a client's failure."""


def finding_scripts() -> Mapping[str, str]:
    """Return the source of each script by its name."""
    return {SENDER: render_sender(), PLAYER: render_player(script_templates())}


def player_can_show(facts: Mapping[str, Any]) -> bool:
    """Return whether the player ends with 1 if a client does again what was recorded.

    Otherwise it ends with 2, because requests alone do not show the failure: the client hangs, for example.

    Args:
        facts: the data of a client's finding, with its `play`.
    """
    first, *others = str(facts["message"]).split("\n")
    player: dict[str, Any] = {"__name__": PLAYER}
    exec(_player_of_nothing(), player)
    player |= {"DATA": facts["play"], "MESSAGE": first, "SUMMARY": others[-1] if others else ""}
    return bool(player["can_show"]())


@cache
def _player_of_nothing() -> CodeType:
    """Return the player's code with its functions, but without a failure."""
    texts = dict.fromkeys(("clause", "statement", "target", "listener", "message", "summary"), "")
    return compile(render_client_reproducer(script_templates(), texts, Script(nodes=()), {}), PLAYER, "exec")
