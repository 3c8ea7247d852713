"""What came of vectors with products: docs/findings-by-vector.json.

A product is tried again as a whole, so its entry is replaced then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

DATA_FILE = "findings-by-vector.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedProduct:
    """What came of vectors with one version of a product.

    Attributes:
        id: the version's id.
        failed: the vectors that failed, each with the clause that it showed as broken.
        by_property: of a client, the plays that only the property shows for which they were made, and not the player.
        passed: the vectors of findings that did not fail.
        left_out: the vectors of findings that could not be judged, each with the reason.
        ended_by: vectors after which the process of a broker had ended.
    """

    id: str
    failed: Mapping[str, str]
    by_property: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    left_out: Mapping[str, str]
    ended_by: tuple[str, ...] = ()


def read_tried(folder: Path) -> dict[str, TriedProduct]:
    """Return what a folder has, by the id of the product; nothing if it has none."""
    path = folder / DATA_FILE
    if not path.exists():
        return {}
    lists = ("by_property", "passed", "ended_by")
    values = json.loads(path.read_text(encoding="utf-8"))["products"]
    products = (TriedProduct(**{**each, **{name: tuple(each[name]) for name in lists}}) for each in values)
    return {each.id: each for each in products}


def write_tried(folder: Path, products: Iterable[TriedProduct]) -> None:
    """Write what was tried, by the id of the product."""
    values = [asdict(each) for each in sorted(products, key=lambda each: each.id)]
    text = json.dumps({"products": values}, indent=1, ensure_ascii=False)
    (folder / DATA_FILE).write_text(f"{text}\n", encoding="utf-8")
