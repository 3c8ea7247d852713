"""`reference-broker`: runs the reference broker on free ports.

It is for a program that reads the ports.
"""

from __future__ import annotations

import click

from conformance.commands.options import PASSES_ON
from fixtures.model_processes import server


@click.command(context_settings=PASSES_ON, options_metavar="")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS]")
def reference_broker(options: tuple[str, ...]) -> None:
    """Serve the reference broker until standard input ends.

    Its first line is a JSON object that maps listeners to ports. `kafka-conformance start reference` serves the same
    broker for people, with certificates and the files that clients need.
    """
    server.main(options)
