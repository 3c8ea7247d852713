r"""Reader of JSON that another program wrote.

The program is a client, a broker, or the maker of a run folder.

JSON can have a lone half of a surrogate pair, as in `"\ud800"`. Such a text cannot be written to any file, and whatever
quotes it fails there. So each is replaced here, where the text enters.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 100
"""Lists and objects inside each other. Python's limit depends on what calls the reader, and would be met by what
uses the value."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_STRICT, _LENIENT = json.JSONDecoder(), json.JSONDecoder(strict=False)
_TOO_DEEP = "it is nested too deeply"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def read_foreign_json(text: str | bytes, *, may_go_on: bool = False, control_characters: bool = False) -> Any:
    """Return the value that a text in JSON has, with a replacement character for each lone surrogate.

    Args:
        text: the text, or its bytes in UTF-8.
        may_go_on: whether something else may follow the value.
        control_characters: whether strings may contain control characters.

    Raises:
        ValueError: it is no JSON, no UTF-8, or nested too deeply.
    """
    decoder = _LENIENT if control_characters else _STRICT
    read = decoder.raw_decode if may_go_on else decoder.decode
    try:
        value = read(text.decode() if isinstance(text, bytes) else text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    return _without_lone_surrogates(value[0] if may_go_on else value, MAX_DEPTH)


def _without_lone_surrogates(value: Any, depth: int) -> Any:
    """Return a copy of a value.

    Raises:
        ValueError: there are more.
    """
    if isinstance(value, str):
        return _LONE_SURROGATE.sub(_REPLACEMENT, value)
    if not isinstance(value, list | dict):
        return value
    if depth == 0:
        raise ValueError(_TOO_DEEP)
    if isinstance(value, list):
        return [_without_lone_surrogates(each, depth - 1) for each in value]
    return {
        _LONE_SURROGATE.sub(_REPLACEMENT, key): _without_lone_surrogates(each, depth - 1) for key, each in value.items()
    }
