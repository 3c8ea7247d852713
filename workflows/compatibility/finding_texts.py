"""Texts of a finding: the page in its folder, and an issue for its product.

Both say what the rule demands and where the rule comes from, what was seen, what a client wrote last, and how to see it
again from nothing. The issue also has the bytes, and names the two files that have to be attached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clauses.catalogue import REFERENCE, Role, source_url
from conformance.assertions.client_moves import TOO_MUCH_MEMORY
from fixtures.registry.clients import Client, all_clients
from reports.grid.bugs import PLAIN_V0
from reports.records import FACTS_FILE
from reports.repeats import ONLY_ONE, FailureClass
from reports.wording.escaping import markdown_code_block, markdown_text, one_line, piece_of_line
from workflows.compatibility.data import Compatibility, Finding
from workflows.compatibility.exchanges import exchange_text
from workflows.compatibility.scripts import PLAYER, SENDER, player_can_show

FOLDER = "docs/findings"
_MAX_HEX = 600
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
_PLAYER_SHOWS = (
    "It ends with 1 if the client does the same again, and with 2 if it does something else, which may be right."
)
_PLAYER_CANNOT_SHOW = "It cannot judge this failure, and ends with 2 in any case; `replay`, below, can."
Facts = Mapping[str, Any]
"""The data of a finding; empty if no failure is stored."""


def finding_page(data: Compatibility, finding: Finding, facts: Facts) -> str:
    """Return the text of the finding's folder, in Markdown."""
    return "\n\n".join(_paragraphs(data, finding, facts, is_page=True))


def tracker_text(data: Compatibility, finding: Finding, facts: Facts) -> str:
    """Return the text of an issue about a finding, in Markdown."""
    return "\n\n".join(_paragraphs(data, finding, facts, is_page=False))


def _paragraphs(data: Compatibility, finding: Finding, facts: Facts, *, is_page: bool) -> Iterator[str]:
    yield f"# {markdown_text(finding.family)}: {markdown_text(finding.title)}"
    yield f"In {markdown_text(', '.join(finding.broken))}."
    if finding.tried_with:
        yield f"Seen with: {markdown_text(', '.join(finding.tried_with))}."
    if finding.listener in LISTENERS:
        any_login = (
            ", and takes any name and password" if facts and _is_client(facts) and "sasl" in finding.listener else ""
        )
        yield f"It was met on a listener {LISTENERS[finding.listener]}{any_login}."
    if finding.declared:
        yield f"Declared as known: {_with_addresses(finding.declared)}"
    if not facts:
        return
    project = data.project
    yield from _rule(data, finding, facts)
    yield from _seen(facts)
    yield from _where_the_bytes_are(finding, facts) if is_page else _bytes(facts)
    yield from _again(finding, facts, _Files(project=project, is_page=is_page, id=finding.id))
    suite = f"[kafka-conformance]({project})" if project else "kafka-conformance"
    yield f"Found by {suite} {data.made[finding.role].version}, which judges brokers, proxies and clients of Kafka by the rules for ApiVersions."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """How a text names the files that a reader needs.

    Attributes:
        project: the address of this project's repository; empty if it is not published.
        is_page: whether the text is in the folder of the finding, so that links may be relative.
        id: the finding.
    """

    project: str
    is_page: bool
    id: str

    def both(self, script: str) -> str:
        """Return the names of a script and of the data, as links where they are not attached."""
        if self.project:
            address = f"{self.project}/blob/HEAD/{FOLDER}"
            links = (f"{address}/{script}", f"{address}/{self.id}/{FACTS_FILE}")
        elif self.is_page:
            links = (f"../../{script}", FACTS_FILE)
        else:
            return f"`{script}` and `{FACTS_FILE}`, which are attached"
        return f"[{script}]({links[0]}) and [{FACTS_FILE}]({links[1]})"

    def fetched(self, *paths: str) -> Iterator[str]:
        """Yield the commands that fetch files; none if this project is not published."""
        if self.project:
            yield from (f"curl -fLO {self.project}/raw/HEAD/{FOLDER}/{path}" for path in paths)


def _is_client(facts: Facts) -> bool:
    return str(facts.get("role", Role.BROKER)) != Role.BROKER


