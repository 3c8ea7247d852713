"""The reproducer of a client's failure: a script that plays the broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pprint import pformat
from typing import Any

from jinja2 import Environment

from reference_model.clients.rules.read_response import ReadResponse, ResponseKind, read_response
from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.script import (
    CLUSTER_ID,
    Answer,
    ConnectionScript,
    Script,
    Table,
)
from reference_model.clients.scripts.served_apis import served_table
from reference_model.profiles.listeners import SASL_LISTENERS, TLS_LISTENERS
from wire.api_keys import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Step
from wire.frames import SIZE_BYTES
from wire.headers import read_error_code

TEMPLATE = "client_reproducer.py.j2"
MIN_WAIT_S = 15
"""How long a script waits at least: a person has to start the client."""
_NOTHING_GIVEN = "-"
_LINE_WIDTH = 110


def play_data(script: Script, steps: Sequence[Step]) -> Mapping[str, Any]:
    """Return what a reproducer needs of a play, as JSON has it."""
    tables: dict[str, int] = {_written(Table()): 0}
    nodes = [[_connection_data(connection, tables) for connection in node.connections] for node in script.nodes]
    return {
        "heals_after_ms": script.heals_after_ms,
        "heals_after_connections": script.heals_after_connections,
        "keeps_asking": script.keeps_asking,
        "sasl": script.listener in SASL_LISTENERS,
        "cluster_id": CLUSTER_ID,
        "nodes": nodes,
        "unlisted": [index for index, node in enumerate(script.nodes) if not node.is_listed],
        # Equal requests in a row are one text, which ends with how many there are.
        "recorded": [f"{line} {len(list(equal))}" for line, equal in groupby(_lines(steps))],
        "tables": list(tables),
    }


def render_client_reproducer(
    templates: Environment,
    texts: Mapping[str, str],
    script: Script,
    data: Mapping[str, Any] | None,
) -> str:
    """Return the source of a script that plays the broker; without data it reads `failure.json`."""
    timeout_s = script.timeout_ms / 1000
    return templates.get_template(TEMPLATE).render(
        **texts,
        any_failure=False,
        options=", ".join(script.options),
        keeps_asking=script.keeps_asking,
        timeout_s=f"{timeout_s:g}",
        wait_s=max(MIN_WAIT_S, round(timeout_s) + MIN_WAIT_S),
        tls=script.listener in TLS_LISTENERS,
        data=None if data is None else pformat(data, width=_LINE_WIDTH, sort_dicts=False),
    )


def render_player(templates: Environment) -> str:
    """Return the source of a script that plays the broker of any stored failure without TLS, whose folder it gets.

    The play in that folder's `failure.json` also has `timeout_s`: for how many seconds the client may run.
    """
    wait_s = f"DATA['timeout_s'] + {MIN_WAIT_S}"
    return templates.get_template(TEMPLATE).render(
        any_failure=True, data=None, wait_s=wait_s, options="", keeps_asking=False, tls=False
    )


def _written(table: Table) -> str:
    return " ".join(f"{key}:{low}..{high}" for key, low, high in table.entries)


def _given(value: Any, leaving_out: Sequence[str] = ()) -> dict[str, Any]:
    """Return the attributes of a part of a script that do not have their default values; bytes as hexadecimal."""
    fields = value.__dataclass_fields__.values()
    values = {field.name: getattr(value, field.name) for field in fields}
    return {
        field.name: _json_value(values[field.name])
        for field in fields
        if field.name not in leaving_out and values[field.name] != field.default
    }


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    # Error codes have a repr of their own.
    return int(value) if isinstance(value, ErrorCode) else value


def _connection_data(connection: ConnectionScript, tables: dict[str, int]) -> Mapping[str, Any]:
    newest = connection.newest_version
    has_older = any(answer.from_version for answer in connection.answers)
    as_they_are = {"refusal": connection.refusal, "unasked": connection.unasked}
    return {
        **_given(connection, leaving_out=("answers", *as_they_are)),
        **{
            name: _answer_data(answer, answer.table, tables)
            for name, answer in as_they_are.items()
            if answer is not None
        },
        **({"older_table": _index_of(served_table(Table(), newest), tables)} if has_older else {}),
        "answers": [_answer_data(answer, served_table(answer.table, newest), tables) for answer in connection.answers],
    }


def _answer_data(answer: Answer, table: Table, tables: dict[str, int]) -> Mapping[str, Any]:
    count = -1 if table.null and table.claimed_count is None else table.claimed_count
    is_usual = count is None or (count == len(table.entries) and not table.null)
    return {
        **_given(answer, leaving_out=("table",)),
        "table": _index_of(table, tables),
        **({} if is_usual else {"claimed_count": count}),
        **({} if table.count_bytes is None else {"count_bytes": table.count_bytes.hex()}),
    }


def _index_of(table: Table, tables: dict[str, int]) -> int:
    """Return the index of a table among those of the script, to which it is added."""
    return tables.setdefault(_written(table), len(tables))


def _lines(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the requests as the script has them: connection, API, version, range given, what came."""
    response_of: dict[int, ReadResponse] = {}
    for step in steps:
        for exchange in step.exchanges:
            request = exchange.request
            range_ = _range_given(response_of.get(step.connection), request.api_key)
            got = _got(exchange)
            yield f"{step.connection} {request.api_key} {request.api_version} {range_} {got}"
            if request.api_key == API_VERSIONS_KEY:
                response_of[step.connection] = _given_by(exchange)


def _got(exchange: Exchange) -> str:
    if not exchange.received:
        return exchange.outcome.value
    error = read_error_code(exchange.received[SIZE_BYTES:])
    is_error = exchange.request.api_key == API_VERSIONS_KEY and error
    return f"error_{error}" if is_error else Outcome.ANSWER.value


def _given_by(exchange: Exchange) -> ReadResponse:
    """Return what the client reads in what came for a request."""
    request = exchange.request
    return read_response(
        SeenRequest(
            connection=0,
            at_ms=0,
            data=request.data,
            api_key=request.api_key,
            api_version=request.api_version,
            correlation_id=request.correlation_id,
            response=exchange.received,
        )
    )


def _range_given(response: ReadResponse | None, api_key: int) -> str:
    # A refusal is about ApiVersions alone.
    kinds = (ResponseKind.TABLE, ResponseKind.REFUSAL) if api_key == API_VERSIONS_KEY else (ResponseKind.TABLE,)
    if response is None or response.kind not in kinds:
        return _NOTHING_GIVEN
    lows, highs = zip(*response.ranges.get(api_key, ((0, -1),)), strict=True)
    return f"{min(lows)}..{max(highs)}"
