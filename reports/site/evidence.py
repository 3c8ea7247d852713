"""The files of a failure, written next to its page from the roll-up's table.

The suite chooses the file names. Only the contents come from a run, and their size is limited. A script that reads
`failure.json` is left out with it.
"""

from __future__ import annotations

from pathlib import Path

from reports.exports.issue_texts import script_files
from reports.grid import addresses
from reports.grid.history_tables import KeptFailure
from reports.records import CAPTURE_FILE, DUMP_FILE, FACTS_FILE, REPRODUCER_FILE
from reports.run.failures import READS_FACTS

_LARGEST_FILE_BYTES = 1024 * 1024


def write_files(failure: KeptFailure, out_dir: Path) -> tuple[tuple[str, str], ...]:
    """Write the stored contents of a failure as files.

    Returns:
        Name and address (from the site's root) of each file. Empty and too large contents get no file.
    """
    written = []
    for name, content in _contents(failure).items():
        address = addresses.failure_file(failure.signature, name)
        path = out_dir / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        written.append((name, address))
    return tuple(written)


def script_addresses(failure: KeptFailure) -> dict[str, str]:
    """Return the addresses of the files that reproduce a failure, by name: the script and what it reads; none if it has no script here."""
    contents = _contents(failure)
    if REPRODUCER_FILE not in contents:
        return {}
    names = [name for name, _ in script_files(failure) if name in contents]
    return {name: addresses.failure_file(failure.signature, name) for name in names}


def _contents(failure: KeptFailure) -> dict[str, bytes]:
    """Return the contents of a failure's files by name, without empty and too large ones."""
    contents = {
        REPRODUCER_FILE: failure.reproducer.encode(),
        DUMP_FILE: failure.hex_dump.encode(),
        CAPTURE_FILE: failure.pcap or b"",
        "example.txt": failure.example.encode(),
        FACTS_FILE: failure.facts.encode(),
    }
    if len(contents[FACTS_FILE]) > _LARGEST_FILE_BYTES and READS_FACTS in failure.reproducer:
        del contents[REPRODUCER_FILE]
    return {
        name: content
        for name, content in contents.items()
        if content and len(content) <= _LARGEST_FILE_BYTES
    }
