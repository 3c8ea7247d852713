"""Unpacks the packs among a command's runs, for as long as it needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.commands.output_console import status_line
from fixtures.cleanup.temporary_folder import temporary_folder
from reports.run_folders.record_paths import shown_path
from reports.run_folders.refused_runs import REFUSED_FILE, RefusedRun, RunLists, RunRefused


@dataclass(frozen=True, slots=True)
class RunsAtHand:
    """The runs that a command was given.

    Attributes:
        roots: run folders, or folders of them, with those of packs; any URI.
        refused: the packs that do not count.
        refused_file: the same as a JSON list; None if there are no packs.
    """

    roots: Sequence[str]
    refused: Sequence[RefusedRun] = ()
    refused_file: Path | None = None

    @property
    def arguments(self) -> list[str]:
        """The arguments for the roll-up."""
        return [*self.roots, *([] if self.refused_file is None else ["--refused", str(self.refused_file)])]


def is_pack(path: Path) -> bool:
    """Return whether a path is taken for a pack: any plain file is, because runs and grids are folders."""
    return path.is_file()


@contextmanager
def packs_taken_in(runs: Sequence[str]) -> Iterator[RunsAtHand]:
    """Yield the given runs, with the folders of the runs in packs in place of these.

    The folders are gone after the block.
    """
    packs = {run: Path(run) for run in runs if is_pack(Path(run))}
    if not packs:
        yield RunsAtHand(runs)
        return
    # Half a second of imports that nothing else needs.
    from conformance.packs.taking_in import take_in  # noqa: PLC0415

    roots, refused = [], []
    with temporary_folder() as scratch:
        for number, run in enumerate(dict.fromkeys(runs)):
            if run not in packs:
                roots.append(run)
                continue
            # Lists of refused and duplicate runs name the folder, and `verify` compares its last part.
            folder = scratch / str(number) / f"pack-{packs[run].name}"
            try:
                with status_line(f"judging {shown_path(run)} again"):
                    take_in(packs[run], folder)
            except RunRefused as error:
                refused.append(RefusedRun(folder=shown_path(run), refusal=error.refusal.value, reason=error.detail))
            else:
                roots.append(str(folder))
        file = scratch / "refused.json"
        file.write_text(RunLists(refused=tuple(refused)).texts()[REFUSED_FILE], encoding="utf-8")
        yield RunsAtHand(roots, refused, file)


def run_folder_of(pack: Path, scratch: Path) -> Path:
    """Return the folder of the run in a pack, which is written below `scratch`.

    Raises:
        RunRefused: the pack does not count.
    """
    from conformance.packs.taking_in import take_in  # noqa: PLC0415

    folder = scratch / "run"
    take_in(pack, folder)
    return folder
