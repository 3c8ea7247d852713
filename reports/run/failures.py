"""Files with which one distinct failure can be understood, reproduced and pinned.

`failures/<signature>/` of a run folder holds

- `reproducer.py`: at most 32 kB, standard library only; for a broker it repeats the steps, for a client it plays the
  broker. Long inputs are in `failure.json`, from which it reads them;
- `exchange.txt`: what was sent and received, as an annotated hex dump;
- `exchange.pcap`: the same bytes as packets, for Wireshark;
- `example.txt`: the drawn values, as Hypothesis's `@example` accepts them;
- `failure.json`: the facts, for other programs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clauses.catalogue import Role
from reference_model.clients.scripts.script import TRANSACTIONS, Script
from reports.records import CAPTURE_FILE, DUMP_FILE, FACTS_FILE, OPERATION, REPRODUCER_FILE
from reports.repeats import Repeats, ShownBy, repeat_facts
from reports.run.client_reproducer import play_data, render_client_reproducer
from reports.run.conversation import CONVERSATION, ConversationPart, part_as_json, storable
from reports.run.frame_rows import layout_of_answer
from reports.run.hex_dump import conversation_text
from reports.run.hidden_token_steps import A_TOKEN, hidden_tokens
from reports.run.recorded_conversation import conversation_with_broker, conversation_with_client, sentinel_word
from reports.wording.verdict_labels import CRASH_KINDS
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import ApiVersionsResponse
from wire.codec import Span, Trace, decode_prefix
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Step
from wire.frames import SIZE_BYTES, encode_frame
from wire.headers import ResponseHeader, correlation_id_bytes
from wire.hidden_bytes import hidden_parts
from wire.sentinel import sentinel_for

TEMPLATES = Path(__file__).parents[1] / "templates"
REPRODUCER_SILENCE_S = 2
MAX_REPRODUCER_BYTES = 48 * 1024
"""A script that would be longer reads its steps from `failure.json` in the same folder."""
MAX_DUMP = 2**21
"""Characters of `exchange.txt`. Real dumps stay far below, and a run folder with files that are too large is
refused."""
READS_FACTS = f'.with_name("{FACTS_FILE}")'
"""A script contains this text only if it reads `failure.json`: in texts of the target, quotes are replaced."""
NO_FRAME = "no frame"
SEEN_ELSEWHERE = frozenset(
    {
        # What a request quota, a metric, the request log or a proxy's upstream shows is no part of the bytes
        "KIP-35.throttle-time",
        "KIP-511.connections-metric",
        "KIP-511.name-attached-to-connection",
        "KIP-511.request-log",
        "KIP-896.deprecated-requests-metric",
        "PROXY.broken-upstream-closes",
        "PROXY.requests-unchanged",
        "PROXY.software-name-arrives",
        # TLS records and their segments are below the recorded bytes
        "PROTOCOL.tls-split-independent",
        # Epochs differ from run to run, so they are not compared
        "FEATURES.epoch-monotone",
    }
)
"""Clauses whose violation the recorded bytes do not show: a script that compares bytes cannot judge them."""
CHANGING_FIELDS = ("throttle_time_ms", "finalized_features_epoch")
_NUMBERS = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|-?(?<!v)(?<!\d)\d+(?:,\d{3}(?!\d))*")
_SIGNATURE_DIGITS = 16
_MAX_MESSAGE = 1000


def signature_of(*, clause: str, target: str, listener: str, property_name: str, kind: str, message: str) -> str:
    """Return the signature that equal failures of one listener share: 16 hexadecimal digits.

    Only the first line of the message counts, without its numbers.
    """
    first_line = message.partition("\n")[0]
    text = "\0".join((clause, target, listener, property_name, kind, _NUMBERS.sub("#", first_line)))
    return hashlib.sha256(text.encode()).hexdigest()[:_SIGNATURE_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One distinct failure, with its smallest example.

    Attributes:
        signature: see `signature_of`.
        statement: what the clause says.
        property_name: the test function's name.
        verdict: the verdict of its example: `violates` or `informational`.
        kind: class of the exception.
        evidence: what shows it.
        example: the drawn values.
        steps: what was done on the connections, in order.
        repeats: how often it recurred when repeated alone; None if it was not repeated.
        known_violation: the notes of the declared violations that match it; empty if none does.
        role: what the target was judged as: "broker", "client" or "operation".
        script: what the scripted broker did, for a client; None for a broker.
        reported: where it was already reported, and what became of that; empty if it was not.
        driver: the lines of the driver that try the operation, if it is one; empty for any other failure.
        client_command: what a user said about the client, if it is a command; empty for any other target.
        origin: where a target without a file came from: its folder or addresses, and the release that it is judged
            like.
    """

    signature: str
    clause: str
    statement: str
    property_name: str
    target: str
    listener: str
    verdict: str
    kind: str
    message: str
    example: str
    steps: tuple[Step, ...]
    evidence: ShownBy = ShownBy.BYTES
    repeats: Repeats | None = None
    known_violation: str = ""
    role: str = Role.BROKER.value
    script: Script | None = None
    reported: str = ""
    driver: str = ""
    client_command: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_crash(self) -> bool:
        """Whether the failure is that the target ended."""
        return self.kind in CRASH_KINDS

    @property
    def is_of_client(self) -> bool:
        """Whether the steps are those of a client, and not of the suite."""
        return self.role in (Role.CLIENT, OPERATION)

    @property
    def is_reproducible(self) -> bool:
        """Whether there is a reproducer: that of a client plays its script; operations and transactions have none."""
        return not self.is_of_client or (self.script is not None and TRANSACTIONS not in self.script.options)

    @property
    def first_line(self) -> str:
        """The message's first line."""
        return self.message.partition("\n")[0]


