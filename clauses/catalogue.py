"""The catalogue of all clauses.

Each clause is declared once, in a TOML file of this folder or of a proposal.

Ids are permanent and have the form `SOURCE.slug`. Unknown keys, missing keys, empty values and duplicate ids are errors
when the catalogue is loaded. The links lead to the pages of the clauses' sources, not to their sections: the wiki
derives its anchors from headings that change.
"""

from __future__ import annotations

import difflib
import enum
import functools
import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from proposals import proposals
from wire.fields import NO_VERSIONS, Versions, versions

FOLDER = files("clauses")
"""Folder of the clause files; on a Spark cluster it may be inside an archive."""
_ID = re.compile(r"[A-Z][A-Z0-9]*(?:-[0-9]+)?\.[a-z0-9]+(?:-[a-z0-9]+)*")
_KEYS = ("id", "title", "roles", "level", "applies_to", "statement", "location", "meaning")
_OPTIONAL_KEYS = ("not_tested", "level_since")
MAX_TITLE = 60
"""Maximum length of a title, in characters: rows of a grid begin with it."""


REFERENCE = re.compile(r"\b(?:KIP-[0-9]+|KAFKA-[0-9]+)\b|Protocol guide|Transaction Protocol")
"""A source as `location` names it: "KIP-35", "KAFKA-17011", "Protocol guide"."""
_PAGES_OF_KAFKA = {
    "Protocol guide": "https://kafka.apache.org/protocol",
    "Transaction Protocol": "https://kafka.apache.org/42/operations/transaction-protocol",
}
"""Pages of Kafka's documentation, by title."""
_ISSUES = "https://issues.apache.org/jira/browse/"
_WIKI = "https://cwiki.apache.org/confluence/display/KAFKA/"
_PROPOSALS = {
    "KIP-35": "KIP-35+-+Retrieving+protocol+version",
    "KIP-97": "KIP-97%3A+Improved+Kafka+Client+RPC+Compatibility+Policy",
    "KIP-124": "KIP-124+-+Request+rate+quotas",
    "KIP-152": "KIP-152+-+Improve+diagnostics+for+SASL+authentication+failures",
    "KIP-219": "KIP-219+-+Improve+quota+communication",
    "KIP-368": "KIP-368%3A+Allow+SASL+Connections+to+Periodically+Re-Authenticate",
    "KIP-402": "KIP-402%3A+Improve+fairness+in+SocketServer+processors",
    "KIP-482": "KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields",
    "KIP-511": "KIP-511%3A+Collect+and+Expose+Client%27s+Name+and+Version+in+the+Brokers",
    "KIP-584": "KIP-584%3A+Versioning+scheme+for+features",
    "KIP-890": "KIP-890%3A+Transactions+Server-Side+Defense",
    "KIP-778": "KIP-778%3A+KRaft+to+KRaft+Upgrades",
    "KIP-896": "KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0",
    "KIP-919": "KIP-919%3A+Allow+AdminClient+to+Talk+Directly+with+the+KRaft+Controller+Quorum+and+add+Controller+Registration",
    "KIP-1242": "KIP-1242%3A+Detection+and+handling+of+misrouted+connections",
}
_ALL_PROPOSALS = "Kafka+Improvement+Proposals"


class CatalogueError(Exception):
    """A clause file does not follow the schema, or a clause id is not in the catalogue."""


class Role(enum.StrEnum):
    """Who has to satisfy a clause."""

    BROKER = "broker"
    CLIENT = "client"
    TOOL = "tool"
    SCHEMA = "schema"


class Level(enum.StrEnum):
    """How binding a clause is. PIN: the sources are silent, so the clause pins what Apache Kafka does."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"
    PIN = "PIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One thing that must hold.

    Attributes:
        id: permanent name, such as "KIP-35.keys-unique".
        title: what must hold, in at most 60 characters.
        roles: who has to satisfy it.
        level: how binding it is.
        applies_to: versions of ApiVersions; the clause applies to targets that support at least the first of them.
        statement: what must hold, in one sentence.
        location: where the source says so.
        meaning: what breaks for a user when it is violated.
        not_tested: why no run of one target judges it, and what does; empty for a clause that runs judge.
        level_since: the set of clauses, such as "0.2", in which it has this level for the first time; empty if it has
            had no other (`clauses.clause_sets`).
    """

    id: str
    title: str
    roles: tuple[Role, ...]
    level: Level
    applies_to: Versions
    statement: str
    location: str
    meaning: str
    not_tested: str = ""
    level_since: str = ""

    @property
    def source(self) -> str:
        """The part of the id before the last dot: the clause's source, such as "KIP-35"."""
        return self.id.rpartition(".")[0]

    def applies_at(self, max_version: int) -> bool:
        """Return whether the clause applies to a target that supports ApiVersions up to `max_version`."""
        return max_version >= self.applies_to.first


