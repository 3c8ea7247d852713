"""The console script's list of commands, without imports of their modules.

To import all commands takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from proposals import proposed_commands, united
from reports.command_line.extras import GRID, LEARNING, RELEASES, REPORTS

MAINTENANCE = "Maintain the suite"
"""The group that only `--help-all` lists."""


class ListedCommand(NamedTuple):
    """Where a command is, and its line in the help.

    Attributes:
        module: the module that defines it.
        summary: the first sentence of its docstring.
        extras: the extras of the distribution without which it can do nothing.
    """

    module: str
    summary: str
    extras: Sequence[str] = ()


def _listed(module: str, summary: str, *extras: str) -> ListedCommand:
    return ListedCommand(f"conformance.commands.{module}", summary, extras)


GROUPS: Mapping[str, Mapping[str, ListedCommand]] = {
    "Judge": {
        "judge": _listed("judge", "Judge a broker, a proxy or a client."),
        "matrix": _listed("matrix", "Judge many targets or clients, each in a run of its own.", REPORTS),
        "replay": _listed("replay", "Judge stored failures again: do they still fail?"),
        "learn": _listed("learn", "Learn how connections behave, and compare with the model.", LEARNING),
        "life": _listed("life", "Judge nodes while they start, have no quorum, and end.", RELEASES),
        "limits": _listed("limits", "Judge what a broker does at the limits that operators set."),
        "needs": _listed("needs", "Measure which versions clients need, also unsent ones.", RELEASES),
        "changes": _listed("changes", "Find the releases that began to treat bytes differently."),
    },
    "Share the handshake": {
        "vectors": _listed("vectors", "Show, run and check the vectors: the handshake as data."),
    },
    "Read results": {
        "summary": _listed("summary", "Show on one page what a run or a grid found.", REPORTS),
        "diff": _listed("diff", "Show what changed from run or grid A to B.", REPORTS),
        "upgrade": _listed("upgrade", "Show what changes from release A of Apache Kafka to B."),
        "expectations": _listed("expectations", "Print declarations for the violations that a run saw.", REPORTS),
        "explain": _listed("explain", "Show a clause, its source, properties and defects."),
        "clauses": _listed("clauses", "List the clauses in the catalogue."),
        "targets": _listed("targets", "List the targets that --broker accepts."),
        "clients": _listed("clients", "List the clients that --client accepts."),
    },
    "Work with a cluster": {
        "api-versions": _listed("api_versions", "Show which requests the brokers of a cluster support."),
        "watch": _listed("watch", "Watch what a program sends; say which releases refuse it."),
        "start": _listed("start", "Start a broker to work with, and end it on Ctrl-C."),
        "reference-broker": _listed("reference_broker", "Serve the reference broker until standard input ends."),
    },
    "Publish": {
        "pack": _listed("pack", "Write one file of a run, for somebody else's grid.", REPORTS),
        "grid": _listed("grid", "Roll up run folders (or folders of them) into one grid.", GRID),
        "site": _listed("site", "Make the site of a grid whose tables a cluster made.", REPORTS),
        "verify": _listed("verify", "Check that a published grid follows from its runs.", GRID),
        "rejudge": _listed("rejudge", "Judge stored exchanges again, by the current oracle.", GRID),
        "roll-up": _listed("roll_up", "Roll up runs into the tables of a grid, without its pages.", GRID),
        "py-files": _listed("py_files", "Write the files that spark-submit needs for the roll-up."),
    },
    MAINTENANCE: {
        "mutation": _listed("mutation", "Check that the suite finds every planted defect.", REPORTS),
        "corpus": _listed("corpus", "Maintain the stored inputs that the deep tier replays."),
        "pin-artefacts": _listed("pin_artefacts", "Write the hashes of a target's artefacts to its file.", RELEASES),
        "record-tables": _listed("record_tables", "Record what releases advertise, for the reference model.", RELEASES),
        **{name: ListedCommand(*each) for name, each in proposed_commands().items()},
    },
}
"""The groups of commands in the order of the help."""
COMMANDS = united("commands", GROUPS.values())