def recorded_answers(step: Step) -> list[str]:
    """Return the responses of a step in hexadecimal, with a word in place of each missing one.

    Dots replace the digits of fields that differ between correct responses. If a sentinel was sent, a word says
    whether it was answered. If our side of the stream ended, a word says whether the target ended its own.
    """
    answers = [_recorded_answer(exchange) for exchange in step.exchanges]
    if step.sentinel:
        answers.append(sentinel_word(step))
    if step.end_of_stream and step.exchanges:
        answers.append(_end_of(step.exchanges[-1]))
    return answers


def _end_of(last: Exchange) -> str:
    """Return what the target did after its last response, once our side of the stream had ended."""
    if last.outcome is not Outcome.ANSWER:
        return last.outcome.value
    return (Outcome.SILENT if last.usable else Outcome.CLOSED).value


def _recorded_answer(exchange: Exchange) -> str:
    payload = exchange.payload
    if payload is None:
        return NO_FRAME if exchange.framing_error is not None else exchange.outcome.value
    if exchange.request.is_hidden:
        return A_TOKEN
    digits = list(_with_dots(encode_frame(payload)))
    if exchange.request.api_key != API_VERSIONS_KEY:
        return "".join(digits)
    for span in _changing_spans(payload, exchange.request.api_version):
        start, end = (2 * (SIZE_BYTES + offset) for offset in (span.start, span.end))
        digits[start:end] = "." * (end - start)
    return "".join(digits)


def _with_dots(data: bytes) -> str:
    """Return bytes in hexadecimal, with dots in place of what is hidden: the target repeats a secret there."""
    digits = data.hex()
    for part in hidden_parts(data):
        start, end = 2 * part.start, 2 * part.stop
        digits = digits[:start] + "." * (end - start) + digits[end:]
    return digits


