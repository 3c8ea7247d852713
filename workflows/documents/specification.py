"""The specification of the handshake.

It is for those who implement a broker or a client from it alone.

Field tables come from `wire`, rules from the catalogue, bytes from the vectors, and where Apache Kafka differs from the
profiles. Only the sentences that lead through them are written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from clauses.catalogue import Clause, Role, catalogue
from conformance.assertions.contradictions import is_of_model
from conformance.corpus.entries import format_bytes
from conformance.mutation.properties import all_properties
from conformance.vectors.broker_vectors import VectorStep, read_vector
from conformance.vectors.vector_set import BROKER_KINDS, VectorSet, load_vectors
from proposals import proposals
from reference_model.broker.rules.connection_states import TRANSITIONS
from reference_model.broker.rules.reaction import AnswerKind
from reference_model.broker.rules.request_parser import SOFTWARE_NAME
from reference_model.profiles.listeners import CONTROLLER_LISTENERS, PLAINTEXT, SASL_LISTENERS, TLS_LISTENERS
from reference_model.profiles.profile import FOLDER, NEWEST_RELEASE, profile_of
from reports.wording.markdown_table import markdown_table
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY
from wire.api_versions import (
    NEWEST_VERSION,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from wire.codec import TAG_SECTION, Span, Trace, decode, encode
from wire.error_codes import ErrorCode
from wire.fields import Field, FieldType, Message
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, encode_frame
from wire.header_versions import request_header_version
from wire.headers import CORRELATION_ID_BYTES, RequestHeader, ResponseHeader
from wire.primitives import INT16_MAX, write_int32
from wire.sentinel import SENTINEL_CORRELATION_ID, sentinel_for

MAX_BYTES = 400
"""Characters of bytes that a rule shows; `vectors show` has all."""
_ERRORS = {
    ErrorCode.NONE: "the request is served",
    ErrorCode.UNSUPPORTED_VERSION: "the version is not served; nothing after the header is read",
    ErrorCode.ILLEGAL_SASL_STATE: "after SaslHandshake v1, before the authentication is complete",
    ErrorCode.INVALID_REQUEST: "a name or version of the software is not legal, or just one of `cluster_id` and `node_id` is given",
    ErrorCode.REBOOTSTRAP_REQUIRED: "`cluster_id` and `node_id` are given, and one of them is not the broker's own",
}
_SASL_STATES = """On a listener with SASL a connection begins in the state "before the handshake". In the table each row is one step; a step that is not there closes the connection."""
_FEATURE = SupportedFeatureKey(name="metadata.version", min_version=7, max_version=27)
_TABLE = (
    ApiVersion(api_key=METADATA_KEY, min_version=0, max_version=13),
    ApiVersion(api_key=API_VERSIONS_KEY, min_version=0, max_version=NEWEST_VERSION),
)
_RESPONSES = {
    "The response to v0, of a broker with Metadata v0 to v13": (
        0,
        ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=_TABLE),
    ),
    "The response to v3, of the same broker with a supported feature": (
        3,
        ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=_TABLE, supported_features=(_FEATURE,)),
    ),
    f"The response to v{NEWEST_VERSION + 1}, or to any other version that is not served: error 35, in the layout of v0": (
        0,
        ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_TABLE[1:]),
    ),
}
_CORRELATION_ID = 7
_SENTINELS = {
    **{sentinel_for(number).data: "probe" for number in (0, SENTINEL_CORRELATION_ID)},
    **{sentinel_for(number, before_authentication=True).data: "SASL probe" for number in (0, SENTINEL_CORRELATION_ID)},
}
_GROUPS = {
    "Every listener, the plaintext one first": "A broker that has nothing but a plaintext listener needs these, and those of the next group that its configuration makes possible.",
    "What single requests do not show": "Limits, quotas, sessions, metrics, other APIs and several nodes. No vector covers these.",
    "Listeners with TLS": "",
    "Listeners with SASL": "",
    "Listeners of controllers": "",
    "Several listeners compared": "",
    "Proxies": "",
    "A proposal under discussion": "No release has it. Leave it out, unless you implement the proposal.",
}
"""The groups of rules for brokers, and what is said about each."""
_PLAINTEXT, _BEYOND, _TLS, _SASL, _CONTROLLER, _SEVERAL, _PROXY, _PROPOSAL = _GROUPS


def specification() -> Iterator[str]:
    """Yield the lines of the specification."""
    loaded = load_vectors()
    yield "# The handshake of Apache Kafka\n"
    yield "What a broker has to do with ApiVersions and with request headers, complete enough to write one from. `python -m workflows.documents` generates it from the field tables, the clauses, the profiles of releases and the vectors."
    yield "MUST and SHOULD follow from the named section of a Kafka Improvement Proposal or of the protocol guide, in our own words. PIN marks what no source says: it is what Apache Kafka does,"
    yield "and another implementation may differ. Each rule has one [vector](../vectors/README.md) as bytes; `kafka-conformance vectors show ID` shows it in full."
    yield "This page is to implement from; [clauses.md](clauses.md) is to look up the id of a clause, with what only tools do and why some are not judged.\n"
    yield from _layout()
    yield from _worked_responses()
    yield from _order_of_checks()
    yield from _life_of_a_connection()
    yield from _client()
    yield from _legend()
    yield from _broker_rules(loaded)
    yield from _client_rules(loaded)
    yield from _differences(loaded)


def _layout() -> Iterator[str]:
    yield "## Bytes\n"
    yield "Fields have the names of Kafka's message schemas in snake case: `cluster_id` is ClusterId there, and a rule speaks of the cluster id.\n"
    yield "Integers are signed and big-endian. A frame is an int32 size and that many bytes: a header, then a body. A `string` has an int16 length, -1 for null; a compact one has an unsigned varint of its"
    yield "length plus 1, 0 for null. An `array` has an int32 count, a compact one an unsigned varint of its count plus 1. An unsigned varint has seven bits in each byte, the least significant first, and the"
    yield f"highest bit set in all but the last. A tag section is an unsigned varint count, then for each field, in ascending order, tag, size and bytes; a field that has its default is left out. A `bool` is one byte, 00 or 01. A string has at most {INT16_MAX} bytes, a compact one as well. Flexible versions have compact strings and arrays, and a tag section at the end of each struct.\n"
    yield "### Request header\n"
    yield from _fields(RequestHeader, range(3))
    yield "\nThe client id keeps its int16 length in every header version. Header v2 ends with a tag section.\n"
    rows = [(f"v{version}", f"v{request_header_version(18, version)}", "v0") for version in range(NEWEST_VERSION + 1)]
    yield from markdown_table(("ApiVersions request", "request header", "response header"), rows)
    yield "\nThe response header of ApiVersions is v0 in every version: a client reads it before it knows what the broker supports. It is the correlation id alone, so the error code"
    yield "is at the same place in every response. A version above v5 has request header v2; a negative one has v1.\n"
    yield "### Response header\n"
    yield from _fields(ResponseHeader, range(1))
    yield "\n### ApiVersions request (API key 18)\n"
    yield "The body of v0 to v2 is empty.\n"
    yield from _fields(ApiVersionsRequest, range(NEWEST_VERSION + 1))
    yield "\n### ApiVersions response\n"
    yield "UNSUPPORTED_VERSION is always in the layout of v0, whatever version was asked for.\n"
    for message in (ApiVersionsResponse, ApiVersion, SupportedFeatureKey, FinalizedFeatureKey):
        yield f"\n**{message.__name__}**\n"
        yield from _fields(message, range(NEWEST_VERSION + 1))
    yield ""


def _fields(message: type[Message], known: Sequence[int]) -> list[str]:
    rows = [(_row(field, message, known)) for field in message.FIELDS]
    return markdown_table(("field", "type", "versions", "tag", "null in", "default"), rows)


def _row(field: Field, message: type[Message], known: Sequence[int]) -> tuple[str, ...]:
    flexible = message.FLEXIBLE if field.flexible is None else field.flexible
    has_length = field.type in (FieldType.STRING, FieldType.ARRAY)
    compact = [version for version in known if version in field.versions and version in flexible]
    element = f" of {field.element.__name__}" if field.element is not None else ""
    form = f", compact from v{compact[0]}" if has_length and compact else ""
    null = [version for version in known if version in field.nullable]
    default = "" if field.default is None else f"`{field.default!r}`"
    tag = "" if field.tag is None else str(field.tag)
    return (
        f"`{field.name}`",
        f"{field.type.value}{element}{form}",
        str(field.versions),
        tag,
        f"v{null[0]}+" if null else "",
        default,
    )


def _worked_responses() -> Iterator[str]:
    yield f"### Three responses, byte by byte\n\nThe correlation id of the requests is {_CORRELATION_ID}.\n"
    for title, (version, response) in _RESPONSES.items():
        yield f"{title}:\n"
        yield from markdown_table(("bytes", "field", "value"), response_rows(response, version))
        yield ""


def response_rows(response: ApiVersionsResponse, version: int) -> list[tuple[str, str, str]]:
    """Return the bytes, the field and the value of each part of a response's frame, in order."""
    body = encode(response, version=version)
    trace: Trace = []
    decode(ApiVersionsResponse, body, version=version, trace=trace)
    frame = encode_frame(write_int32(_CORRELATION_ID) + body)
    size, correlation_id = frame[:SIZE_BYTES], frame[SIZE_BYTES : SIZE_BYTES + CORRELATION_ID_BYTES]
    rows = [
        (f"`{size.hex()}`", "size of the frame", str(len(frame) - SIZE_BYTES)),
        (f"`{correlation_id.hex()}`", "`correlation_id`", str(_CORRELATION_ID)),
    ]
    for span in trace:
        rows.append((f"`{body[span.start : span.end].hex(' ')}`", f"`{span.field_path}`", _value(span)))
    return rows