def _code(text: str, language: str = "") -> str:
    return "\n".join(markdown_code_block(text, language))


def _rule(data: Compatibility, finding: Finding, facts: Facts) -> Iterator[str]:
    clause = facts["clause"]
    yield f"**Expected**: {markdown_text(facts['statement'])} ({markdown_text(clause)}, {data.levels[clause]}){_limit(finding, facts)}"
    yield f"Source: {linked(facts['location'])}"
    yield f"Why the rule exists: {markdown_text(facts['meaning'])}"
    others = [f"{other} ({data.levels[other]})" for other in finding.clauses if other != clause]
    if others:
        yield f"Other rules that it breaks: {markdown_text(', '.join(others))}"


def _limit(finding: Finding, facts: Facts) -> str:
    """Return the limit that a client used more memory than; empty if the failure is another one."""
    client = _client(finding)
    if client is None or not facts["message"].startswith(TOO_MUCH_MEMORY):
        return ""
    return f" This client may use {client.memory_mb} MB."


def _client(finding: Finding) -> Client | None:
    return next((each for each in all_clients() if each.id == finding.target), None)


def _with_addresses(reason: str) -> str:
    """Return the reason of a declaration, which this project writes itself, as Markdown with links."""
    return "".join(
        f"[{part}]({part})" if _ADDRESS.fullmatch(part) else piece_of_line(part, markdown_text)
        for part in _ADDRESS.split(reason)
    )


def linked(location: str) -> str:
    """Return where a rule stands, as Markdown, with a link to each document that it names."""
    return REFERENCE.sub(lambda match: f"[{match[0]}]({source_url(match[0])})", markdown_text(location))


def _seen(facts: Facts) -> Iterator[str]:
    first, *rest = facts["message"].splitlines()
    if reported := facts.get("reported"):
        yield f"Reported: {markdown_text(reported)}"
    yield f"**Seen**: {markdown_text(first)}"
    last_words = [line.removeprefix(_LAST_WORDS) for line in rest if line.startswith(_LAST_WORDS)]
    # What a client wrote last may stand a second time in front of it
    details = [line for line in rest if not line.startswith(_LAST_WORDS) and line not in last_words]
    if details:
        yield _code("\n".join(details), "text")
    if last_words:
        yield f"The last lines that the {'client' if _is_client(facts) else 'broker'} wrote:"
        yield _code("\n".join(last_words), "text")
    if driver := facts.get("driver"):
        yield "What the client runs:"
        yield _code(driver)


def _where_the_bytes_are(finding: Finding, facts: Facts) -> Iterator[str]:
    if facts.get("exchange"):
        yield (
            f"[{FACTS_FILE}]({FACTS_FILE}) has the bytes{_of_request(facts)}. "
            f"`python -m workflows.compatibility.tracker_text {FOLDER}/{finding.id}` prints this text with them, for the tracker of the product."
        )


def _bytes(facts: Facts) -> Iterator[str]:
    if facts.get("exchange"):
        yield f"The bytes{_of_request(facts)}:"
        yield _code(exchange_text(facts["exchange"]), "text")


def _of_request(facts: Facts) -> str:
    return f", here of {facts['request']}" if facts.get("request") else ""


def _again(finding: Finding, facts: Facts, files: _Files) -> Iterator[str]:
    yield "## To see it again"
    sentence = one_line(str((facts.get("repeats") or {}).get("sentence", "")))
    if sentence:
        yield f"Repeated by the suite: {markdown_text(sentence)}."
    else:
        yield f"Not repeated in the run: {_why_not_repeated(finding)}."
    if not _is_client(facts):
        yield from _against_the_broker(finding, facts, files, sentence)
    elif finding.script:
        yield from _against_the_script(finding, facts, files)
    yield from _with_the_suite(files)


def _why_not_repeated(finding: Finding) -> str:
    if finding.declared:
        return "what is declared as known is not repeated"
    if finding.crashes:
        return "a crash counts if the same bytes end a second broker, and they did; where the suite cannot start one, the first counts"
    return "its values cannot be drawn again, or the time for repeats was used up"