def _changing_spans(payload: bytes, api_version: int) -> list[Span]:
    """Return the fields of a response whose values depend on the clock or the cluster's log."""
    trace: Trace = []
    layout = layout_of_answer(payload, api_version)
    # Decode as far as possible; the bytes after that are compared unchanged.
    with contextlib.suppress(DecodeError):
        _, body = decode_prefix(ResponseHeader, payload, version=0)
        decode_prefix(ApiVersionsResponse, payload, version=layout, offset=body, trace=trace)
    return [span for span in trace if span.field_path in CHANGING_FIELDS and _is_plausible(span.value)]


def _is_plausible(value: object) -> bool:
    """Return whether a value can be right; a negative number may be a fault of the response."""
    return isinstance(value, int) and value >= 0


def _sentinel_id(step: Step) -> str:
    if not step.sentinel:
        return ""
    sentinel = sentinel_for(step.exchanges[0].request.correlation_id)
    return correlation_id_bytes(sentinel.data[SIZE_BYTES:]).hex()


def render_reproducer(failure: Failure) -> str:
    """Return the source of a script that repeats the steps of a failure, or plays the broker for a client.

    If the script would exceed `MAX_REPRODUCER_BYTES`, it reads what it needs from `failure.json`.
    """
    return _reproducer(failure)[0]


def _reproducer(failure: Failure) -> tuple[str, Mapping[str, Any]]:
    """Return the script, and what `failure.json` must contain for it."""
    script = _render_script(failure, data := _data_to_repeat(failure))
    if len(script.encode()) <= MAX_REPRODUCER_BYTES:
        return script, {}
    return _render_script(failure, None), data


def _data_to_repeat(failure: Failure) -> Mapping[str, Any]:
    if failure.script is not None:
        return {"play": play_data(failure.script, failure.steps)}
    return {"steps": _steps_to_repeat(failure)}


def _steps_to_repeat(failure: Failure) -> list[dict[str, Any]]:
    """Return what a script needs to repeat the steps of a failure."""
    tokens = hidden_tokens(failure.steps)
    return [
        {
            "connection": step.connection,
            "listener": step.listener or failure.listener,
            "tls": step.tls,
            "pause_s": step.pause_s,
            "end_of_stream": step.end_of_stream,
            "pieces": [piece.hex() for piece in (_sent(step) if made else step.pieces)],
            **({"tokens": made} if made else {}),
            "sentinel": _sentinel_id(step),
            "recorded": recorded_answers(step),
            "stray": "" if made or not step.exchanges else _with_dots(step.exchanges[-1].stray),
        }
        for step, made in zip(failure.steps, tokens, strict=True)
    ]


@cache
def script_templates() -> Environment:
    """Return the templates of scripts; compiling one takes longer than rendering it."""
    return Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=False)


def _render_script(failure: Failure, data: Mapping[str, Any] | None) -> str:
    texts = {
        "clause": failure.clause,
        "statement": _harmless(failure.statement),
        "target": _harmless(failure.target),
        "listener": _harmless(failure.listener),
        "message": _harmless(failure.first_line[:_MAX_MESSAGE]),
        "reads_facts": READS_FACTS,
    }
    if failure.script is not None:
        play = None if data is None else data["play"]
        # What a property says of a client ends with a summary of the play.
        last_line = failure.message.rpartition("\n")[2] if "\n" in failure.message else ""
        texts["summary"] = _harmless(last_line[:_MAX_MESSAGE])
        return render_client_reproducer(script_templates(), texts, failure.script, play)
    return (
        script_templates()
        .get_template("reproducer.py.j2")
        .render(
            **texts,
            any_failure=False,
            silence_s=REPRODUCER_SILENCE_S,
            in_bytes=failure.clause not in SEEN_ELSEWHERE,
            steps=None if data is None else data["steps"],
            tls=any(step.tls for step in failure.steps),
            hidden=any(hidden_tokens(failure.steps)),
            a_token=A_TOKEN,
            other_listeners=sorted({s.listener for s in failure.steps} - {"", failure.listener}),
        )
    )