def _value(span: Span) -> str:
    if span.field_path.endswith(TAG_SECTION):
        return f"{span.value} tagged fields"
    if TAG_SECTION in span.field_path:
        return f"tag {span.value}, and the size of its field"
    if isinstance(span.value, ErrorCode):
        return repr(span.value)
    return str(span.value)


def _order_of_checks() -> Iterator[str]:
    traits = profile_of(NEWEST_RELEASE).traits
    yield "## What a broker does with an ApiVersions request\n"
    yield f"1. The size: a negative one, or one above the limit, closes the connection at once. Apache Kafka's limit is {SOCKET_REQUEST_MAX_BYTES} bytes (`socket.request.max.bytes`), and {traits.sasl_frame_bytes_max} before"
    yield "   SASL authentication."
    yield "2. The header: one that cannot be read closes the connection. A client id of any negative length is null, and any bytes are allowed in it."
    yield "3. The API key: one that the listener does not have closes the connection, whatever the version is; so does a version of another API than ApiVersions that is not served."
    yield "4. The version of ApiVersions: one that is not served gets UNSUPPORTED_VERSION in the layout of v0, which from KIP-511 on lists ApiVersions alone. Nothing after the header is read."
    yield f"5. The body of v3 and above: one that cannot be read closes the connection, such as a null name, a string of more than {INT16_MAX} bytes, a length beyond the frame, more than {traits.max_tags:,} tags, or a varint of more"
    yield "   than five bytes. Tags that are unknown, appear twice or do not ascend are skipped (PIN)."
    yield "6. Bytes after the body, inside the frame, are ignored in every version (PIN)."
    yield "7. Name and version of the software, from v3 on: each has to match the expression below as a whole, with ASCII letters and digits alone, or the broker answers INVALID_REQUEST. That a dot or hyphen at either end is refused"
    yield "   is PIN. Bytes that are not UTF-8 are never served: Apache Kafka answers INVALID_REQUEST, and to close the connection is allowed as well."
    yield "8. The ids, from v5 on: a `cluster_id` is given unless it is null, and a `node_id` unless it is -1; so an empty `cluster_id` and a `node_id` of -2 are given. One without the other gets INVALID_REQUEST. Both, of which"
    yield "   one is not the broker's own, get REBOOTSTRAP_REQUIRED. INVALID_REQUEST comes first (PIN)."
    yield "9. Otherwise the broker answers with its table.\n"
    yield f"The legal form of a name or version:\n\n```\n{SOFTWARE_NAME.pattern}\n```\n"
    yield "INVALID_REQUEST and REBOOTSTRAP_REQUIRED are answered in the layout of the request with an empty table (PIN), with `throttle_time_ms` from v1 on; UNSUPPORTED_VERSION is in v0 and has none.\n"
    rows = [(f"{code.name} ({int(code)})", when) for code, when in _ERRORS.items()]
    yield from markdown_table(("error code", "when"), rows)
    yield ""


