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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
"""The folder of all proposals, where templates are found by "proposal/name"."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """The parts of a proposal.

    A part is named as "module:attribute". The module's name has no package name, and an empty text means none.

    Attributes:
        package: the name of its package.
        source: how the ids of its clauses begin, such as "KIP-1313".
        wiki_page: its page in Kafka's wiki, as part of an address.
        clauses: its file of clauses.
        commands: maps each of its commands to the module that defines it, without the name of the package, and to the
            first sentence of its docstring.
        page: the function that writes its page, given the site.
        page_link: where that page is in the site, and what it is about, in words.
        tables: for each table that it exports, the types of its columns.
        brokers: maps the name of each model broker that follows it, as in "reference+<name>", to the function that
            makes one of a reference broker.
        model: the id of the model in which its faults are planted; empty for none.
        faults: the planted faults of that model, by name.
        in_memory: the function that returns that model as a target without sockets, given the name of a fault or an
            empty one.
        client: the class of the model client that follows it; the model client can follow one proposal only.
        client_apis: the APIs with the versions that scripted brokers serve to clients that follow it, by key.
        sasl_apis: the same of those by which a client authenticates.
        api_versions_headers: maps versions of ApiVersions after the newest one to their request headers.
        unknown_versions_header: the function that returns the header version of the versions of ApiVersions that a
            broker does not know, given the newest version of each API in its table.
        client_faults: the planted faults that it adds to the model client, by name.
        broker_needs: what its properties may require of a broker: by name, whether a broker provides it, and why a
            clause does not apply otherwise.
        client_needs: the same of clients.
        drawn_values: the classes of what its properties draw, by name, by which stored values are read back.
        about_plain_requests: its clauses that state for some targets what a clause about plain requests states for all
            of them.
        why_not_logged: the function that returns why a broker may log a request under another client id than its own;
            empty for no reason.
    """

    package: str
    source: str
    wiki_page: str = ""
    clauses: str = ""
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    page: str = ""
    page_link: tuple[str, str] | None = None
    tables: str = ""
    brokers: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    faults: str = ""
    in_memory: str = ""
    client: str = ""
    client_apis: str = ""
    sasl_apis: str = ""
    api_versions_headers: str = ""
    unknown_versions_header: str = ""
    client_faults: str = ""
    broker_needs: str = ""
    client_needs: str = ""
    drawn_values: str = ""
    about_plain_requests: tuple[str, ...] = ()
    why_not_logged: str = ""

    @property
    def folder(self) -> Traversable:
        """Its folder; on a Spark cluster it may be inside an archive."""
        return files(self.package)

    def properties(self, folder: str) -> Path:
        """Return the folder of its properties for a role.

        Args:
            folder: the name of the folder that the suite has for that role, such as "brokers".
        """
        return Path(str(self.folder)) / "properties" / folder

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
    """Return the name of the module that defines each command of a proposal, and the command's line in the help."""
    return {
        name: (f"{each.package}.{module}", summary)
        for each in proposals()
        for name, (module, summary) in each.commands.items()
    }


def proposed_brokers() -> dict[str, Proposal]:
    """Return the proposal that each model broker follows, by the broker's name."""
    return {name: each for each in proposals() for name in each.brokers}


def merged(part: str) -> dict[Any, Any]:
    """Return the entries of a part that is a mapping, of all proposals.

    Raises:
        ValueError: two proposals have an entry of the same name.
    """
    entries: dict[Any, Any] = {}
    for each in provided(part):
        twice = entries.keys() & each.keys()
        if twice:
            raise ValueError(f"two proposals have {part} of the same name: {sorted(twice)}")
        entries |= each
    return entries


def provided(part: str) -> Iterator[Any]:
    """Yield what each proposal has of a part; nothing of one without it.

    Args:
        part: the name of an attribute of `Proposal` that is "module:attribute".
    """
    for each in proposals():
        reference: str = getattr(each, part)
        if reference:
            yield each.load(reference)
