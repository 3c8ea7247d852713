"""Names of the folders of findings, which stay from night to night.

A name has the product, the rule that the finding breaks first, and a number: "tansu/KIP-482.unknown-tags-ignored-1". A
finding that was known before is recognised by its cause or, if that is worded differently now, by the signature of the
failure that shows it. The list also has the findings that are not found any more: no name is given twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

NAMES_FILE = "names.json"
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_NUMBERED = re.compile(r"(?P<prefix>.+)-(?P<number>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingIdentity:
    """What a finding is recognised by.

    Attributes:
        family: the name of the product without its version.
        rule: the clause that it breaks first, or the operation that fails.
        cause: what its failures have in common.
        signature: that of the failure that shows it; empty if none is stored.
    """

    family: str
    rule: str
    cause: tuple[str, ...]
    signature: str

    @property
    def product(self) -> str:
        """The folder of its product."""
        return "-".join(_WORD.findall(self.family.lower())) or "product"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingName:
    """The folder of a finding, below the folder of all findings, and what it was last recognised by."""

    id: str
    cause: tuple[str, ...]
    signature: str

    @property
    def product(self) -> str:
        """The folder of its product."""
        return self.id.partition("/")[0]


def named(
    identities: Sequence[FindingIdentity], known: Iterable[FindingName], in_use: Collection[str] = ()
) -> tuple[FindingName, ...]:
    """Return the name of each finding, in their order.

    Args:
        identities: what each finding is recognised by.
        known: the names that were given before.
        in_use: those of them that other findings have now.
    """
    given = tuple(known)
    ids: dict[int, str] = {}
    for is_same in (_has_same_cause, _has_same_signature):
        for index, identity in enumerate(identities):
            used = {*ids.values(), *in_use}
            free = (name.id for name in given if name.id not in used and is_same(name, identity))
            if index not in ids and (id_ := next(free, None)):
                ids[index] = id_
    taken = {name.id for name in given}
    for index, identity in enumerate(identities):
        if index not in ids:
            ids[index] = _next_id(f"{identity.product}/{identity.rule}", taken)
            taken.add(ids[index])
    return tuple(
        FindingName(id=ids[index], cause=identity.cause, signature=identity.signature)
        for index, identity in enumerate(identities)
    )


def _has_same_cause(name: FindingName, identity: FindingIdentity) -> bool:
    return name.product == identity.product and name.cause == identity.cause


def _has_same_signature(name: FindingName, identity: FindingIdentity) -> bool:
    return name.product == identity.product and bool(name.signature) and name.signature == identity.signature


def _next_id(prefix: str, taken: Iterable[str]) -> str:
    numbered = filter(None, map(_NUMBERED.fullmatch, taken))
    numbers = (int(match["number"]) for match in numbered if match["prefix"] == prefix)
    return f"{prefix}-{max(numbers, default=0) + 1}"


def read_names(folder: Path) -> tuple[FindingName, ...]:
    """Read the names of a folder of findings; none if it has no list yet."""
    path = folder / NAMES_FILE
    entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return tuple(FindingName(**{**entry, "cause": tuple(entry["cause"])}) for entry in entries)


def write_names(folder: Path, current: Iterable[FindingName], before: Iterable[FindingName]) -> None:
    """Write the names of a folder of findings, one per line: the current ones, and all that were given before."""
    by_id = {name.id: name for name in (*before, *current)}
    (folder / NAMES_FILE).write_text("\n".join(_lines(by_id[id_] for id_ in sorted(by_id))), encoding="utf-8")


def _lines(names: Iterable[FindingName]) -> Iterator[str]:
    yield "["
    yield ",\n".join(json.dumps(asdict(name), ensure_ascii=False) for name in names)
    yield "]\n"
