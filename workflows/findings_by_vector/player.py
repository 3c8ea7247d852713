"""Plays plays to a client by the player in Go, as any project may do it.

That is `vectors/examples/go_player`.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from conformance.vectors.vector_set import FOLDER
from fixtures.client_processes.installation import installed
from fixtures.errors import ArtefactUnavailable
from fixtures.registry.clients import Client
from reference_model.broker.rules.sasl import CREDENTIALS

PLAYER = FOLDER / "examples" / "go_player"
BUILD_LIMIT_S = 900
PLAYS_LIMIT_S = 3600
START = "3s"
"""How long a client may take to start, on top of the time of its play."""


def build_player(folder: Path) -> Path:
    """Build the player in a folder; return the program.

    Raises:
        ArtefactUnavailable: Go is not installed.
    """
    go = shutil.which("go")
    if go is None:
        raise ArtefactUnavailable("the player of plays needs Go: install it")
    program = folder / "player"
    subprocess.run([go, "build", "-o", str(program), "."], cwd=PLAYER, check=True, timeout=BUILD_LIMIT_S)
    return program


def login_arguments(client: Client) -> str:
    """Return the arguments with which a client logs in; empty if it cannot, and so has no findings about that."""
    if "sasl_plain" not in client.options:
        return ""
    return shlex.join(client.option("sasl_plain", **dataclasses.asdict(CREDENTIALS)))


def play(player: Path, client: Client, ids: Sequence[str] = (), *, parallel: int = 4) -> str:
    """Play to a client; return the results as JSON lines, with what else was printed.

    Args:
        player: the program.
        client: the client; it is installed first.
        ids: which plays; all if there are none.
        parallel: how many plays at a time.
    """
    login = login_arguments(client)
    prefix = f"exec {shlex.join(installed(client).prefix)} --bootstrap $BOOTSTRAP --timeout $TIMEOUT"
    options = ["-vectors", str(FOLDER), "-start", START, "-only", ",".join(ids), "-parallel", str(parallel)]
    command = [str(player), *options, f"{prefix} ${{AGAIN:+--again}} ${{SASL:+{login}}}"]
    environment = {**os.environ, **installed(client).environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PLAYS_LIMIT_S, check=False)
    return done.stdout + done.stderr