def _life_of_a_connection() -> Iterator[str]:
    yield "## The life of a connection\n"
    yield "Without SASL every request is served, responses come in the order of the requests, and a refusal keeps the connection. With TLS nothing of this protocol is answered before the TLS handshake is complete."
    yield "Where a frame closes the connection, the requests before it get their responses first, also if they came in the same packet, and no byte follows them. The vectors ask for that; up to 2.4 Apache Kafka lost some. A broker that"
    yield "closes a socket with unread bytes makes TCP reset the connection, which may destroy responses on their way: end your side first, and read what still comes. Whether the end is a FIN or a reset is open.\n"
    yield f"{_SASL_STATES}\n"
    rows = [
        (before.value, event.value, after.value)
        for (before, event), after in TRANSITIONS.items()
        if event.value not in ("end of stream", "swallowed", "refused") and before is not after
    ]
    yield from markdown_table(("state", "step", "next state"), rows)
    yield ""


def _client() -> Iterator[str]:
    yield "## What a client does\n"
    yield "1. On each new connection it sends ApiVersions in its newest version. 2. On error 35 it reads the response in the layout of v0; if that names a range for ApiVersions below the refused version, it asks"
    yield "again in the newest version of that range, otherwise in v0; v0 refused is an error. 3. On error 42 it closes the connection and reports an error. On error 129 it closes all connections, forgets the"
    yield "cluster and bootstraps again. 4. A response that cannot be read is an error within a bounded time. 5. It ignores unknown keys, tagged fields and features. 6. For each request it takes the newest"
    yield "version that both ranges have; without one it refuses the operation before anything is sent. A lowest version below 0 counts as 0, a range in the wrong order has no version, and an API that stands twice"
    yield "has the versions of either entry. 7. Finalized features count with an epoch of 0 or above, and only those of the highest epoch. 8. In a transaction it sends Produce up to v11 and TxnOffsetCommit up to v4,"
    yield "unless these features have `transaction.version` at 2 or above. AddPartitionsToTxn v4 and above are for brokers alone: a client sends it up to v3.\n"
    yield "A response cannot be read if its size or its correlation id is wrong, a length or count goes beyond its frame, a varint has more than five bytes, a name or the list of APIs is null, bytes are left after the body,"
    yield "or a tag appears twice. A client need not refuse the last two.\n"