def render_sender() -> str:
    """Return the source of a script that repeats the steps of any stored failure of a broker, whose folder it gets."""
    return (
        script_templates()
        .get_template("reproducer.py.j2")
        .render(any_failure=True, silence_s=REPRODUCER_SILENCE_S, steps=None, tls=True, hidden=True, a_token=A_TOKEN)
    )


def _harmless(text: str) -> str:
    """Make a text safe inside a docstring, even if a target chose it."""
    ascii_text = text.encode("ascii", "replace").decode().replace("\\", "/").replace('"', "'")
    return "".join(character if character.isprintable() else "?" for character in ascii_text)


def conversation_of(failure: Failure) -> tuple[ConversationPart, ...]:
    """Return what was sent and received."""
    return (conversation_with_client if failure.is_of_client else conversation_with_broker)(failure.steps)


def render_dump(conversation: Sequence[ConversationPart]) -> str:
    """Return the text of `exchange.txt`; of what a hostile target sent, its beginning."""
    text = conversation_text(conversation)
    if len(text) <= MAX_DUMP:
        return text
    kept = text[: text.rfind("\n", 0, MAX_DUMP) + 1]
    missing = len(text[len(kept) :].splitlines())
    return f"{kept}{missing:,} more lines; the capture has more of the bytes"


def facts(failure: Failure) -> Mapping[str, Any]:
    """Return a failure for `failure.json`: its fields, the bytes that were sent and a summary of its repeats.

    If the steps, or the script, are too long for the reproducer, all that it needs of them is included.
    """
    apart = ("steps", "repeats", "role", "script", "driver", "reported", "client_command", "origin")
    names = (field.name for field in fields(failure) if field.name not in apart)
    script = "" if failure.script is None else repr(failure.script)
    of_client: dict[str, Any] = {"script": script}
    if failure.driver:
        of_client["driver"] = failure.driver
    if failure.client_command:
        of_client["client_command"] = dict(failure.client_command)
    return {
        **{name: getattr(failure, name) for name in names},
        **({} if failure.role == Role.BROKER else {"role": failure.role}),
        **(of_client if failure.is_of_client else {}),
        **({"origin": dict(failure.origin)} if failure.origin else {}),
        **({"reported": failure.reported} if failure.reported else {}),
        "sent": [{"connection": step.connection, "data": data.hex()} for step in failure.steps for data in _sent(step)],
        "repeats": None if failure.repeats is None else repeat_facts(failure.repeats),
        **(_reproducer(failure)[1] if failure.is_reproducible else {}),
    }


def render_facts(failure: Failure, conversation: Sequence[ConversationPart]) -> str:
    """Return the text of `failure.json`."""
    text = json.dumps(facts(failure), indent=1)
    parts = [json.dumps(part_as_json(part)) for part in storable(conversation)]
    if not parts:
        return f"{text}\n"
    # A line for each part: a line for each number would make the file several times as long.
    lines = ",\n  ".join(parts)
    beginning = text.removesuffix("\n}")
    return f'{beginning},\n "{CONVERSATION}": [\n  {lines}\n ]\n}}\n'


def _sent(step: Step) -> tuple[bytes, ...]:
    """Return the requests of a step, without the sentinel after them."""
    return tuple(exchange.request.data for exchange in step.exchanges) or step.pieces


def failure_files(failure: Failure) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files of a failure."""
    conversation = conversation_of(failure)
    if failure.steps or failure.is_of_client:
        # Its 200 modules of protocols take a thirtieth of a second, and most runs have no failure.
        from reports.run.packet_capture import render_capture  # noqa: PLC0415

        if failure.is_reproducible:
            yield REPRODUCER_FILE, render_reproducer(failure).encode()
        yield DUMP_FILE, render_dump(conversation).encode()
        yield CAPTURE_FILE, render_capture(failure.steps, listener=failure.listener)
    if failure.example:
        yield "example.txt", f"{failure.example}\n".encode()
    yield FACTS_FILE, render_facts(failure, conversation).encode()