class Catalogue:
    """All clauses by id, in the order in which the files declare them."""

    def __init__(self, clauses: Iterable[Clause], *, sha256: str = "") -> None:
        """Collect the clauses, in order; the hash of their files is hexadecimal.

        Raises:
            CatalogueError: two clauses have the same id.
        """
        self.sha256 = sha256
        self._by_id: dict[str, Clause] = {}
        for clause in clauses:
            if clause.id in self._by_id:
                raise CatalogueError(f"clause {clause.id} is declared twice")
            self._by_id[clause.id] = clause

    def __iter__(self) -> Iterator[Clause]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, clause_id: str) -> bool:
        return clause_id in self._by_id

    def __getitem__(self, clause_id: str) -> Clause:
        clause = self._by_id.get(clause_id)
        if clause is None:
            near = difflib.get_close_matches(clause_id, self._by_id, n=3, cutoff=0.3)
            hint = f"; the nearest are {', '.join(near)}" if near else ""
            raise CatalogueError(f"no clause {clause_id!r} in the catalogue{hint}")
        return clause


def parse_clause(entry: Mapping[str, Any], *, where: str) -> Clause:
    """Build a clause from one `[[clause]]` table; `where` is the file's name, for error messages.

    Raises:
        CatalogueError: a key is unknown, missing or empty, or its value is invalid.
    """
    name = f"{where}: clause {entry.get('id', '(no id)')!r}"
    unknown = sorted(set(entry) - {*_KEYS, *_OPTIONAL_KEYS})
    wanted = [*_KEYS, *(key for key in _OPTIONAL_KEYS if key in entry)]
    missing = [key for key in wanted if not _is_filled(key, entry.get(key))]
    if unknown or missing:
        raise CatalogueError(f"{name}: unknown keys {unknown}, missing or empty keys {missing}")
    if not _ID.fullmatch(entry["id"]):
        raise CatalogueError(f"{name}: an id is SOURCE.words-with-hyphens")
    if len(entry["title"]) > MAX_TITLE:
        raise CatalogueError(f"{name}: its title has more than {MAX_TITLE} characters")
    try:
        applies_to = versions(entry["applies_to"])
        if applies_to == NO_VERSIONS:
            raise ValueError("a clause applies to at least one version")
        return Clause(
            id=entry["id"],
            title=entry["title"],
            roles=tuple(Role(role) for role in entry["roles"]),
            level=Level(entry["level"]),
            applies_to=applies_to,
            statement=entry["statement"],
            location=entry["location"],
            meaning=entry["meaning"],
            not_tested=entry.get("not_tested", ""),
            level_since=entry.get("level_since", ""),
        )
    except ValueError as error:
        raise CatalogueError(f"{name}: {error}") from error


def _is_filled(key: str, value: object) -> bool:
    """Return whether a value is a non-empty string, or for `roles` a list of such strings."""
    texts = value if key == "roles" else [value]
    return isinstance(texts, list) and bool(texts) and all(isinstance(text, str) and text.strip() for text in texts)


def _entries(content: bytes, *, where: str) -> list[dict[str, Any]]:
    """Return the `[[clause]]` tables of a file."""
    try:
        tables = tomllib.loads(content.decode())
    except ValueError as error:
        raise CatalogueError(f"{where}: {error}") from error
    entries = tables.get("clause")
    alone = list(tables) == ["clause"]
    if not alone or not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise CatalogueError(f"{where}: holds {sorted(tables)}, not only [[clause]] tables")
    return entries


def load_catalogue(folder: Traversable = FOLDER, further: Iterable[Traversable] = ()) -> Catalogue:
    """Load the clauses from every TOML file of a folder, and from further files, in the order of the file names."""
    digest = hashlib.sha256()
    clauses: list[Clause] = []
    paths = [path for path in folder.iterdir() if path.name.endswith(".toml")]
    for path in sorted([*paths, *further], key=lambda path: path.name):
        content = path.read_bytes()
        digest.update(content)
        entries = _entries(content, where=path.name)
        clauses += (parse_clause(entry, where=path.name) for entry in entries)
    return Catalogue(clauses, sha256=digest.hexdigest())


@functools.cache
def catalogue() -> Catalogue:
    """Return the project's own catalogue, with the clauses of proposals, loaded once."""
    return load_catalogue(further=[each.clauses for each in proposals() if each.clauses is not None])


def _pages() -> dict[str, str]:
    under_discussion = {each.source: each.wiki_page for each in proposals() if each.wiki_page}
    return {**_PROPOSALS, **under_discussion}


def source_url(reference: str) -> str:
    """Return the address of a source's page; for a proposal whose page is not known, that of the list of proposals.

    Args:
        reference: a text that `REFERENCE` matches.
    """
    if reference.startswith("KAFKA-"):
        return _ISSUES + reference
    if reference.startswith("KIP-"):
        return _WIKI + _pages().get(reference, _ALL_PROPOSALS)
    return _PAGES_OF_KAFKA[reference]