def _legend() -> Iterator[str]:
    probe, sasl_probe = (_bytes(sentinel_for(0, before_authentication=early).data) for early in (False, True))
    yield "## How to read the bytes of a rule\n"
    yield "After each rule stands its shortest vector: what is sent, in hexadecimal, each frame with its size. `,` separates the frames of one write, and ` | ` the steps: before the next step, the responses of this one are read. `#1` marks a step on"
    yield "a second connection, `end` the end of our side of the stream, and `close` that we close the connection. `00*65539` is the byte 00 that many times, and `...` leaves out the rest. What has to come back for each frame: `vectors show ID`.\n"
    yield f"`probe` is an ApiVersions request v0 which shows that the connection still serves: `{probe}`. Before SASL authentication `SASL probe` does that, a SaslHandshake v0: `{sasl_probe}`.\n"


def _broker_rules(loaded: VectorSet) -> Iterator[str]:
    yield "## Rules for brokers\n"
    own = [clause for clause in catalogue() if Role.BROKER in clause.roles and not is_of_model(clause.id)]
    group_of = {clause.id: broker_group(clause.id, loaded) for clause in own}
    for group, about in _GROUPS.items():
        yield f"### {group}\n"
        if about:
            yield f"{about}\n"
        yield from (_rule(clause, loaded) for clause in own if group_of[clause.id] == group)
        yield ""


def broker_group(clause_id: str, loaded: VectorSet) -> str:
    """Return the group of a rule for brokers: by the listeners of its properties, and whether a vector covers it."""
    if clause_id.startswith(_proposed()):
        return _PROPOSAL
    if clause_id.startswith("PROXY."):
        return _PROXY
    judging = [each for each in all_properties().values() if clause_id in each.clauses]
    listeners = {name for each in judging for name in each.listeners or (PLAINTEXT,)}
    if PLAINTEXT in listeners:
        is_covered = any(clause_id in vector["clauses"] for _, vector in loaded)
        return _PLAINTEXT if is_covered else _BEYOND
    if not listeners:
        return _BEYOND
    kinds = {_SASL: SASL_LISTENERS, _TLS: TLS_LISTENERS, _CONTROLLER: CONTROLLER_LISTENERS}
    return next((group for group, names in kinds.items() if listeners <= set(names)), _SEVERAL)


def _proposed() -> tuple[str, ...]:
    return tuple(f"{proposal.source}." for proposal in proposals())


def _client_rules(loaded: VectorSet) -> Iterator[str]:
    own = [clause for clause in catalogue() if Role.CLIENT in clause.roles and not is_of_model(clause.id)]
    yield "## Rules for clients\n"
    yield from (_rule(clause, loaded, of_clients=True) for clause in own if not clause.id.startswith(_proposed()))
    yield f"\n### {_PROPOSAL}\n\n{_GROUPS[_PROPOSAL]}\n"
    yield from (_rule(clause, loaded, of_clients=True) for clause in own if clause.id.startswith(_proposed()))
    yield ""


