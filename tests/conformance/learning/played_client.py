"""The model client as a system under learning: letters are a scripted broker's answers to its ApiVersions requests.

The first letter answers the first ApiVersions request, the second one the next, on whatever connection it comes. After the word the
broker is healthy. Plays are in memory and in virtual time, so a word takes milliseconds; with a real client it takes a second or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from fixtures.client_processes.driver_process import DriverResult
from fixtures.under_test.in_memory_client import play_in_memory
from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.script import (
    EMPTY,
    ITSELF,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
)
from reference_model.profiles.known_apis import label_of
from reports.machines.machine import AND_THEN, ENDED, Outputs, Word, ends_word
from wire.api_keys import METADATA_KEY
from wire.error_codes import ErrorCode

TIMEOUT_MS = 20_000
"""How long the client may work, in virtual time: words of four silent answers fit in."""
LETTERS: Mapping[str, Answer] = MappingProxyType(
    {
        "table": Answer(),
        "table of 0.10.2": Answer(table=Table(base="0.10.2.2")),
        "table with unknown tags": Answer(unknown_tags=((9, b"odd"),)),
        "empty table": Answer(table=EMPTY),
        "null table": Answer(table=Table(null=True)),
        "itself": Answer(table=ITSELF),
        "reversed range of Metadata": Answer(table=Table(changed=((METADATA_KEY, 9, 1),))),
        "table without Metadata": Answer(table=Table(removed=(METADATA_KEY,))),
        "refused": Answer(error_code=ErrorCode.UNSUPPORTED_VERSION, table=ITSELF, layout=0),
        "refused without a range": Answer(
            error_code=ErrorCode.UNSUPPORTED_VERSION, table=EMPTY, layout=0
        ),
        "invalid request": Answer(error_code=ErrorCode.INVALID_REQUEST, table=EMPTY),
        "rebootstrap": Answer(error_code=ErrorCode.REBOOTSTRAP_REQUIRED, table=EMPTY),
        "other error": Answer(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, table=EMPTY),
        "another id": Answer(correlation_shift=1),
        "cut": Answer(cut_to=5),
        "trailing bytes": Answer(trailing=b"\0\1"),
        "negative size": Answer(claimed_size=-1),
        "throttled": Answer(throttle_time_ms=2**31 - 1),
        "closed": Answer(action="close"),
        "silent": Answer(action="silence"),
    }
)

_Place = tuple[int, int]
"""A connection, and the number of an ApiVersions request on it, both from 0."""


@dataclass(slots=True)
class PlayedClient:
    """The model client, with a planted fault or without.

    Attributes:
        fault: the fault; empty for none.
        alphabet: the letters.
        queries: how many words were played.
    """

    fault: str = ""
    alphabet: Mapping[str, Answer] = field(default_factory=lambda: LETTERS)
    queries: int = 0
    _known: dict[Word, tuple[str, tuple[_Place, ...]]] = field(default_factory=dict)

    def ask(self, word: Word) -> Outputs:
        """Return the outputs of a word: the request that each letter answers, and what the client does before the next one."""
        outputs: list[str] = []
        places: tuple[_Place, ...] = ((0, 0),)
        for length in range(1, len(word) + 1):
            if outputs and ends_word(outputs[-1]):
                outputs.append(ENDED)
                continue
            beginning = word[:length]
            if beginning not in self._known:
                self._known[beginning] = self._play(beginning, places)
            output, places = self._known[beginning]
            outputs.append(output)
        return tuple(outputs)

    def send_ahead(self, words: Sequence[Word]) -> None:
        """Do nothing: plays in memory wait for nothing."""

    def _play(self, word: Word, places: tuple[_Place, ...]) -> tuple[str, tuple[_Place, ...]]:
        """Play a word whose letters belong to places; return the output of its last letter, and the places with the next one."""
        self.queries += 1
        answers = [self.alphabet[letter] for letter in word]
        play = play_in_memory(_script(answers, places), self.fault)
        requests = play.recording.requests
        asked = [at for at, each in enumerate(requests) if each.is_about_versions]
        if len(asked) < len(word):
            return f"nothing asked{AND_THEN}{ENDED}", places
        first = asked[len(word) - 1]
        if len(asked) == len(word):
            done = [*_steps(requests[first:]), _end_of(play.result), ENDED]
            return AND_THEN.join(done), places
        after = asked[len(word)]
        here = requests[after].connection
        number = sum(requests[at].connection == here for at in asked[: len(word)])
        then = "on the same connection" if here == requests[first].connection else "on another one"
        output = AND_THEN.join([*_steps(requests[first:after]), f"asks again {then}"])
        return output, (*places, (here, number))


def _script(answers: Sequence[Answer], places: Sequence[_Place]) -> Script:
    """Return the script with answers in their places, and a healthy broker everywhere else."""
    by_place: Mapping[_Place, Answer] = dict(zip(places, answers, strict=True))
    last = max(connection for connection, _ in places)
    connections = [
        ConnectionScript(
            answers=(
                *(by_place.get((connection, number), Answer()) for number in range(len(places))),
                Answer(),
            )
        )
        for connection in range(last + 1)
    ]
    node = NodeScript(connections=(*connections, ConnectionScript()))
    return Script(nodes=(node,), timeout_ms=TIMEOUT_MS)


def _steps(requests: Sequence[SeenRequest]) -> Iterator[str]:
    """Yield what a client sent, equal requests once."""
    yield from dict.fromkeys(map(_step, requests))


def _step(request: SeenRequest) -> str:
    text = f"{label_of(request.api_key)} v{request.api_version}"
    if request.body is not None and request.api_version >= 3:
        body = request.body
        text += f" {body.client_software_name} {body.client_software_version}"
        text += f" {body.cluster_id} {body.node_id}"
    return f"{text} {request.problem}".rstrip()


def _end_of(result: DriverResult) -> str:
    return result.signal or result.outcome or "no result"
