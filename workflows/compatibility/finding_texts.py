"""The text of a finding: a complete issue for the tracker of its product.

The issue needs no files around it.

It says what the rule demands and where the rule comes from, what was seen, what a client wrote last, the bytes without
what says nothing about the failure, and how to see it again from nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import chain, groupby

from clauses.catalogue import REFERENCE, source_url
from conformance.assertions.client_moves import TOO_MUCH_MEMORY
from fixtures.registry.clients import Client, all_clients
from reference_model.profiles.known_apis import known_apis
from reports.exports.issues import driver_of, reported_of
from reports.grid.bugs import Evidence, request_of
from reports.records import FACTS_FILE, REPRODUCER_FILE
from reports.repeats import ONLY_ONE, FailureClass
from reports.tables.failure_rows import KeptFailure
from reports.wording.escaping import markdown_code_block, markdown_text, one_line
from reports.wording.verdict_labels import CRASH_KINDS, counted
from wire.foreign_json import read_foreign_json
from workflows.compatibility.collecting import PLAYER
from workflows.compatibility.data import Compatibility, Finding

FOLDER = "docs/findings"
_MAX_HEX = 600
_FOLDERS = re.compile(r"/(?:home|root|tmp|Users|work)/(?:[\w.@+-]+/)*")
_ADDRESS = re.compile(r"(https?://[^\s<>\"'()\[\]]+)")
_LAST_WORDS = "stderr: "
_PORT = 9092
LISTENERS = {
    "sasl_plaintext": "with SASL (PLAIN), without TLS",
    "ssl": "with TLS",
    "ssl_client_auth": "with TLS and a client certificate",
    "sasl_ssl": "with SASL over TLS",
    "controller": "of the KRaft controller",
}
"""What is special about a listener, for somebody who has to set up the same."""


_MAX_LINE = 160
_PART = re.compile(r"^(?=connection )", re.MULTILINE)
_ROW = re.compile(r"\bapi_keys\[(?P<index>\d+)\]\.\w+ = ")
_KEY = re.compile(r"\b(?:api_keys\[\d+\]\.api_key|request_api_key) = (?P<key>-?\d+)$")
_ASKED_FOR = re.compile(r"\brequest_api_key = (?P<key>-?\d+)$", re.MULTILINE)
_API_NAME = re.compile(r"\b[A-Z]\w+(?= v-?\d)|\bAPI -?\d+")
_API_VERSIONS = 18


def without_folders(text: str) -> str:
    """Return a message in which a path of a machine is the name of its file: a stack trace has such paths."""
    return _FOLDERS.sub("…/", text)


def finding_text(data: Compatibility, finding: Finding, evidence: Evidence | None) -> str:
    """Return the text of a finding, in Markdown; without evidence if no failure is stored."""
    return "\n\n".join(_paragraphs(data, finding, evidence))


def _paragraphs(data: Compatibility, finding: Finding, evidence: Evidence | None) -> Iterator[str]:
    yield f"# {markdown_text(finding.family)}: {markdown_text(finding.title)}"
    yield f"In {markdown_text(', '.join(finding.broken))}."
    if finding.tried_with:
        yield f"Seen with: {markdown_text(', '.join(finding.tried_with))}."
    if finding.listener in LISTENERS:
        yield f"It was met on a listener {LISTENERS[finding.listener]}."
    if finding.declared:
        yield f"Declared as known: {_with_addresses(finding.declared)}"
    if evidence is None:
        return
    yield from _rule(data, finding, evidence)
    project = data.made.project
    if evidence.failure is not None:
        yield from _seen(evidence.failure, is_client=evidence.is_client)
        yield from _again(project, finding, evidence, evidence.failure)
    if not project and finding.script:
        yield "In the tracker of another project, attach the files that are linked here."
    suite = f"[kafka-conformance]({project})" if project else "kafka-conformance"
    yield f"Found by {suite} {data.made.version}, which judges brokers, proxies and clients of Kafka by the rules for ApiVersions."


def _code(text: str, language: str = "") -> str:
    return "\n".join(markdown_code_block(text, language))


def _rule(data: Compatibility, finding: Finding, evidence: Evidence) -> Iterator[str]:
    clause = evidence.clause
    yield f"**Expected**: {markdown_text(clause.statement)} ({markdown_text(clause.clause)}, {clause.level}){_limit(finding, evidence)}"
    yield f"Source: {linked(clause.location)}"
    yield markdown_text(clause.meaning)
    others = [f"{each} ({data.levels[each]})" for each in finding.clauses if each != clause.clause]
    if others:
        yield f"Other rules that it breaks: {markdown_text(', '.join(others))}"


def _limit(finding: Finding, evidence: Evidence) -> str:
    """Return the limit that a client used more memory than; empty if the failure is another one."""
    client = _client(finding)
    if client is None or not evidence.message.startswith(TOO_MUCH_MEMORY):
        return ""
    return f" This client may use {client.memory_mb} MB."


def _client(finding: Finding) -> Client | None:
    return next((each for each in all_clients() if each.id == finding.target), None)


def _with_addresses(reason: str) -> str:
    """Return the reason of a declaration, which this project writes itself, as Markdown with links."""
    return "".join(
        f"[{part}]({part})" if _ADDRESS.fullmatch(part) else _spaced(part) for part in _ADDRESS.split(reason)
    )


def _spaced(text: str) -> str:
    """Return a part of a line as Markdown, with the spaces at its ends."""
    shown = text.strip()
    if not shown:
        return " " if text else ""
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' * before}{markdown_text(shown)}{' ' * after}"


def linked(location: str) -> str:
    """Return where a rule stands, as Markdown, with a link to each document that it names."""
    return REFERENCE.sub(lambda found: f"[{found[0]}]({source_url(found[0])})", markdown_text(location))


def _seen(failure: KeptFailure, *, is_client: bool) -> Iterator[str]:
    first, *rest = without_folders(failure.message).splitlines()
    if reported := reported_of(failure):
        yield f"Reported: {markdown_text(reported)}"
    yield f"**Seen**: {markdown_text(first)}"
    last_words = [line.removeprefix(_LAST_WORDS) for line in rest if line.startswith(_LAST_WORDS)]
    # What a client wrote last may stand a second time in front of it
    details = [line for line in rest if not line.startswith(_LAST_WORDS) and line not in last_words]
    if details:
        yield _code("\n".join(details), "text")
    if last_words:
        yield f"The last lines that the {'client' if is_client else 'broker'} wrote:"
        yield _code("\n".join(last_words), "text")
    if driver := driver_of(failure):
        yield "What the client runs:"
        yield _code(driver)
    if failure.hex_dump:
        request = "" if is_client else request_of(failure)
        yield f"The bytes{f', here of {request}' if request else ''}:"
        yield _code(shortened(failure.hex_dump, failure.message), "text")


def _again(project: str, finding: Finding, evidence: Evidence, failure: KeptFailure) -> Iterator[str]:
    yield "## To see it again"
    sentence = _repeats(failure)
    if sentence:
        yield f"Repeated by the suite: {markdown_text(sentence)}."
    else:
        yield f"Not repeated in the run: {_why_not_repeated(finding, failure)}."
    if evidence.is_client and finding.script:
        yield from _against_the_script(project, finding)
    elif not evidence.is_client:
        yield from _against_the_broker(project, finding, read_foreign_json(failure.facts), sentence)
    yield from _with_the_suite(project, finding)


def _repeats(failure: KeptFailure) -> str:
    repeats = read_foreign_json(failure.facts).get("repeats") or {}
    return one_line(str(repeats.get("sentence", "")))


def _why_not_repeated(finding: Finding, failure: KeptFailure) -> str:
    if finding.declared:
        return "what is declared as known is not repeated"
    if failure.kind in CRASH_KINDS:
        return "a crash only has to end a second broker, if the suite can start one"
    return "its values cannot be drawn again, or the time for repeats was used up"


def _against_the_broker(project: str, finding: Finding, facts: dict[str, object], sentence: str) -> Iterator[str]:
    listener = "" if finding.listener == "plaintext" else f" --listener {finding.listener}"
    yield (
        f"Start the broker, {markdown_text(finding.target)}, in any way. `kafka-conformance start {finding.target}{listener} --port {_PORT}` does it as well."
    )
    if finding.listener == "plaintext" and (data := _only_request(facts)):
        yield "Only the bytes, with standard tools:"
        yield _code(f"echo {data} | xxd -r -p | nc -w 3 localhost {_PORT} | xxd", "sh")
    if not finding.script:
        return
    yield f"The whole exchange, with {_file(project, finding.id, REPRODUCER_FILE)}, which needs only Python:"
    commands = [
        *_fetched(project, f"{finding.id}/{REPRODUCER_FILE}"),
        f"python3 {REPRODUCER_FILE} localhost:{_PORT}",
    ]
    yield _code("\n".join(commands), "sh")
    yield (
        "It ends with 1 if the broker does the same again, and with 2 if the responses differ from the recorded ones: whether "
        "these are right, only the suite can say."
    )
    if sentence and not sentence.startswith((FailureClass.DETERMINISTIC, ONLY_ONE)):
        yield (
            "It does not happen each time. Until the script sees it: "
            f"`until python3 {REPRODUCER_FILE} localhost:{_PORT}; [ $? = 1 ]; do :; done`."
        )


def _only_request(facts: dict[str, object]) -> str:
    """Return the bytes of a failure's only request, or an empty text.

    The text is empty if the connections sent several requests, or if the bytes are long.

    A plain ApiVersions v0 does not count: it shows whether the broker still answers.
    """
    sent = facts.get("sent")
    datas = [str(each["data"]) for each in sent] if isinstance(sent, list) else []
    distinct = list(dict.fromkeys(datas))
    if len(distinct) > 1:
        distinct = [each for each in distinct if not each[8:].startswith("00120000")]
    return distinct[0] if len(distinct) == 1 and 0 < len(distinct[0]) <= _MAX_HEX else ""


def _against_the_script(project: str, finding: Finding) -> Iterator[str]:
    client = _client(finding)
    yield (
        f"{_file(project, '', PLAYER)} plays the broker, as {_file(project, finding.id, FACTS_FILE)} says; it needs only Python. Start it in an empty folder:"
    )
    commands = [
        *_fetched(project, PLAYER),
        *_fetched(project, f"{finding.id}/{FACTS_FILE}"),
        f"python3 {PLAYER} . --port {_PORT}",
    ]
    yield _code("\n".join(commands), "sh")
    how = f" ({install_command(client)})" if client else ""
    lines = [
        f"Then run any program that uses the client{how} with the bootstrap server 127.0.0.1:{_PORT} and fetches metadata. "
        "The script ends with 1 if the client does the same again, and prints what it sent."
    ]
    if client and client.driver:
        driver = f"drivers/{client.driver}"
        program = f"[{driver}]({project}/tree/HEAD/{driver})" if project else f"`{driver}`"
        lines.append(f"The program of the suite is {program}.")
    yield "\n".join(lines)


def install_command(client: Client) -> str:
    """Return in Markdown how the library of a client of the registry is installed by itself."""
    kind, library, version = client.install.kind, client.library, client.version
    commands = {
        "pip": f"pip install {library}=={version}",
        "npm": f"npm install {library}@{version}",
        "cargo": f"cargo add {library}@={version}",
        "go": f"go get {_module(client)}@v{version}",
        "maven": next((jar for jar in client.install.jars if f":{library}:" in jar), library),
    }
    return f"`{commands[kind]}`" if kind in commands else markdown_text(client.name)


def _module(client: Client) -> str:
    pins = client.folder / "go.mod" if client.folder else None
    lines = pins.read_text(encoding="utf-8").splitlines() if pins and pins.exists() else []
    required = (line.split() for line in lines if f" v{client.version}" in f"{line} ")
    return next((part for parts in required for part in parts if "/" in part), client.library)


def _with_the_suite(project: str, finding: Finding) -> Iterator[str]:
    source = f"git+{project}" if project else "."
    where = "" if project else ", in a checkout of kafka-conformance"
    yield f"Judged again by the suite, which starts what it needs{where}:"
    commands = [
        f"pipx install {source}",
        *_fetched(project, f"{finding.id}/{FACTS_FILE}"),
        f"kafka-conformance replay {'.' if project else f'{FOLDER}/{finding.id}'}",
    ]
    yield _code("\n".join(commands), "sh")


def _fetched(project: str, path: str) -> Iterator[str]:
    if project:
        yield f"curl -fLO {project}/raw/HEAD/{FOLDER}/{path}"


def _file(project: str, folder: str, name: str) -> str:
    """Return a link to a file next to a text.

    Without an address of the project the link is relative, as the forge resolves it.
    """
    path = "/".join(filter(None, (FOLDER, folder, name)))
    if project:
        return f"[{name}]({project}/blob/HEAD/{path})"
    return f"[{name}]({name if folder else f'../../{name}'})"


_MAX_LINES_OF_PART, _MAX_DUMP_LINES = 40, 120


def shortened(dump: str, message: str = "") -> str:
    """Return the dump of an exchange without rows irrelevant to a failure.

    Of a long dump only some messages are kept.

    What explains a failure stays: rows about APIs that were requested or that the message names, lines with a mark,
    requests that the message names, and the first and the last messages.
    """
    known = {f"API {key}": key for key in range(-1, 1000)}
    known |= {api.name: key for key, api in known_apis().items()}
    first = message.partition("\n")[0]
    named = {known[name] for name in _API_NAME.findall(first) if name in known} - {_API_VERSIONS}
    keys = {_API_VERSIONS, *named, *(int(found["key"]) for found in _ASKED_FOR.finditer(dump))}
    parts = [_short_part(part.rstrip("\n").split("\n"), keys) for part in _PART.split(dump) if part]
    kept = _kept_parts(parts, named)
    lines: list[str] = []
    for is_kept, run in groupby(range(len(parts)), key=kept.__contains__):
        own = [line for index in run for line in parts[index]]
        lines += own if is_kept else [f"... ({counted(len(own), 'more line')})"]
    cut = (line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} ..." for line in lines)
    return "\n".join(cut)


def _short_part(lines: Sequence[str], keys: Collection[int]) -> Sequence[str]:
    own = list(_without_other_apis(lines, keys))
    rest = own[_MAX_LINES_OF_PART:]
    if len(rest) <= 1:
        return own
    marked = [line for line in rest if line.startswith(">")]
    more = f"... ({len(rest) - len(marked)} more lines)"
    return [*own[:_MAX_LINES_OF_PART], more, *marked]


def _kept_parts(parts: Sequence[Sequence[str]], named: Set[int]) -> Collection[int]:
    """Return the indexes of the messages to show: as many as fit.

    Requests of the named APIs come first, each with the message after it.
    """
    asked = [index for index, part in enumerate(parts) if named & _requested(part)][:2]
    both_ends = chain.from_iterable(zip(reversed(range(len(parts))), range(len(parts)), strict=True))
    kept: set[int] = set()
    left = _MAX_DUMP_LINES
    for index in (*(each for first in asked for each in (first, first + 1)), *both_ends):
        if index in kept or index >= len(parts):
            continue
        left -= len(parts[index])
        if left < 0:
            break
        kept.add(index)
    return kept


def _requested(part: Sequence[str]) -> set[int]:
    return {int(found["key"]) for line in part if (found := _ASKED_FOR.search(line))}


def _without_other_apis(lines: Sequence[str], keys: Collection[int]) -> Iterator[str]:
    """Yield the lines of a message; entries of a table about APIs other than `keys` become one line."""
    left = 0
    for entry_index, entry in groupby(lines, key=_index_of_entry):
        own = list(entry)
        key = _KEY.search(own[0])
        if (
            entry_index
            and key is not None
            and int(key["key"]) not in keys
            and not any(line.startswith(">") for line in own)
        ):
            left += 1
            continue
        if left:
            yield f"... ({counted(left, 'other API')})"
            left = 0
        yield from own
    if left:
        yield f"... ({counted(left, 'other API')})"


def _index_of_entry(line: str) -> str:
    found = _ROW.search(line)
    return found["index"] if found else ""
