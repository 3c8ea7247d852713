"""Finds the oldest version of each library that works with a release.

    python -m workflows.oldest_versions LIBRARY ... [--broker RELEASE] ... [--out FOLDER]

The versions are those that the library's registry has; of PyPI, those with a wheel for this Python. The newest is
tried first, then the oldest, and between one that fails and one that works it is searched by halving, so at most
`MAX_TRIED` are tried. A version works if each of `TRIED` does that its driver has, and if records that are to be
compressed are. What fails is tried a second time; if it works then, nothing is concluded. Exit status: 0, and 10 if
something could not be told.

The folder has the results in `DATA_FILE`, and the document that follows from them. A library that is measured again
with a release replaces its row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import click

from clauses.exit_statuses import NOT_JUDGED
from clauses.operations import OPERATIONS
from conformance.commands.errors import CouldNotTell, UnknownName, reported_as
from conformance.needs.benches import Bench, ReleaseBench
from conformance.needs.outcomes import has_worked, software_in
from fixtures.client_processes.installation import DriverCommand, installed
from fixtures.client_processes.published_versions import published_versions
from fixtures.client_processes.toolchains import OWN_PYTHON
from fixtures.errors import ArtefactUnavailable, ClientNotInstallable, HarnessError, UnknownClient
from fixtures.launchers import launch
from fixtures.recording_proxy.written_codecs import written_codecs
from fixtures.registry.clients import AT_VERSION, Client, select_clients
from fixtures.scripted_broker.playing import Play, PlayPool
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.version_tables import ranges_of
from reports.command_line.distribution import suite_commit
from reports.command_line.suite_command import SuiteCommand
from reports.document.blocks import CellLines, Code, Document, Sentence, Text, TextTable
from reports.document.markdown_form import markdown
from upgrade.prediction.releases import NoSuchRelease, Release, recorded_targets, release_named

TRIED = ("metadata", "produce", "compressed-produce", "consume", "consume-in-group")
MAX_TRIED = 8
TIME_S = 20.0
RUNS = 2
"""How often an operation is tried that fails."""
MAX_SAID = 160
PROCESSES = 2
DEFAULT_RELEASES = ("apache-kafka-4.0.2", "apache-kafka-4.4.0")
_PLACE = re.compile(r" \(/[^)]*\)")
_LIBRDKAFKA = re.compile(r"-rdkafka-(.+)")
"""In the version that a library states which is built on librdkafka, "2.8.2-rdkafka-2.8.0"."""
_MISFIT = re.compile(
    r"\b(NoSuchMethod|NoClassDefFound|NoSuchField|IncompatibleClassChange|Attribute|Import|ModuleNotFound|Type)Error\b"
    r"|ClassNotFoundException"
)
"""What Java, Python and JavaScript say if a library does not have what the driver uses."""
INSTALLATION = "installation"
"""Stands for an operation: the library could not be installed, or its driver not be built with it."""
TITLE = "The oldest version of each library that works"
DATA_FILE, DOCUMENT = "oldest-versions.json", "oldest-versions.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What one version did.

    Attributes:
        version: the version.
        software: the version that it states to brokers, such as "2.8.2-rdkafka-2.8.0"; empty if it states none.
        failures: what each operation that fails says, by its name; none if the version works.
        switched_off: the features that its log says to switch off.
        is_driven: whether the driver came as far as to use it; a library may be too old for it, or for this Python.
        operations: what was tried.
        unclear: why nothing is concluded, such as "consume works in 1 of 2 runs"; empty if something is.
    """

    version: str
    software: str = ""
    failures: Mapping[str, str]
    switched_off: tuple[str, ...] = ()
    is_driven: bool = True
    operations: tuple[str, ...] = TRIED
    unclear: str = ""

    @property
    def works(self) -> bool:
        """Whether each operation works."""
        return not self.failures and not self.unclear


@dataclass(frozen=True, slots=True, kw_only=True)
class Oldest:
    """The oldest version that works, of one library with one release.

    Attributes:
        library: the library.
        release: the id of the release.
        published: how many versions the registry has.
        works: the oldest version that was seen to work; None if not even the newest does.
        fails: the newest older version that was seen to fail; None if there is none.
        untried: how many versions between the two were not tried.
        tried: the versions that were tried, oldest first.
        unclear: why the search ended early; empty if it did not.
        day: when that was, such as "2026-11-30".
        commit: the commit of the suite that measured; empty if it is not known.
    """

    library: str
    release: str
    published: int
    works: Tried | None
    fails: Tried | None
    untried: int
    tried: tuple[str, ...]
    unclear: str = ""
    day: str = ""
    commit: str = ""


