"""Bugs: the failures of one product, grouped by what most probably is one cause.

Several rules are about the same message, so one bug of a product breaks several rules, and one rule may be broken by
several bugs. Two failures are one bug if they show the same symptom on the same request: "closes the connection" on
"ApiVersions v5". A client's request says little about the cause, because a script decides how its broker behaves: its
failures are one bug if their symptom is the same; operations that hang are one bug if the operation is the same as
well. A failure about many requests is named by its message, and belongs to its rule alone.

The grouping is a guess that is easy to check: each bug names its rules and links to every failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reference_model.profiles.known_apis import label_of
from reports.grid import addresses
from reports.grid.grid_view import TargetColumn
from reports.grid.history_tables import stored_facts
from reports.tables.cell_rows import GridClause
from reports.tables.failure_rows import KeptFailure
from reports.wording.escaping import cut, one_line
from reports.wording.verdict_labels import CRASH_KINDS, some_of

_MAX_TITLE = 180
_MAX_MESSAGE = 90
_REQUEST_BYTES = slice(8, 16)
_SYMPTOMS = (
    re.compile(r"the target closed the connection instead of answering"),
    re.compile(r"the target fell silent"),
    re.compile(r"not decodable as [A-Za-z]+ v\d+"),
    re.compile(r"the response has the error [A-Z_]+, and not [A-Z_]+"),
    re.compile(r"the client loops on one connection"),
    re.compile(r"the client hangs: it does not return to its application(?=, after the broker)"),
    re.compile(r"the client's process hangs: it has to be killed(?=, after the broker)"),
    re.compile(r"the error does not say what the broker lacks"),
)
"""What a target does wrong, however the message goes on; any other message is a symptom of its own."""
HANGS = "the operation neither succeeds nor fails: it hangs"
_WORKS_NOT = "the client does not work"
"""Says so little that only failures of one rule may have one cause."""
PLAIN_V0 = "00120000"
"""Key and version of ApiVersions v0 in the hexadecimal digits of a frame, after its size."""
_ENDED = re.compile(r"(?:\S+ ended while it was judged: )?(?P<how>\w+ ended [^;]+); last lines of .*", re.DOTALL)
_LISTED = re.compile(r"(?P<names>[A-Z]\w+ v[-\dv]+(?:, [A-Z]\w+ v[-\dv]+)*): (?P<symptom>.+)")
_MAX_NAMES = 3
_NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One failure by which a cell is red.

    Attributes:
        clause: the rule that it breaks.
        target: the column of its cell.
        listener: the listener of its cell.
        is_operation: whether it is about an operation of a client.
        is_client: whether a client failed, in an operation or otherwise.
        failure: the stored failure; None if none is stored.
        crashes: whether the target ended, if no failure is stored.
        level_gates: whether the rule's level fails a run.
    """

    clause: GridClause
    target: TargetColumn
    listener: str
    is_operation: bool = False
    is_client: bool = False
    failure: KeptFailure | None = None
    crashes: bool | None = None
    level_gates: bool = True

    @property
    def is_crash(self) -> bool:
        """Whether the target ended."""
        if self.failure is None:
            return bool(self.crashes)
        return self.failure.kind in CRASH_KINDS

    @property
    def message(self) -> str:
        """The first line of the failure's message; empty if no failure is stored."""
        return one_line(self.failure.message.partition("\n")[0]) if self.failure else ""

    @property
    def page(self) -> str:
        """The address of the page about the evidence, from the site's root.

        It is the page of the failure, or of the cell if no failure is stored.
        """
        if self.failure is not None:
            return addresses.failure_page(self.failure.signature)
        return addresses.cell_page(self.clause.clause, self.target.target, self.listener)

    @property
    def operation(self) -> str:
        """The name of the operation, "share-group"; empty if it is about none."""
        return self.clause.clause.rpartition(".")[2] if self.is_operation else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """Failures of one product that most probably have one cause.

    Attributes:
        title: what is wrong, in words.
        evidence: its failures, the best one to look at first.
        cause: what its failures have in common; equal for the same bug of another version.
    """

    title: str
    evidence: tuple[Evidence, ...]
    cause: tuple[str, ...] = ()

    @property
    def first(self) -> Evidence:
        """The failure that a reader should look at first."""
        return self.evidence[0]

    @property
    def clauses(self) -> tuple[GridClause, ...]:
        """The rules that it breaks, each once."""
        return tuple({each.clause.clause: each.clause for each in self.evidence}.values())

    @property
    def crashes(self) -> bool:
        """Whether the target ends."""
        return self.first.is_crash

    @property
    def gates(self) -> bool:
        """Whether it fails a run: one of its rules is a MUST or a PIN."""
        return any(each.level_gates for each in self.evidence)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of what was judged or, for an operation, of the releases that it was tried with; each once."""
        return tuple(dict.fromkeys(each.target.name for each in self.evidence))


def bugs_of(evidence: Iterable[Evidence]) -> tuple[Bug, ...]:
    """Group the failures of one product by their probable cause.

    Args:
        evidence: its failures, in the order of the grid.

    Returns:
        Its bugs: crashes first, then those that fail a run, then those that break most rules.
    """
    grouped: dict[tuple[str, ...], list[Evidence]] = {}
    for piece in evidence:
        grouped.setdefault(_cause(piece), []).append(piece)
    bugs = [
        Bug(title=title_of(alike), cause=cause, evidence=tuple(sorted(alike, key=_usefulness)))
        for cause, alike in grouped.items()
    ]
    return tuple(sorted(bugs, key=lambda bug: (not bug.crashes, not bug.gates, -len(bug.clauses))))


def _cause(evidence: Evidence) -> tuple[str, ...]:
    """Return what failures with one cause have in common."""
    if evidence.failure is None:
        return ("clause", evidence.clause.clause)
    symptom = symptom_of(evidence.message)
    if evidence.is_operation:
        # Any operation fails alike if none can reach the broker, but what hangs waits for something of its own.
        return ("operation", evidence.operation if symptom == HANGS else "", symptom)
    if evidence.is_client:
        return ("client", *client_cause(evidence.message, evidence.clause.clause))
    request = request_of(evidence.failure)
    if not request or _LISTED.match(evidence.message):
        return ("message", evidence.clause.clause, symptom)
    return ("request", request, symptom)


def client_cause(message: str, clause: str) -> tuple[str, str]:
    """Return what failures of a client with one cause share: the clause and the symptom.

    The clause is included only if the symptom says too little, and is empty otherwise.
    """
    symptom = symptom_of(message)
    return clause if symptom.startswith(_WORKS_NOT) else "", symptom


def symptom_of(message: str) -> str:
    """Return what a message says that the target does wrong, without numbers that differ from run to run."""
    symptom = next((match[0] for each in _SYMPTOMS if (match := each.search(message))), None)
    return symptom or _NUMBER.sub("#", message)


def request_of(failure: KeptFailure) -> str:
    """Return the last request of a failure in words, "ApiVersions v5"; empty if it is not stored or none.

    A plain ApiVersions v0 after others shows whether the broker still serves, and is not meant.
    """
    sent = stored_requests(failure)
    meant = [data for data in sent if data[8:16] != PLAIN_V0] or sent
    try:
        key, version = (int.from_bytes(part, signed=True) for part in _key_and_version(meant[-1]))
    except (IndexError, ValueError):
        return ""
    return f"{label_of(key)} v{version}"


def stored_requests(failure: KeptFailure) -> Sequence[str]:
    """Return the bytes that a failure sent, each as hexadecimal digits."""
    try:
        return [str(each["data"]) for each in stored_facts(failure)["sent"]]
    except (KeyError, TypeError):
        return []


def _key_and_version(data: str) -> tuple[bytes, bytes]:
    both = bytes.fromhex(data[_REQUEST_BYTES])
    if len(both) != 4:
        raise ValueError(data)
    return both[:2], both[2:]


def without_log(message: str) -> str:
    """Return how a broker ended, without its name and its last lines: "broker ended by SIGSEGV"."""
    return _ENDED.sub(r"\g<how>", message)


def title_of(alike: Sequence[Evidence], shown: Evidence | None = None) -> str:
    """Return the title of a bug.

    Args:
        alike: its failures.
        shown: the one whose message and numbers the title has; None for the best one.
    """
    in_order = sorted(alike, key=lambda each: (each is not shown, *_usefulness(each)))
    first = in_order[0]
    if not first.message:
        return first.clause.statement or first.clause.clause
    if first.is_operation:
        tried_with = _names([each.target for each in alike])
        return cut(f"{_operations_title(in_order)}, with {tried_with}", _MAX_TITLE)
    return cut(_title_of_failure(first), _MAX_TITLE)


def _title_of_failure(first: Evidence) -> str:
    message = without_log(first.message)
    listed = _LISTED.fullmatch(message)
    if listed:
        names = _shown_first(listed["names"].split(", "), first)
        return f"{_capital(listed['symptom'])}: {some_of(names, _MAX_NAMES)}"
    if message.startswith(_WORKS_NOT):
        return f"{_capital(message)}, where “{first.clause.title}” is judged"
    request = request_of(first.failure) if first.failure and not first.is_client else ""
    if request and request not in message:
        return f"{request}: {message}"
    return _capital(message)


def _shown_first(names: Sequence[str], evidence: Evidence) -> Sequence[str]:
    """Return names of requests with versions; that of the request whose bytes are stored comes first."""
    shown = request_of(evidence.failure) if evidence.failure else ""
    api = shown.rpartition(" v")[0]
    return sorted(names, key=lambda name: not shown or name.rpartition(" v")[0] != api)


def _operations_title(in_order: Sequence[Evidence]) -> str:
    message = in_order[0].message
    names = some_of(list(dict.fromkeys(each.operation for each in in_order)), _MAX_NAMES)
    return f"{names} hangs" if message == HANGS else f"{names}: {cut(message, _MAX_MESSAGE)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _names(columns: Sequence[TargetColumn]) -> str:
    """Return the names of releases; the name of their product only once."""
    unique: Mapping[str, TargetColumn] = {each.target: each for each in columns}
    by_product: dict[str, list[str]] = {}
    for failure in unique.values():
        product = failure.name.removesuffix(f" {failure.short}")
        by_product.setdefault(product, []).append(failure.short if product != failure.name else "")
    return "; ".join(f"{name} {', '.join(shorts)}".strip() for name, shorts in by_product.items())


def _usefulness(evidence: Evidence) -> tuple[bool, bool, bool, int]:
    """Return the sort key of failures.

    Those of rules that fail a run come first, then stored ones, then those whose message says which bytes it is about
    ("unknown tags in header: ..."), and then the one with the fewest bytes.
    """
    failure = evidence.failure
    size = sum(map(len, stored_requests(failure))) if failure else 0
    return not evidence.level_gates, failure is None, ": " not in evidence.message, size
