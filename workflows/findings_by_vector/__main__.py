"""Writes which vectors show which findings of docs/compatibility.json.

    python -m workflows.findings_by_vector [PRODUCT ...] --out docs

A PRODUCT is the id of a version that findings have, or a pattern such as 'tansu-*': all vectors for brokers are played
to it, or the plays of its findings. What came of it replaces its entry in findings-by-vector.json. The document follows
from that file and the findings; without a PRODUCT it is only written again. A product that cannot be started or
installed here keeps its entry and is named; the exit status is 10 then.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from clauses.catalogue import Role
from clauses.exit_statuses import NOT_JUDGED
from conformance.commands.errors import UnknownName, reported_as
from conformance.commands.selection import selected_target
from conformance.vectors.vector_set import VectorSet, load_vectors
from fixtures.choosing.target_options import AUTO, LAUNCHERS
from fixtures.errors import HarnessError, UnknownClient
from fixtures.registry.clients import RINGS, select_clients
from reports.command_line.suite_command import SuiteCommand
from reports.document.markdown_form import markdown
from reports.wording.escaping import one_line
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from workflows.compatibility.data import DATA_FILE, Compatibility, read_data
from workflows.compatibility.document import FINDINGS
from workflows.findings_by_vector.document import DOCUMENT, counts_of, document_of
from workflows.findings_by_vector.player import build_player
from workflows.findings_by_vector.rows import own_inputs, rows_of
from workflows.findings_by_vector.tried import TriedProduct, read_tried, write_tried
from workflows.findings_by_vector.trying_brokers import try_broker
from workflows.findings_by_vector.trying_clients import try_client


def targets_of(data: Compatibility, patterns: Sequence[str]) -> list[str]:
    """Return the products whose bytes findings have and that a pattern names.

    Raises:
        UnknownName: a pattern names none.
    """
    known = list(dict.fromkeys(each.target for each in data.findings if each.target and not each.tried_with))
    for pattern in patterns:
        if not any(fnmatch(each, pattern) for each in known):
            raise UnknownName(f"no finding is about {pattern}: findings are about {', '.join(known)}")
    return [each for each in known if any(fnmatch(each, pattern) for pattern in patterns)]


class _Trials:
    """Tries products; the player of plays is built for the first client.

    Attributes:
        data: the findings.
        findings: their folder.
        loaded: the set of vectors.
        launcher: how brokers are started.
        folder: where the player is built.
    """

    def __init__(self, data: Compatibility, findings: Path, loaded: VectorSet, launcher: str, folder: Path) -> None:
        self.data = data
        self.findings = findings
        self.loaded = loaded
        self.launcher = launcher
        self.folder = folder
        self._player: Path | None = None

    def product(self, id_: str) -> TriedProduct:
        """Play to one product what findings or all vectors have for it.

        Raises:
            HarnessError: it cannot be started or installed.
        """
        findings = [each for each in self.data.findings if each.target == id_]
        known = {vector["id"] for _, vector in self.loaded}
        own = sorted({each for finding in findings for each in own_inputs(finding, self.findings).ids} & known)
        role = next(each.role for each in self.data.products if each.id == id_)
        if role != Role.CLIENT:
            return try_broker(selected_target(id_), self.loaded, own, self.launcher)
        with reported_as(UnknownName, UnknownClient):
            (client,) = select_clients([id_], RINGS)
        self._player = self._player or build_player(self.folder)
        return try_client(client, own, self._player)


def write_table(out: Path) -> str:
    """Write the document that follows from the findings and from what was tried; return what it counts."""
    data, tried = read_data(out / DATA_FILE), read_tried(out)
    with assumptions_outside_hypothesis():
        rows = rows_of(data, out / FINDINGS, load_vectors(), tried)
    (out / DOCUMENT).write_text(markdown(document_of(rows)), encoding="utf-8")
    return counts_of(rows)


@click.command(cls=SuiteCommand, name="workflows.findings_by_vector")
@click.argument("patterns", metavar="[PRODUCT]...", nargs=-1)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--launcher", type=click.Choice(LAUNCHERS), default=AUTO, show_default=True)
def main(patterns: Sequence[str], out: Path, launcher: str) -> None:
    """Play vectors to the products that findings are about, and write which vectors show which finding."""
    data = read_data(out / DATA_FILE)
    chosen = targets_of(data, patterns)
    untried = []
    with TemporaryDirectory() as folder, assumptions_outside_hypothesis():
        trials = _Trials(data, out / FINDINGS, load_vectors(), launcher, Path(folder))
        for id_ in chosen:
            try:
                tried = trials.product(id_)
            except (HarnessError, click.ClickException) as error:
                untried.append(id_)
                click.echo(f"{id_}: {one_line(str(error))}", err=True)
                continue
            click.echo(f"{id_}: {len(tried.failed)} vectors fail", err=True)
            # At once: what follows takes minutes, and may end in an error.
            write_tried(out, {**read_tried(out), id_: tried}.values())
    click.echo(f"{write_table(out)}: {out / DOCUMENT}")
    raise SystemExit(NOT_JUDGED if untried else 0)


if __name__ == "__main__":
    main()