def oldest_of(library: str, release: str, versions: Sequence[str], try_: Callable[[str], Tried]) -> Oldest:
    """Search for the oldest version that works.

    Args:
        library: the library.
        release: the id of the release.
        versions: those of the registry, oldest first; at least one.
        try_: tries a version.
    """
    tried: dict[int, Tried] = {}
    works, fails = len(versions), -1
    unclear = ""
    for index in _next_indexes(len(versions), tried):
        tried[index] = try_(versions[index])
        if tried[index].unclear:
            unclear = f"{versions[index]}: {tried[index].unclear}"
            break
        works = min([works, *(at for at, each in tried.items() if each.works)])
        fails = max((at for at, each in tried.items() if not each.works and at < works), default=-1)
    return Oldest(
        library=library,
        release=release,
        published=len(versions),
        works=tried.get(works),
        fails=tried.get(fails),
        untried=max(works - fails - 1, 0) if works in tried else 0,
        tried=tuple(versions[index] for index in sorted(tried)),
        unclear=unclear,
    )


def _next_indexes(count: int, tried: Mapping[int, Tried]) -> Iterator[int]:
    """Yield what to try next: the newest, the oldest, and then halves of what is between."""
    yield count - 1
    if not tried[count - 1].works or count == 1:
        return
    yield 0
    while len(tried) < MAX_TRIED:
        works = min(at for at, each in tried.items() if each.works)
        fails = max((at for at, each in tried.items() if not each.works), default=works)
        if works - fails < 2:
            return
        yield (works + fails) // 2


def tried_on(bench: Bench, version: str) -> Tried:
    """Try those of `TRIED` that a version has with a release.

    Raises:
        HarnessError: it could not be tried.
    """
    tried = tuple(each for each in TRIED if each in bench.operations)
    failures: dict[str, str] = {}
    unclear: list[str] = []
    switched_off: set[str] = set()
    software = ""
    is_driven = True
    for operation in tried:
        problems: list[str] = []
        for _ in range(RUNS):
            play = bench.play(operation, (), TIME_S)
            software = software or software_in(play)[1]
            switched_off |= set(play.result.found)
            problem = _problem(play, operation)
            is_driven = is_driven and _is_driven(play, problem)
            if not problem:
                break
            problems.append(problem)
        if len(problems) == RUNS:
            failures[operation] = problems[0]
        elif problems:
            unclear.append(f"{operation} works in 1 of {len(problems) + 1} runs; otherwise: {problems[0]}")
    return Tried(
        version=version,
        software=software,
        failures=failures,
        switched_off=tuple(sorted(switched_off)),
        is_driven=is_driven,
        operations=tried,
        unclear="" if failures else "; ".join(unclear),
    )


def _is_driven(play: Play, problem: str) -> bool:
    """Return whether the driver came far enough to connect, or reported something but that it does not fit."""
    result = play.result
    if _MISFIT.search(problem):
        return False
    return bool(play.recording.requests) or result.has_reported or result.has_hung or result.signal is not None


def _problem(play: Play, operation: str) -> str:
    """Return how an operation failed, in the words of the client; empty if it works."""
    if not has_worked(play):
        result = play.result
        lines = (result.detail or result.output).strip().splitlines()
        # Python adds where a module is on this machine.
        words = _PLACE.sub("", lines[-1] if lines else result.summary)
        return "it hangs" if result.has_hung else words[:MAX_SAID]
    codec = OPERATIONS[operation].codec
    return (
        f"its records are not compressed with {codec}" if codec and codec not in written_codecs(play.recording) else ""
    )


def document_of(found: Sequence[Oldest]) -> Document:
    """Return the table for people."""
    return Document(
        title=TITLE,
        blocks=(
            Sentence(
                f"A version works if {', '.join(TRIED[:-1])} and {TRIED[-1]} do, and if what is to be compressed is. The "
                f"versions are those that the registry listed; of PyPI, those with a wheel for Python {OWN_PYTHON}. Between one that "
                "fails and one that works it was searched by halving: that every version in between is like its neighbours "
                "was not tried."
            ),
            Sentence(
                "If none is older, or the one before cannot be driven, no limit of the broker was found: that is one of the "
                "registry, of this machine's Python, Java, Go or Node.js, or of the suite's driver."
            ),
            TextTable(
                columns=("library", "release", "oldest that works", "the one before", "tried", "measured"),
                rows=tuple(map(_row, found)),
                caption="The oldest version of each library that works with a release",
            ),
            Sentence(
                (
                    "Made by ",
                    Code(f"python -m workflows.oldest_versions {' '.join(sorted({each.library for each in found}))}"),
                )
            ),
        ),
    )


def _row(found: Oldest) -> tuple[Text | CellLines, ...]:
    return (
        found.library,
        found.release,
        _oldest(found),
        CellLines(tuple(_said(found.fails))) if found.fails else "fails" if found.works is None else "none is older",
        f"{len(found.tried)} of {found.published}: {', '.join(found.tried)}",
        " at ".join(filter(None, (found.day, found.commit[:12]))),
    )


