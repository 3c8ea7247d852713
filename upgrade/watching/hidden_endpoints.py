"""Hides the brokers that Produce and Fetch responses name after their records.

They name brokers when a leader has moved (KIP-951). Another address there would change the size that the response
begins with, when its records are passed on already. So the tag of that field gets a number that no client knows: the
client then asks for metadata, as clients before KIP-951 do.

Source of that field: the message schemas of ProduceResponse v10 to v13 and FetchResponse v16 to v18.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from wire.api_keys import FETCH_KEY, PRODUCE_KEY

_HIDE = 0
_NODE_ENDPOINTS = 0
UNKNOWN_TAG = 0x7F
"""The number that hides the tag: the largest of one byte, which no message uses."""
_FIRST_WITH_TOPIC_ID_IN_PRODUCE = 13
_FIRST_VERSIONS = {PRODUCE_KEY: 10, FETCH_KEY: 16}
_LAST_VERSIONS = {PRODUCE_KEY: 13, FETCH_KEY: 18}

_Steps = Generator[int, bytes, None]
"""Yields a positive number to read so many bytes, a negative one to pass over them, and `_HIDE` to hide the byte
that was read last."""


def names_endpoints(api_key: int, api_version: int) -> bool:
    """Return whether a response of this version can name brokers after its records."""
    first = _FIRST_VERSIONS.get(api_key)
    return first is not None and first <= api_version <= _LAST_VERSIONS[api_key]


class EndpointHider:
    """Hides the brokers that one response names after its records, while it is passed on in pieces."""

    def __init__(self, api_key: int, api_version: int) -> None:
        """Begin after the correlation id of a response for which `names_endpoints`."""
        self._steps = _produce(api_version) if api_key == PRODUCE_KEY else _fetch()
        self._step = next(self._steps)
        self._read = bytearray()
        self._is_over = False

    def feed(self, data: bytes | memoryview) -> bytes | memoryview:
        """Return a piece as it is passed on; a piece with something to hide is copied."""
        at = 0
        changed: bytearray | None = None
        while at < len(data) and self._step:
            if self._step < 0:
                passed = min(-self._step, len(data) - at)
                at, self._step = at + passed, self._step + passed
                if not self._step:
                    self._next(b"")
                continue
            taken = data[at : at + self._step - len(self._read)]
            self._read += taken
            at += len(taken)
            if len(self._read) == self._step:
                self._next(bytes(self._read))
                if self._step == _HIDE and not self._is_over:
                    changed = changed or bytearray(data)
                    changed[at - 1] = UNKNOWN_TAG
                    self._next(b"")
        return data if changed is None else bytes(changed)

    def _next(self, read: bytes) -> None:
        self._read.clear()
        try:
            self._step = self._steps.send(read)
        except StopIteration:
            self._step, self._is_over = _HIDE, True


def _varint() -> Generator[int, bytes, int]:
    value = shift = 0
    while True:
        byte = (yield 1)[0]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value


def _skip(count: int) -> _Steps:
    if count > 0:
        yield -count


def _bytes() -> _Steps:
    """Pass over a compact string, bytes or records; null has length 0."""
    yield from _skip((yield from _varint()) - 1)


def _array(element: Callable[[], _Steps]) -> _Steps:
    for _ in range((yield from _varint()) - 1):
        yield from element()


def _tags() -> _Steps:
    for _ in range((yield from _varint())):
        yield from _varint()
        yield from _skip((yield from _varint()))


def _tags_with_endpoints() -> _Steps:
    for _ in range((yield from _varint())):
        if (yield from _varint()) == _NODE_ENDPOINTS:
            yield _HIDE
        yield from _skip((yield from _varint()))


def _produce(api_version: int) -> _Steps:
    def record_error() -> _Steps:
        yield -4
        yield from _bytes()
        yield from _tags()

    def partition() -> _Steps:
        yield -(4 + 2 + 8 + 8 + 8)
        yield from _array(record_error)
        yield from _bytes()
        yield from _tags()

    def topic() -> _Steps:
        if api_version >= _FIRST_WITH_TOPIC_ID_IN_PRODUCE:
            yield -16
        else:
            yield from _bytes()
        yield from _array(partition)
        yield from _tags()

    yield from _tags()
    yield from _array(topic)
    yield -4
    yield from _tags_with_endpoints()


def _fetch() -> _Steps:
    def aborted_transaction() -> _Steps:
        yield -(8 + 8)
        yield from _tags()

    def partition() -> _Steps:
        yield -(4 + 2 + 8 + 8 + 8)
        yield from _array(aborted_transaction)
        yield -4
        yield from _bytes()
        yield from _tags()

    def topic() -> _Steps:
        yield -16
        yield from _array(partition)
        yield from _tags()

    yield from _tags()
    yield -(4 + 2 + 4)
    yield from _array(topic)
    yield from _tags_with_endpoints()
