"""Collects the bytes of the properties' pinned examples for the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance.corpus.entries import LARGEST_ENTRY_BYTES, CorpusEntry, format_entry
from reference_model.judging.stored_inputs import cut_frames
from strategies.broken_requests import UNASSIGNED_KEYS
from strategies.hypothesis_adapter import pinned_examples
from wire.api_keys import API_VERSIONS_KEY
from wire.exchange import Request
from wire.frames import SIZE_BYTES

PROPERTIES_FOLDER = Path(__file__).parent.parent / "brokers"
PINNED_FILE = "pinned_examples.toml"
HEADER = """# The bytes of every pinned example that is about ApiVersions; `kafka-conformance corpus pin` writes this file.

"""


def pinned_entries() -> tuple[CorpusEntry, ...]:
    """Return an entry for the bytes of each pinned example, in the order of files and tests."""
    entries: dict[bytes, CorpusEntry] = {}
    for path in sorted(PROPERTIES_FOLDER.glob("test_*.py")):
        module = import_module(f"conformance.brokers.{path.stem}")
        for name, test in vars(module).items():
            for number, data in enumerate(_examples_of(test), start=1):
                if data not in entries and is_storable(data):
                    entries[data] = CorpusEntry(
                        name=f"{name.removeprefix('test_').replace('_', '-')}-{number}",
                        origin=f"pinned example of {name}",
                        data=data,
                    )
    return tuple(entries.values())


def pinned_file(entries: Iterable[CorpusEntry]) -> str:
    """Return the text of the corpus file that holds the entries."""
    return HEADER + "\n".join(map(format_entry, entries))


def _examples_of(test: Any) -> Iterator[bytes]:
    for values in pinned_examples(test):
        requests = [request for value in values.values() for request in _requests_in(value)]
        yield b"".join(request.data for request in requests)


def _requests_in(value: object) -> tuple[Request, ...]:
    if isinstance(value, Request):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(request for each in value for request in _requests_in(each))
    return ()


def is_storable(data: bytes) -> bool:
    """Return whether bytes are about ApiVersions alone: requests of other APIs may change a target's state."""
    keys = {
        request.api_key for request in cut_frames(data).whole if len(request.data) >= SIZE_BYTES + 2
    }
    others = {key for key in keys if key >= 0 and key not in UNASSIGNED_KEYS} - {API_VERSIONS_KEY}
    return 0 < len(data) <= LARGEST_ENTRY_BYTES and not others