def _oldest(found: Oldest) -> CellLines:
    lines = [_named(found.works) if found.works else "none"]
    if found.works and found.works.switched_off:
        lines.append(_log(found.works))
    if found.works and (unable := [each for each in TRIED if each not in found.works.operations]):
        lines.append(f"its driver has no {', '.join(unable)}")
    if found.unclear:
        lines.append(f"not certain: {found.unclear}")
    elif found.untried:
        lines.append(f"{found.untried} older ones were not tried")
    return CellLines(tuple(lines))


def _said(tried: Tried) -> Iterator[Text]:
    yield _named(tried) if tried.is_driven else f"{_named(tried)}: it cannot be driven here"
    by_words: dict[str, list[str]] = {}
    for operation, words in tried.failures.items():
        by_words.setdefault(words, []).append(operation)
    for words, operations in by_words.items():
        yield (f"{', '.join(operations)}: ", Code(words))
    if tried.switched_off:
        yield _log(tried)


def _named(tried: Tried) -> str:
    core = _LIBRDKAFKA.search(tried.software)
    return f"{tried.version} (librdkafka {core[1]})" if core else tried.version


def _log(tried: Tried) -> str:
    return f"its log: Disabling feature {', '.join(tried.switched_off)}"


def read_found(folder: Path) -> tuple[Oldest, ...]:
    """Return what a folder of documents has; nothing if it has no such file."""
    path = folder / DATA_FILE
    if not path.exists():
        return ()
    return tuple(map(_read_oldest, json.loads(path.read_text(encoding="utf-8"))))


def _read_oldest(entry: Mapping[str, Any]) -> Oldest:
    both = {name: _read_tried(entry[name]) for name in ("works", "fails")}
    return Oldest(**{**entry, **both, "tried": tuple(entry["tried"])})


def _read_tried(entry: Mapping[str, Any] | None) -> Tried | None:
    if entry is None:
        return None
    return Tried(**{**entry, **{name: tuple(entry[name]) for name in ("switched_off", "operations")}})


def write_found(found: Sequence[Oldest], folder: Path) -> None:
    """Write results, and the document that follows from them, into a folder that exists.

    They are in the order of their names; of the same library and release, the last one counts.
    """
    rows = {(each.library, each.release): each for each in found}
    ordered = [rows[key] for key in sorted(rows)]
    text = json.dumps([asdict(each) for each in ordered], indent=1)
    (folder / DATA_FILE).write_text(f"{text}\n", encoding="utf-8")
    (folder / DOCUMENT).write_text(markdown(document_of(ordered)), encoding="utf-8")


def _searched(library: str, release: Release, pool: PlayPool) -> Oldest:
    """Install and try versions of a library with a running release."""
    with launch(recorded_targets()[release.id], "auto") as running:

        def try_(version: str) -> Tried:
            (client,) = select_clients([f"{library}{AT_VERSION}{version}"])
            try:
                tried = tried_on(_bench(client, installed(client)), version)
            except ClientNotInstallable:
                raise
            except ArtefactUnavailable as error:
                words = str(error).splitlines()[-1].strip()[:MAX_SAID]
                tried = Tried(version=version, failures={INSTALLATION: words}, is_driven=False)
            click.echo(f"{client.id} with {release.id}: {tried.unclear or tried.failures or 'works'}", err=True)
            return tried

        def _bench(client: Client, command: DriverCommand) -> ReleaseBench:
            return ReleaseBench(
                release=release.id,
                served=ranges_of(release.profile.api_keys),
                broker=running.addresses[PLAINTEXT],
                client=client,
                command=command,
                pool=pool,
            )

        (any_version,) = select_clients([f"{library}{AT_VERSION}0"])
        found = oldest_of(library, release.id, published_versions(any_version), try_)
        return replace(found, day=datetime.now(UTC).date().isoformat(), commit=suite_commit() or "")


@click.command(cls=SuiteCommand, name="workflows.oldest_versions")
@click.argument("libraries", metavar="LIBRARY...", nargs=-1, required=True)
@click.option("--broker", "releases", multiple=True, default=DEFAULT_RELEASES, show_default=True, metavar="RELEASE")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help=f"a folder: what was found is added to its {DATA_FILE}, and {DOCUMENT} written",
)
def main(libraries: tuple[str, ...], releases: tuple[str, ...], out: Path | None) -> None:
    """Find the oldest version of each LIBRARY that works with each release."""
    found: list[Oldest] = []
    with (
        reported_as(UnknownName, UnknownClient, NoSuchRelease),
        reported_as(CouldNotTell, HarnessError),
        closing(PlayPool(PROCESSES)) as pool,
    ):
        chosen = [release_named(each) for each in releases]
        for library in libraries:
            select_clients([f"{library}{AT_VERSION}0"])
        for library, release in product(libraries, chosen):
            found.append(_searched(library, release, pool))
            if out is not None:
                # At once: what follows takes minutes, and may end in an error.
                write_found([*read_found(out), found[-1]], out)
    click.echo(markdown(document_of(found)), nl=False)
    raise SystemExit(NOT_JUDGED if any(each.unclear for each in found) else 0)


if __name__ == "__main__":
    main()
