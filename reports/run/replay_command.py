"""The command that judges a failure again, as terminals, pages and issues show it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from reports.wording.escaping import printable

MAX_ADDRESSES = 20
"""Addresses that a command has at most; a target has one for each of its listeners."""


def replay_command(folder: str, facts: Mapping[str, Any], further: Sequence[str] = ()) -> str:
    """Return the command, for a shell.

    Args:
        folder: the folder of the failure.
        facts: what `failure.json` has, which may be foreign. `origin` says at which `addresses` the target was, if the
            suite did not start it, and of which `upstream` it is the proxy; `client_command`, whether a command that is
            the client may do more than others.
        further: options of the run that `replay` takes as well, with their values.
    """
    origin, client_command = (
        part if isinstance(part := facts.get(name), dict) else {} for name in ("origin", "client_command")
    )
    words = ["kafka-conformance", "replay", folder]
    for address in str(origin.get("addresses", "")).split()[:MAX_ADDRESSES]:
        words += ["--bootstrap-server", printable(address)]
    if "upstream" in origin:
        words += ["--upstream", printable(str(origin["upstream"]))]
    if client_command.get("unconfined"):
        words.append("--client-unconfined")
    return shlex.join([*words, *further])