def _rule(clause: Clause, loaded: VectorSet, *, of_clients: bool = False) -> str:
    example = _example(clause.id, loaded, of_clients=of_clients)
    return f"- **{clause.level.value}** {clause.statement} (`{clause.id}`; {clause.location}{_since(clause)}){example}"


def _since(clause: Clause) -> str:
    return f"; from v{clause.applies_to.first}" if clause.applies_to.first else ""


def _example(clause_id: str, loaded: VectorSet, *, of_clients: bool) -> str:
    """Return the shortest vector of a clause; the ones whose main clause it is, and those on plaintext, come first."""
    found = [
        vector for kind, vector in loaded if clause_id in vector["clauses"] and (kind not in BROKER_KINDS) is of_clients
    ]
    best = min(
        found,
        key=lambda vector: (
            vector["clauses"][0] != clause_id,
            any(step["listener"] != PLAINTEXT for step in vector.get("steps", ())),
            len(_shown(vector)),
            vector["id"],
        ),
        default=None,
    )
    if best is None:
        return ""
    return f"<br>`{best['id']}`: {_shown(best)}"


def _shown(vector: Mapping[str, Any]) -> str:
    if "steps" in vector:
        listeners = dict.fromkeys(step["listener"] for step in vector["steps"] if step["listener"] != PLAINTEXT)
        where = f" ({', '.join(listeners)})" if listeners else ""
        return f"`{_cut(' | '.join(map(_sent, read_vector(vector).steps)))}`{where}"
    if "bytes" in vector:
        return f"`{_cut(vector['bytes'])}` {vector['sentence']}"
    if "client" in vector:
        tables = "; ".join(str(table["entries"]) for table in vector["tables"])
        return f"client {vector['client']}, brokers {tables}: {vector['allowed'] or 'refuse'}"
    return f"a play: {vector['sentence']}"


def _sent(step: VectorStep) -> str:
    """Return what a step sends, frame by frame unless its writes cut the frames."""
    frames = [encode_frame(frame) for frame in step.frames]
    written = b"".join(step.writes)
    is_whole = written == b"".join(frames)
    parts = [_SENTINELS.get(part) or _bytes(part) for part in (frames if is_whole else step.writes)]
    ends = ["end"] if step.ends_stream else ["close"] if step.closes else []
    number = f"#{step.connection} " if step.connection else ""
    return number + ", ".join([*parts, *ends])


def _bytes(data: bytes) -> str:
    return format_bytes(data).replace("\n", " ")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_BYTES else f"{text[:MAX_BYTES]}..."


def _differences(loaded: VectorSet) -> Iterator[str]:
    yield "## Where Apache Kafka differs from the text, or releases from each other\n"
    yield "The text of a proposal differs from every release here:\n"
    text = (FOLDER / "kip_text.toml").read_text(encoding="utf-8")
    yield from (f"- `{name}`: {reason}" for name, reason in re.findall(r"^(\w+) = .*?# (.+)$", text, re.MULTILINE))
    yield "\nThese vectors have other outcomes for releases of Apache Kafka than by the text for the newest version that the release has:\n"
    rows = [row for kind in BROKER_KINDS for vector in loaded.vectors[kind] for row in _rows_of(vector)]
    yield from markdown_table(("vector", "step", "releases", "outcome there", "by the text"), rows)


def _rows_of(vector: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the first difference of a vector; a release that does one of what the text allows is none."""
    for number, step in enumerate(vector["steps"], start=1):
        for expected in step.get("expect", ()):
            for each in expected.get("apache_kafka", ()):
                first, last = each["releases"]
                newest = profile_of(first).traits.api_versions_max
                there, by_text = _outcomes(each["outcomes"]), _outcomes(_text_for(newest, expected))
                if not set(there) <= set(by_text):
                    yield (
                        f"`{vector['id']}`",
                        str(number),
                        f"{first} to {last}",
                        " or ".join(there),
                        " or ".join(by_text),
                    )
                    return


def _text_for(newest_version: int, expected: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    ranges = ((*each["newest_version"], each["outcomes"]) for each in expected["kip_text"])
    return next(outcomes for first, last, outcomes in ranges if first <= newest_version <= last)


def _outcomes(outcomes: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_outcome, outcomes))) or ("not read",)


def _outcome(values: Mapping[str, Any]) -> str:
    if values["outcome"] != "answer":
        return str(values["outcome"])
    to = "" if values["to"] == AnswerKind.API_VERSIONS.value else f" to {values['to']}"
    table = "" if to else f", table: {values['table']}"
    closed = ", then closed" if values.get("then") == "closed" else ""
    return f"error {values['error_code']}{to} in v{values['layout']}{table}{closed}"
