"""The published set of vectors: the files of `vectors/` and their index.

`python -m workflows.vectors` writes the files; a test compares them with what it would write.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.vectors.broker_vectors import BrokerVector, read_vector
from conformance.vectors.shared_values import vectors_in, with_values_apart

VERSION = 1
"""The version of the set. It rises with every release of the set in which an outcome changed, or an id went."""
REQUESTS, CONVERSATIONS, RESPONSES, CHOICES, PLAYS = KINDS = (
    "requests",
    "conversations",
    "responses",
    "choices",
    "plays",
)
BROKER_KINDS = (REQUESTS, CONVERSATIONS)
FOLDER = Path(__file__).parents[2] / "vectors"
INDEX_FILE = "index.json"
SCHEMA_FILE = "schema.json"
MAX_SET_BYTES = 2_000_000


class InvalidVectors(Exception):
    """The files of the set, or what is compared with them, do not follow their schema; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSet:
    """All vectors.

    Attributes:
        index: the values of `index.json`.
        vectors: the JSON values of each vector, by kind, in the order of the files.
    """

    index: Mapping[str, Any]
    vectors: Mapping[str, Sequence[Mapping[str, Any]]]

    def __iter__(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for kind, vectors in self.vectors.items():
            for vector in vectors:
                yield kind, vector

    def find(self, vector_id: str) -> tuple[str, Mapping[str, Any]] | None:
        """Return the kind and the values of a vector; None if there is none of this id."""
        return next(((kind, vector) for kind, vector in self if vector["id"] == vector_id), None)

    def of_brokers(self) -> tuple[BrokerVector, ...]:
        """Return the vectors for brokers."""
        return tuple(read_vector(each) for kind in BROKER_KINDS for each in self.vectors[kind])


def load_vectors(folder: Path = FOLDER) -> VectorSet:
    """Load the set.

    Raises:
        InvalidVectors: a file is missing, or is no JSON.
    """
    vectors = {kind: vectors_in(_read(folder, f"{kind}.json")) for kind in KINDS}
    return VectorSet(index=_read(folder, INDEX_FILE), vectors=vectors)


def check_schema(loaded: VectorSet, folder: Path = FOLDER) -> None:
    """Check every vector of a set against the schema; it takes a second, so only those who write the set do.

    Raises:
        InvalidVectors: one does not follow it; the message names its place.
    """
    # Only those who write the set have it for sure.
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    schema = _read(folder, SCHEMA_FILE)
    for kind, vectors in loaded.vectors.items():
        definition = {"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": f"#/$defs/{kind}"}
        error = next(iter(Draft202012Validator(definition).iter_errors(file_values(kind, vectors))), None)
        if error is not None:
            where = "/".join(map(str, error.absolute_path))
            raise InvalidVectors(f"{kind}.json: {where}: {error.message[:200]}; write the set again")


def _read(folder: Path, name: str) -> Any:
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidVectors(f"vectors/{name} cannot be read: {error}; write the set again") from error


def file_values(kind: str, vectors: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the values of a file: the vectors, and what those of one kind share."""
    return with_values_apart(vectors) if kind == PLAYS else {"vectors": vectors}


def file_text(kind: str, vectors: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a file: one vector or shared value a line, so that changes show in a diff."""
    parts = [f'"{name}":{_lines(values)}' for name, values in file_values(kind, vectors).items()]
    return "{" + ",\n".join(parts) + "}\n"


def _lines(values: Mapping[str, Any] | Sequence[Any]) -> str:
    if isinstance(values, Mapping):
        return "{\n" + ",\n".join(f'"{name}":{_compact(each)}' for name, each in values.items()) + "\n}"
    return "[\n" + ",\n".join(map(_compact, values)) + "\n]"


def _compact(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def index_text(
    vectors: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    facts: Mapping[str, Any],
    retired: Iterable[str],
) -> str:
    """Return the text of the index.

    Args:
        vectors: the vectors by kind.
        facts: what readers need besides: the user and the ids of a broker under test, the score.
        retired: ids that older versions of the set had; none is ever used again.
    """
    texts = {kind: file_text(kind, vectors[kind]) for kind in KINDS}
    ids = {each["id"] for own in vectors.values() for each in own}
    index = {
        "version": VERSION,
        "files": {
            kind: {
                "file": f"{kind}.json",
                "vectors": len(vectors[kind]),
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
            }
            for kind, text in texts.items()
        },
        **facts,
        "retired": sorted(set(retired) - ids),
    }
    return json.dumps(index, indent=1, ensure_ascii=False) + "\n"
