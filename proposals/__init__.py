"""The registry of proposals under discussion.

Each folder next to this file is one proposal, and contains what the suite has for it.

A proposal declares its parts in its `__init__.py`, as a `PROPOSAL`. The suite never imports a proposal by its name: it
asks here for a part, such as the pages, and gets that part of every proposal. A part is imported when it is first asked
for, because most of them are built on the suite. So deleting a proposal's folder removes it.

What stays then is what reads or sends bytes for any client or release, because a hook for each of these would be longer
than what it hides. Of KIP-1313 that is:

- header v3 in `wire.headers` and the property `headerVersions`: the scripted broker, recordings and `blame` read
  requests with any header, and `unknown_versions` gives a version above the highest the header that the target reads;
- requests with header v3, which are drawn (`strategies.odd_requests`), stored (one entry of the corpus) and planted as
  a defect for all brokers, because a release must not mistake one for another request; their names are in records;
- `client_instance_id` in the output of drivers (`DriverResult.instance_ids`), which then nothing compares.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

FOLDER = Path(__file__).parent
"""The folder of all proposals, where templates are found by "proposal/name"."""

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPage:
    """A proposal's page in the site.

    Attributes:
        address: where it is in the site.
        about: what it is about, in words: the text next to its link.
        write: writes it, given the site.
        tables: for each table that it exports, the types of its columns.
    """

    address: str
    about: str
    write: Callable[[Any], None]
    tables: Mapping[str, Mapping[str, type]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """The parts of a proposal.

    Two parts are found by their names: the clauses in "<name of the folder>.toml", and the properties in
    "properties/brokers" and "properties/clients". The attributes are the others. Those from `claims` on are named as
    "module:attribute", without the name of the package, and an empty text means none.

    Attributes:
        package: the name of its package.
        wiki_page: its page in Kafka's wiki, as part of an address.
        commands: maps each of its commands to the module that defines it, without the name of the package, and to the
            first sentence of its docstring.
        brokers: maps the name of each model broker that follows it, as in "reference+<name>", to "module:attribute" of
            the function that makes one of a reference broker. If one has the proposal's own name, it is a class, and
            `faults` are planted in its subclasses.
        supersedes: maps clauses of today that it contradicts to the reason why a target that claims it may break them.
            It counts only for clauses whose property calls `check_not_superseded`.
        about_plain_requests: its clauses that state for some targets what a clause about plain requests states for all
            of them.
        claims: the function that returns whether a target follows it, given the newest version of each API that it
            lists.
        apis: the APIs by key, with the versions that it adds: scripted brokers serve them to clients, and requests to a
            target that claims it have their headers. Of ApiVersions only versions and headers count, because the
            bodies are in `wire.api_versions`. Two proposals cannot have the same API.
        faults: the planted faults of its model broker, by name.
        client: the class of the model client that follows it.
        client_faults: the planted faults that it adds to the model client, by name.
        needs: what its properties may require, by the folder of the properties and then by name: whether a target
            provides it, and why a clause does not apply otherwise.
        drawn_values: the classes of what its properties draw, by name, by which stored values are read back.
        page: its `ProposalPage`.
    """

    package: str
    wiki_page: str = ""
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    brokers: Mapping[str, str] = field(default_factory=dict)
    supersedes: Mapping[str, str] = field(default_factory=dict)
    about_plain_requests: tuple[str, ...] = ()
    claims: str = ""
    apis: str = ""
    faults: str = ""
    client: str = ""
    client_faults: str = ""
    needs: str = ""
    drawn_values: str = ""
    page: str = ""

    @property
    def name(self) -> str:
        """Its name, such as "kip-1313"."""
        return self._module.replace("_", "-")

    @property
    def source(self) -> str:
        """How the ids of its clauses begin, such as "KIP-1313"."""
        return self.name.upper()

    @property
    def model(self) -> str:
        """The id of its model broker in memory; empty if it has none."""
        return f"model-{self.name}" if self.name in self.brokers else ""

    @property
    def _module(self) -> str:
        return self.package.rpartition(".")[2]

    @property
    def folder(self) -> Traversable:
        """Its folder; on a Spark cluster it may be inside an archive."""
        return files(self.package)

    @property
    def clauses(self) -> Traversable | None:
        """Its file of clauses; None if it has none."""
        file = self.folder / f"{self._module}.toml"
        return file if file.is_file() else None

    @property
    def properties_folder(self) -> Path:
        """The folder of its properties, which has one for each role."""
        return Path(str(self.folder)) / "properties"

    def properties(self, folder: str) -> Path:
        """Return the folder of its properties for a role.

        Args:
            folder: the name of the folder that the suite has for that role, such as "brokers".
        """
        return self.properties_folder / folder

    def load(self, part: str) -> Any:
        """Import a part.

        Args:
            part: "module:attribute".
        """
        module, _, attribute = part.partition(":")
        return getattr(import_module(f"{self.package}.{module}"), attribute)


@functools.cache
def proposals() -> tuple[Proposal, ...]:
    """Return every proposal, in the order of the names of their folders."""
    names = sorted(each.name for each in pkgutil.iter_modules(__path__) if each.ispkg)
    return tuple(import_module(f"{__name__}.{name}").PROPOSAL for name in names)


def proposed_commands() -> dict[str, tuple[str, str]]:
    """Return the name of the module that defines each command of a proposal, and the command's line in the help.

    Raises:
        ValueError: two proposals have a command of the same name.
    """
    return united(
        "commands",
        (
            {name: (f"{each.package}.{module}", summary) for name, (module, summary) in each.commands.items()}
            for each in proposals()
        ),
    )


def proposed_brokers() -> dict[str, Proposal]:
    """Return the proposal that each model broker follows, by the broker's name.

    Raises:
        ValueError: two proposals have a model broker of the same name.
    """
    return united("brokers", (dict.fromkeys(each.brokers, each) for each in proposals()))


def claimed(newest: Mapping[int, int]) -> Iterator[Proposal]:
    """Yield each proposal that a target claims to follow.

    Args:
        newest: the newest version of each API in the target's table, by key.
    """
    return (each for each in proposals() if each.claims and each.load(each.claims)(newest))


def merged(part: str) -> dict[Any, Any]:
    """Return the entries of a part that is a mapping, of all proposals.

    Raises:
        ValueError: two proposals have an entry of the same name.
    """
    return united(part, provided(part))


def united(part: str, mappings: Iterable[Mapping[Key, Value]]) -> dict[Key, Value]:
    """Return the entries of mappings: one of each proposal, and before them one of the suite if it has such entries.

    Args:
        part: what the entries are, in the plural.
        mappings: the mappings.

    Raises:
        ValueError: two mappings have an entry of the same name.
    """
    entries: dict[Key, Value] = {}
    for mapping in mappings:
        twice = entries.keys() & mapping.keys()
        if twice:
            names = ", ".join(sorted(map(str, twice)))
            raise ValueError(f"two {part} of the same name: {names}; a proposal has to use names that are free")
        entries |= mapping
    return entries


def provided(part: str) -> Iterator[Any]:
    """Yield what each proposal has of a part; nothing of one without it.

    Args:
        part: the name of an attribute of `Proposal` that is "module:attribute".
    """
    for proposal in proposals():
        reference: str = getattr(proposal, part)
        if reference:
            yield proposal.load(reference)
