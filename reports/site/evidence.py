"""The files of a failure, written next to its page from the roll-up's table.

The suite chooses the file names. Only the contents come from a run, and their size is limited. A script that reads
`failure.json` is left out with it.
"""

from __future__ import annotations

from pathlib import Path

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
    contents = {
        REPRODUCER_FILE: failure.reproducer.encode(),
        DUMP_FILE: failure.hex_dump.encode(),
        CAPTURE_FILE: failure.pcap or b"",
        "example.txt": failure.example.encode(),
        FACTS_FILE: failure.facts.encode(),
    }
    if len(contents[FACTS_FILE]) > _LARGEST_FILE_BYTES and READS_FACTS in failure.reproducer:
        del contents[REPRODUCER_FILE]
    written = []
    for name, content in contents.items():
        if not content or len(content) > _LARGEST_FILE_BYTES:
            continue
        address = addresses.failure_file(failure.signature, name)
        path = out_dir / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        written.append((name, address))
    return tuple(written)
