"""Reads which requests a page of a broker's metrics counts.

A page is what the JMX exporter shows Prometheus, or what Jolokia answers. Two of a broker's metrics count requests by
their version:

- `RequestsPerSec`, since 2.0 (KIP-272), by request and version alone.
- `DeprecatedRequestsPerSec`, since 3.7 (KIP-896), also by the software of the client, and only requests in a version
  that the release calls deprecated. No version is deprecated in 4.0 to 4.4.

Rules of an exporter may rename everything. So a sample is one of these metrics if it has the labels `request` and
`version`, and "requests" in its name. Only the letters of names and labels count, in any case: `client_software_name`
is `clientSoftwareName`. Rates and times of creation are no counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, NamedTuple

from reports.wording.escaping import cut, one_line
from wire.foreign_json import read_foreign_json

_SAMPLE = re.compile(
    r"""(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
        (?:\{(?P<labels>(?:[^"{}]|"(?:[^"\\]|\\.)*")*)\})?
        [ \t]+(?P<value>\S+)
        (?:[ \t]+-?[\d.]+)?           # when it was measured
        (?:[ \t]+\#.*)?               # an example of it
        \s*""",
    re.VERBOSE,
)
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPED = re.compile(r"\\(.)")
_NO_LETTER = re.compile("[^a-z]")
_MAX_LINE_BYTES = 65_536
"""A sample of a broker has less than 1,000."""
_MAX_JSON_BYTES = 8 * 1024 * 1024
"""An answer of Jolokia about requests has less than 1 MB; read as JSON, it takes 49 times its size."""
_SHOWN_CHARACTERS = 40
_SHOWN_CHARACTERS_OF_ERROR = 200
_FOUND, _NOT_FOUND = 200, 404


class CountedRequest(NamedTuple):
    """What a metric counts.

    Attributes:
        request: the API as brokers name it, such as "Produce" or "FetchConsumer".
        api_version: its version.
        software_name: the client's software; None if the metric does not say, and "unknown" if the client did not.
        software_version: its version.
        is_deprecated: whether the metric counts only requests in deprecated versions. Another one counts them as well.
    """

    request: str
    api_version: int
    software_name: str | None = None
    software_version: str | None = None
    is_deprecated: bool = False


def read_page(page: bytes) -> Counter[CountedRequest]:
    """Return how often a page says that each request came since the broker started; empty if it counts none.

    Raises:
        ValueError: it is no such page, or only a part of one; the text says why, to be read after the page's name.
    """
    beans = _beans(page) if page.lstrip().startswith((b"{", b"[")) else _samples(page)
    counted: Counter[CountedRequest] = Counter()
    for name, labels, value in beans:
        request = _request_of(name, {_letters(key): each for key, each in labels.items()})
        if request is not None and math.isfinite(value) and value >= 1:
            counted[request] += int(value)
    return counted


def _decoded(part: bytes) -> str:
    try:
        return part.decode()
    except UnicodeDecodeError:
        raise ValueError("is no page of metrics: it is no text in UTF-8") from None


def _request_of(name: str, labels: Mapping[str, str]) -> CountedRequest | None:
    """Return what a sample counts; None if it is another metric. The keys of the labels are letters in lower case."""
    words = _letters(name + labels.get("name", ""))
    version = labels.get("version", "")
    is_count = "requests" in words and not _letters(name).endswith(("rate", "created"))
    if not is_count or "request" not in labels or not re.fullmatch("[0-9]{1,5}", version):
        return None
    if "deprecated" not in words:
        return CountedRequest(labels["request"], int(version))
    software = labels.get("clientsoftwarename"), labels.get("clientsoftwareversion")
    return CountedRequest(labels["request"], int(version), *software, is_deprecated=True)


def _letters(name: str) -> str:
    return _NO_LETTER.sub("", name.lower())


def _samples(page: bytes) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield the samples of a page in the text format of Prometheus or OpenMetrics: name, labels and value.

    Only one line at a time becomes text, because a page may have millions.
    """
    for number, ended_line in enumerate(BytesIO(page), 1):
        if len(ended_line) > _MAX_LINE_BYTES:
            raise ValueError(f"is no page of metrics: line {number} is longer than {_MAX_LINE_BYTES} bytes")
        is_cut = not ended_line.endswith(b"\n")
        # A first line without an end may be a message of one line, and no page at all.
        line = "" if is_cut and number > 1 else _decoded(ended_line).rstrip("\n")
        if line.strip() and not line.startswith("#"):
            try:
                yield _sample(line)
            except ValueError:
                shown = cut(one_line(line), _SHOWN_CHARACTERS)
                raise ValueError(f"is no page of metrics: line {number} is no sample of Prometheus: {shown}") from None
        if is_cut:
            raise ValueError("is half a page of metrics: it ends in the middle of a line; fetch it again")


def _sample(line: str) -> tuple[str, Mapping[str, str], float]:
    """Return the sample of a line: name, labels and value.

    Raises:
        ValueError: it is none.
    """
    sample = _SAMPLE.fullmatch(line)
    if sample is None:
        raise ValueError
    return sample["name"], _labels((sample["labels"] or "").strip()), float(sample["value"])


def _labels(text: str) -> Mapping[str, str]:
    """Return the labels between the braces of a sample.

    Raises:
        ValueError: something there is no label.
    """
    labels: dict[str, str] = {}
    position = 0
    while position < len(text):
        label = _LABEL.match(text, position)
        if label is None:
            raise ValueError
        labels[label[1]] = _ESCAPED.sub(_unescaped, label[2])
        position = label.end()
    return labels


def _unescaped(escaped: re.Match[str]) -> str:
    return "\n" if escaped[1] == "n" else escaped[1]


def _beans(page: bytes) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield the beans of an answer of Jolokia, or of a list of them, as samples."""
    if len(page) > _MAX_JSON_BYTES:
        raise ValueError(
            f"is larger than {_MAX_JSON_BYTES // 2**20} MiB, too large for JSON; "
            "give the address of Jolokia, which is then asked for requests alone"
        )
    text = _decoded(page)
    try:
        read = read_foreign_json(text)
    except ValueError as error:
        raise ValueError(f"is no page of metrics, or half of one: it is no JSON: {error}") from None
    for answer in read if isinstance(read, list) else [read]:
        yield from _beans_of(answer)


def _beans_of(answer: Any) -> Iterator[tuple[str, Mapping[str, str], float]]:
    if not isinstance(answer, dict) or "status" not in answer:
        raise ValueError("is no page of metrics: it is JSON, but no answer of Jolokia")
    if answer["status"] == _NOT_FOUND:
        return
    value = answer.get("value")
    if answer["status"] != _FOUND or not isinstance(value, dict):
        answered = cut(one_line(str(answer.get("error") or answer["status"])), _SHOWN_CHARACTERS_OF_ERROR)
        raise ValueError(f"has no metrics: Jolokia answered {answered}")
    if "Count" in value:
        # It was asked for one bean by its complete name.
        asked = answer.get("request")
        value = {str(asked.get("mbean") if isinstance(asked, dict) else ""): value}
    for bean, attributes in value.items():
        count = attributes.get("Count") if isinstance(attributes, dict) else None
        if isinstance(count, int | float) and not isinstance(count, bool):
            domain, _, keys = bean.partition(":")
            yield domain, dict(_pair(each) for each in keys.split(",")), _as_float(count)


def _as_float(count: float) -> float:
    try:
        return float(count)
    except OverflowError:
        raise ValueError("is no page of metrics: it has a Count that is too large for any broker") from None


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value
