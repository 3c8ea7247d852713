"""`reference-broker`: the reference broker on free ports, for a program that reads them."""

from __future__ import annotations

import click

from fixtures.model_processes import server


@click.command(
    # Unknown options are arguments of the program, and `--help` is one of them.
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    options_metavar="",
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS]")
def reference_broker(options: tuple[str, ...]) -> None:
    """Serve the reference broker until standard input ends.

    Its first line is a JSON object that maps listeners to ports. `kafka-conformance start reference` serves the same broker for
    people, with certificates and the files that clients need.
    """
    server.main(options)
