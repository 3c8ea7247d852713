"""Reader of a property's drawn values from the text stored with a failure.

The text is the output of `repr`, so arguments of properties keep their names, such as `place`: older run folders have
them. Nothing in the text is executed: only literals, the classes and members below, and `range` are accepted, so
folders from untrusted sources can be read safely.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from uuid import UUID

from conformance.assertions.items import Item
from conformance.corpus.entries import CorpusEntry
from proposals import merged, united
from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
)
from strategies.api_versions import UnservedRequest
from strategies.cluster_ids import Given, Ids
from strategies.conversations import Handshake, PlainToken, Reconnect, Say
from strategies.field_values import ManyTags, Software
from strategies.histories import ConnectionHistory, Earlier
from strategies.other_apis import PassedRequest, TaggedHeader
from wire.api_versions import ApiVersionsRequest
from wire.exchange import Request
from wire.headers import RequestHeader
from wire.primitives import TaggedField

KNOWN: Mapping[str, Callable[..., Any]] = {
    known.__name__: known
    for known in (
        *(ApiVersionsRequest, Request, RequestHeader, Software, TaggedField),
        *(Handshake, Reconnect, Say, PlainToken),
        *(
            CorpusEntry,
            ConnectionHistory,
            Ids,
            Item,
            UnservedRequest,
            ManyTags,
            PassedRequest,
            TaggedHeader,
        ),
        *(Script, NodeScript, ConnectionScript, Answer, Table),
        range,
        UUID,
    )
} | {"Token": PlainToken, "Entry": CorpusEntry}
"""What the suite's own properties draw, by name, with the earlier names of two kinds, which older run folders have.

`merged("drawn_values")` is what the properties of proposals draw.
"""
MEMBERS: Mapping[str, Given | Earlier] = {str(member): member for kind in (Given, Earlier) for member in kind}
DEEPEST = 40


class UnreadableValues(Exception):
    """The stored values cannot be read back."""


@cache
def _known() -> Mapping[str, Callable[..., Any]]:
    return united("drawn values", (KNOWN, merged("drawn_values")))


def read_values(text: str) -> Mapping[str, Any]:
    """Return the values by name.

    Raises:
        UnreadableValues: the text is not the `repr` of values of the known kinds.
    """
    try:
        values = _value(ast.parse(text.strip(), mode="eval").body, 0)
    except (SyntaxError, ValueError, TypeError, RecursionError) as error:
        raise UnreadableValues(f"the drawn values cannot be parsed: {error}") from error
    if not isinstance(values, dict):
        raise UnreadableValues("the drawn values are not a mapping of names")
    return values


def _value(node: ast.expr, depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError("the drawn values are nested too deeply")

    def inner(part: ast.expr) -> Any:
        return _value(part, depth + 1)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.Tuple(elts=parts):
            return tuple(map(inner, parts))
        case ast.List(elts=parts):
            return list(map(inner, parts))
        case ast.Dict(keys=keys, values=values):
            return {inner(k): inner(v) for k, v in zip(keys, values, strict=True) if k is not None}
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=named) if name in _known():
            keywords = {each.arg: inner(each.value) for each in named if each.arg is not None}
            return _known()[name](*map(inner, parts), **keywords)
        case ast.Attribute() if (text := ast.unparse(node)) in MEMBERS:
            return MEMBERS[text]
    raise ValueError(f"{ast.unparse(node)[:60]} is not a supported kind of value")
