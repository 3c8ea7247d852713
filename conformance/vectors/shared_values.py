"""Values that many plays share: the file has each of them once.

One is a healthy broker's response. In memory every play has its own. A name is the beginning of the value's hash, so a
new play changes no other name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

NAME_DIGITS = 6
VECTORS = "vectors"
SHARED = {"send": "frames", "table": "tables", "others": "others"}
"""The shared values: their key in a play, and that of all of them in the file."""


def with_values_apart(plays: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of the file: the shared values by their names, and the plays with the names instead."""
    shared: dict[str, dict[str, Any]] = {name: {} for name in SHARED.values()}

    def named(values: Any) -> Any:
        if isinstance(values, Mapping):
            return {key: name_of(key, named(value)) for key, value in values.items()}
        return [named(each) for each in values] if isinstance(values, list) else values

    def name_of(key: str, value: Any) -> Any:
        if key not in SHARED:
            return value
        name = hashlib.sha256(json.dumps(value).encode()).hexdigest()[:NAME_DIGITS]
        if shared[SHARED[key]].setdefault(name, value) != value:
            raise ValueError(f"two values have the name {name}: raise NAME_DIGITS")
        return name

    vectors = named([*plays])
    return {**{name: dict(sorted(values.items())) for name, values in shared.items()}, VECTORS: vectors}


def vectors_in(file: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the vectors of a file, each with its own values."""

    def complete(values: Any) -> Any:
        if isinstance(values, Mapping):
            return {key: complete(file[SHARED[key]][value] if key in own else value) for key, value in values.items()}
        return [complete(each) for each in values] if isinstance(values, list) else values

    own = {key for key, name in SHARED.items() if name in file}
    return [complete(each) for each in file[VECTORS]] if own else list(file[VECTORS])
