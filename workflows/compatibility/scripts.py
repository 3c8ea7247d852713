"""The two scripts next to all findings.

One sends bytes to a broker, one plays a broker to a client. Both get the folder of a finding, and read its
`failure.json`.
"""

from __future__ import annotations

from collections.abc import Mapping

from reports.run.client_reproducer import render_player
from reports.run.failures import render_sender, script_templates

SENDER = "send_again.py"
"""Sends the requests of a broker's failure again."""
PLAYER = "play_broker.py"
"""Plays the broker of a client's failure."""


def finding_scripts() -> Mapping[str, str]:
    """Return the source of each script by its name."""
    return {SENDER: render_sender(), PLAYER: render_player(script_templates())}