def _against_the_broker(finding: Finding, facts: Facts, files: _Files, sentence: str) -> Iterator[str]:
    listener = "" if finding.listener == "plaintext" else f" --listener {finding.listener}"
    yield (
        f"Start the broker, {markdown_text(finding.target)}, in any way. `kafka-conformance start {finding.target}{listener} --port {_PORT}` does it as well."
    )
    if finding.listener == "plaintext" and (data := _only_request(facts)):
        yield "Only the bytes, with standard tools:"
        yield _code(f"echo {data} | xxd -r -p | nc -w 3 localhost {_PORT} | xxd", "sh")
    if not finding.script:
        return
    others = sorted({step["listener"] for step in facts["steps"]} - {facts["listener"]})
    command = " ".join([f"python3 {SENDER} . localhost:{_PORT}", *(f"{other}=HOST:PORT" for other in others)])
    yield f"The whole exchange, with two files in one folder: {files.both(SENDER)}. The script needs only Python:"
    yield _code("\n".join([*files.fetched(SENDER, f"{finding.id}/{FACTS_FILE}"), command]), "sh")
    if facts.get("seen_elsewhere"):
        yield "It ends with 2: the responses do not show this failure, which was seen elsewhere, and only the suite can judge it."
        return
    yield (
        "It ends with 1 if the broker does the same again, and with 2 if the responses differ from the recorded ones: whether "
        "these are right, only the suite can say."
    )
    if sentence and not sentence.startswith((FailureClass.DETERMINISTIC, ONLY_ONE)):
        yield f"It does not happen each time. Until the script sees it: `until {command}; [ $? = 1 ]; do :; done`."


def _only_request(facts: Facts) -> str:
    """Return the bytes of a failure's only request, or an empty text.

    The text is empty if the connections sent several requests, or if the bytes are long.

    A plain ApiVersions v0 does not count: it shows whether the broker still answers.
    """
    sent = facts.get("sent")
    requests = [str(request["data"]) for request in sent] if isinstance(sent, list) else []
    distinct = list(dict.fromkeys(requests))
    if len(distinct) > 1:
        distinct = [data for data in distinct if data[8:16] != PLAIN_V0]
    return distinct[0] if len(distinct) == 1 and 0 < len(distinct[0]) <= _MAX_HEX else ""


def _against_the_script(finding: Finding, facts: Facts, files: _Files) -> Iterator[str]:
    client = _client(finding)
    yield f"The broker is played by a script, with two files in one folder: {files.both(PLAYER)}. The script needs only Python:"
    commands = [*files.fetched(PLAYER, f"{finding.id}/{FACTS_FILE}"), f"python3 {PLAYER} . --port {_PORT}"]
    yield _code("\n".join(commands), "sh")
    how = f" ({install_command(client)})" if client else ""
    lines = [
        f"Then run any program that uses the client{how} with the bootstrap server 127.0.0.1:{_PORT} and fetches metadata. "
        f"The script prints what the client sent. {_PLAYER_SHOWS if player_can_show(facts) else _PLAYER_CANNOT_SHOW}"
    ]
    if client and client.driver:
        driver = f"drivers/{client.driver}"
        program = f"[{driver}]({files.project}/tree/HEAD/{driver})" if files.project else f"`{driver}`"
        lines.append(f"The program of the suite is {program}.")
    yield "\n".join(lines)


def install_command(client: Client) -> str:
    """Return in Markdown how the library of a client of the registry is installed by itself."""
    kind, library, version = client.install.kind, client.library, client.version
    commands = {
        "pip": f"pip install {library}=={version}",
        "npm": f"npm install {library}@{version}",
        "cargo": f"cargo add {library}@={version}",
        "go": f"go get {client.install.package}@v{version}",
        "maven": next((jar for jar in client.install.jars if f":{library}:" in jar), library),
    }
    return f"`{commands[kind]}`" if kind in commands else markdown_text(client.name)


def _with_the_suite(files: _Files) -> Iterator[str]:
    source = f"git+{files.project}" if files.project else "."
    where = "" if files.project else ", in a checkout of kafka-conformance"
    yield f"Judged again by the suite, which starts what it needs{where}:"
    commands = [
        f"pipx install {source}",
        *files.fetched(f"{files.id}/{FACTS_FILE}"),
        f"kafka-conformance replay {'.' if files.project else f'{FOLDER}/{files.id}'}",
    ]
    yield _code("\n".join(commands), "sh")
