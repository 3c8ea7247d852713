"""The data of docs/COMPATIBILITY.md, which follows from a grid.

Everything that the document says follows from the data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clauses.catalogue import Level, Role
from fixtures.registry.targets import PROXY_TO
from reports.command_line.suite_command import CannotWork
from reports.records import OPERATION

DATA_SCHEMA_VERSION = 4
DATA_FILE = "compatibility.json"
WORKS, UNSUPPORTED, BROKEN, UNJUDGED = "✓–✕?"
"""The symbols of operations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What the verdicts of one role were made from.

    Attributes:
        date: the day of the newest run, "2026-11-27".
        version: the version of the suite in the newest run.
        commits: the commits of the suite that judged, in the order of the runs.
        tiers: how much the runs sent.
        runs: how many runs that were.
    """

    date: str
    version: str
    commits: tuple[str, ...]
    tiers: tuple[str, ...]
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedVersion:
    """A broker or a client in one version.

    Attributes:
        id: the target's id: "tansu-0.6.0".
        family: the name of the product without its version.
        release: its version.
        role: broker or client.
        judged: maps the roles in which it was judged, also operation, to whether any rule could be judged.
    """

    id: str
    family: str
    release: str
    role: str
    judged: Mapping[str, bool]

    @property
    def is_judged(self) -> bool:
        """Whether any rule could be judged; if not, nothing is known of it."""
        return any(self.judged.values())

    @property
    def kind(self) -> str:
        """What it is: a broker, a proxy or a client."""
        return "proxy" if self.upstream else self.role

    @property
    def upstream(self) -> str:
        """The target in front of which a proxy was judged; empty for anything else."""
        return self.id.partition(PROXY_TO)[2] if self.role == Role.BROKER else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One defect of a product, in all of its versions.

    Attributes:
        id: its folder below docs/findings: "tansu/KIP-482.unknown-tags-ignored-1"; see `names`.
        role: the role of the runs that show it: broker, client or operation.
        family: whose defect it is.
        title: what is wrong with the newest of these versions, in words; others may show it with other numbers.
        broken: the ids of the versions that have it, each with the rules that it breaks; the newest version first.
        since: the oldest version that has it, if an older one was judged and keeps these rules; else empty.
        fixed: the next version after those that have it, if it was judged and keeps these rules; else empty.
        crashes: whether the product's process ended.
        declared: the reason for which it is declared as known; empty if it is not.
        tried_with: the releases of brokers that an operation was tried with; empty if it is none.
        target: the id of the product, or for an operation of the broker, of which the folder has the bytes; empty if no
            bytes are stored.
        listener: the listener of these bytes; for a client that of the broker which was played to it.
        script: the script that shows it, as a path from its folder; empty if `kafka-conformance replay` alone does.
    """

    id: str
    role: str
    family: str
    title: str
    broken: Mapping[str, tuple[str, ...]]
    since: str
    fixed: str
    crashes: bool
    declared: str
    tried_with: tuple[str, ...]
    target: str
    listener: str
    script: str

    @property
    def product(self) -> str:
        """The folder of its product."""
        return self.id.partition("/")[0]

    @property
    def clauses(self) -> tuple[str, ...]:
        """The rules that it breaks in any version, each once."""
        return tuple(dict.fromkeys(clause for broken in self.broken.values() for clause in broken))


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedClient:
    """The operations that a client tried with brokers.

    Attributes:
        client: the client: "confluent-kafka-2.16.1".
        library: its library: "confluent-kafka".
        operations: maps each operation to a symbol per release, in the order of `Compatibility.releases`.
    """

    client: str
    library: str
    operations: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """A MUST rule that could not be judged.

    Attributes:
        role: the role of the runs that could not: broker, client or operation.
        product: the id of the product that answers for it.
        clause: the rule, or the row of an operation.
        target: the broker that an operation was tried with; else the product.
        reason: why, in one line.
    """

    role: str
    product: str
    clause: str
    target: str
    reason: str

    @property
    def is_operation(self) -> bool:
        """Whether it is the row of an operation."""
        return self.role == OPERATION


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStep:
    """What changes from one line of Apache Kafka to the next.

    Attributes:
        before: the older release.
        after: the newer one.
        lost: the requests of clients of which versions are not served any more.
        new: the requests of clients that are new.
        more: how many requests of clients have further versions.
        moved: how many requests come or go with KRaft, not with the release.
        drops_old_clients: whether Kafka ends its support of clients before 2.1.
        worse: the rules that the newer release breaks and the older one did not; None if the grid lacks one of them.
        better: those that the older one broke and the newer one does not; None if the grid lacks one of them.
    """

    before: str
    after: str
    lost: tuple[str, ...]
    new: tuple[str, ...]
    more: int
    moved: int
    drops_old_clients: bool
    worse: tuple[str, ...] | None
    better: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility:
    """Everything that the document says.

    Attributes:
        project: the address of the suite's repository, to which texts link; empty if it is not published.
        made: what each role's verdicts were made from: broker, client and operation; a role that was not judged lacks.
        levels: maps each rule that a finding breaks to its level.
        products: what was judged: brokers, then clients, the versions of one product together and the newest first.
        findings: the defects, those of one product together.
        releases: the releases that operations were tried with, oldest first.
        clients: the clients that tried them.
        steps: the steps between the lines of Apache Kafka, oldest first.
        undecided: the MUST rules that could not be judged.
    """

    project: str
    made: Mapping[str, Made]
    levels: Mapping[str, str]
    products: tuple[JudgedVersion, ...]
    findings: tuple[Finding, ...]
    releases: tuple[str, ...]
    clients: tuple[TriedClient, ...]
    steps: tuple[LineStep, ...]
    undecided: tuple[Undecided, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much is wrong with some versions of a product; what is declared does not count.

    Attributes:
        bugs: the findings, the gravest first.
        must: how many MUST rules they break.
        should: how many SHOULD rules.
        crashes: whether a process ended.
    """

    bugs: tuple[Finding, ...]
    must: int
    should: int
    crashes: bool


def counts_of(data: Compatibility, versions: frozenset[str]) -> Counts:
    """Count what is wrong with versions of one product."""
    broken = {
        finding.id: {clause for version, clauses in finding.broken.items() if version in versions for clause in clauses}
        for finding in data.findings
        if not finding.declared
    }
    bugs = [finding for finding in data.findings if broken.get(finding.id)]
    levels = {clause: data.levels[clause] for finding in bugs for clause in broken[finding.id]}.values()
    return Counts(
        bugs=tuple(sorted(bugs, key=lambda each: _gravity(data, each, len(broken[each.id])))),
        must=sum(level == Level.MUST for level in levels),
        should=sum(level == Level.SHOULD for level in levels),
        crashes=any(finding.crashes for finding in bugs),
    )


def is_dotted(release: str) -> bool:
    """Return whether a release begins with a number, so that it has a place among others."""
    return release[:1].isdigit()


def _gravity(data: Compatibility, finding: Finding, rules: int) -> tuple[bool, bool, int]:
    has_must = any(data.levels[clause] == Level.MUST for clause in finding.clauses)
    return not finding.crashes, not has_must, -rules


def write_data(data: Compatibility, path: Path) -> None:
    """Write the data as JSON, one finding, product or step per line, so that a change of it is short."""
    parts = {"compatibility_schema_version": DATA_SCHEMA_VERSION, **asdict(data)}
    path.write_text(
        "{\n" + ",\n".join(f"{json.dumps(name)}: {_json(part)}" for name, part in parts.items()) + "\n}\n",
        encoding="utf-8",
    )


def _json(part: Any) -> str:
    if not isinstance(part, tuple) or not part:
        return json.dumps(part, ensure_ascii=False)
    return "[\n" + ",\n".join(f" {json.dumps(each, ensure_ascii=False)}" for each in part) + "\n]"


def read_data(path: Path) -> Compatibility:
    """Read data that `write_data` wrote.

    Raises:
        CannotWork: another version of this suite wrote it.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    version = content.get("compatibility_schema_version")
    if version != DATA_SCHEMA_VERSION:
        raise CannotWork(
            f"{path} has compatibility_schema_version {version}, and not {DATA_SCHEMA_VERSION}: remove it, and make it again from a grid of brokers, clients and operations"
        )
    return Compatibility(
        project=content["project"],
        made={role: Made(**_tuples(each)) for role, each in content["made"].items()},
        levels=content["levels"],
        products=tuple(JudgedVersion(**each) for each in content["products"]),
        findings=tuple(Finding(**{**_tuples(each), "broken": _tuples(each["broken"])}) for each in content["findings"]),
        releases=tuple(content["releases"]),
        clients=tuple(TriedClient(**each) for each in content["clients"]),
        steps=tuple(LineStep(**_tuples(each)) for each in content["steps"]),
        undecided=tuple(Undecided(**each) for each in content["undecided"]),
    )


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
