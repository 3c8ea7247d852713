"""Queries to a listener for the outputs of words.

Each query uses a new connection. The outputs are remembered for every word and for its beginnings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from conformance.learning.alphabets import Alphabet
from conformance.learning.outputs import Abstraction
from fixtures.client.connection import Connection
from fixtures.errors import BrokerGone, HarnessError
from fixtures.under_test.broker import Broker
from reports.machines.learned import Unstable
from reports.machines.machine import ENDED, SILENT, Outputs, Word, ends_word, last_of
from wire.exchange import Exchange
from wire.hidden_tokens import is_token

REPETITIONS = 10
"""How often a word is sent again that got two different answers."""
MAX_SILENCES = 3
"""Words that end with the silence of one letter; each costs a silence bound."""


OnWord = Callable[[Word, Outputs, tuple[Exchange, ...]], None]


class CostlyLetter(Exception):
    """A letter that silences or ends the target, which costs too much to try it in every word."""

    def __init__(self, letter: str, what: str) -> None:
        super().__init__(f"{letter}: {what}")
        self.letter = letter


@dataclass(frozen=True, slots=True)
class _AskedLetter:
    """What became of one letter."""

    output: str
    exchanges: tuple[Exchange, ...]


@dataclass(slots=True)
class Listening:
    """The connection to one listener as a system under learning.

    Attributes:
        broker: the listener.
        alphabet: the letters.
        abstraction: turns what the target does into outputs.
        queries: how many words were sent, each on its own connection.
        steps: how many letters were sent.
        on_word: called with each word that was sent, its outputs up to the end of the connection, and its exchanges.
        unstable: the words that got different answers.
        at_once: how many words are sent at the same time, each on its own connection; 1 for a target that is near.
        received: the bytes that came for the last letter of each word, or beginning of one, that was sent.
    """

    broker: Broker
    alphabet: Alphabet
    abstraction: Abstraction
    queries: int = 0
    steps: int = 0
    on_word: OnWord = lambda *_: None
    unstable: dict[Word, Unstable] = field(default_factory=dict)
    at_once: int = 1
    received: dict[Word, bytes] = field(default_factory=dict)
    _last_words: tuple[Word, ...] = ()
    _silences: Counter[str] = field(default_factory=Counter)
    _outputs: dict[Word, str] = field(default_factory=dict)
    _interned: dict[bytes, bytes] = field(default_factory=dict)

    def ask(self, word: Word) -> Outputs:
        """Return the outputs of a word; it is sent only if they are not known.

        Raises:
            CostlyLetter: it has a letter that was left without response or close in `MAX_SILENCES` words, or the word
                before it ended the target.
            HarnessError: the target cannot be reached, or never does the same.
        """
        for _ in range(REPETITIONS):
            known = self._known(word)
            if known is not None:
                return known
            self._remember(word, self.send(word))
        raise HarnessError(f"{', '.join(word)} never got the same outputs up to its end")

    def sent(self) -> dict[str, list[str]]:
        """Return the frames of each letter, in hexadecimal; none of a token if the credentials are a user's own."""
        access = self.broker.running.sasl
        hides = access is not None and access.is_given
        return {
            letter.name: []
            if hides and any(map(is_token, letter.requests))
            else [each.data.hex() for each in letter.requests]
            for letter in self.alphabet.values()
        }

    def costly_words(self, letter: str) -> list[Word]:
        """Return the words that ended with the silence or the end of the target after a letter."""
        return [
            word for word, output in self._outputs.items() if word[-1] == letter and last_of(output) in (SILENT, ENDED)
        ]

    def leave_out(self, letter: str) -> None:
        """Leave a letter out of the alphabet; what is known of other words stays known."""
        self.alphabet = {name: each for name, each in self.alphabet.items() if name != letter}

    def _known(self, word: Word) -> Outputs | None:
        outputs: list[str] = []
        for length in range(1, len(word) + 1):
            output = self._outputs.get(word[:length])
            if output is None:
                return None
            outputs.append(output)
            if ends_word(output):
                break
        return self._padded(word, outputs)

    def _padded(self, word: Word, outputs: list[str]) -> Outputs:
        """Return the outputs with those after the end of the word: a closed connection stays closed."""
        missing = len(word) - len(outputs)
        last = last_of(outputs[-1]) if outputs else ""
        return (*outputs, *[last] * missing)

    def send(self, word: Word) -> list[str]:
        """Send a word on a new connection, and return its outputs up to the end of the connection.

        Send it whether or not the outputs are already known.
        """
        self.queries += 1
        self.broker.begin_example()
        with self._connect() as connection:
            steps = list(self._converse(connection, word))
        return self._take(word, steps)

    def send_ahead(self, words: Sequence[Word]) -> None:
        """Send words at the same time, if the target is far away, and remember their outputs.

        What silences a target, ends it or cannot be sent is left to `ask`.
        """
        unknown = [word for word in words if self._known(word) is None]
        if self.at_once == 1 or len(unknown) == 1:
            return
        with ThreadPoolExecutor(self.at_once) as pool:
            for word, steps in zip(unknown, pool.map(self._send_apart, unknown), strict=True):
                self.queries += 1
                if steps:
                    self._remember(word, self._take(word, steps))

    def _send_apart(self, word: Word) -> Sequence[_AskedLetter]:
        """Send a word in another thread; return nothing if that has to be done again alone."""
        try:
            with self.broker.apart().connect(authenticate=False) as connection:
                steps = list(self._converse(connection, word))
        except (HarnessError, CostlyLetter):
            return ()
        return () if last_of(steps[-1].output) == SILENT else steps

    def _converse(self, connection: Connection, word: Word) -> Iterator[_AskedLetter]:
        """Send a word letter by letter, up to the end of the connection."""
        for name in word:
            if self._silences[name] >= MAX_SILENCES:
                raise CostlyLetter(name, "no response and no close")
            letter = self.alphabet[name]
            exchanges = letter.send(connection)
            step = _AskedLetter(self.abstraction.output(letter, exchanges), exchanges)
            yield step
            if ends_word(step.output):
                break

    def _take(self, word: Word, steps: Sequence[_AskedLetter]) -> list[str]:
        """Keep what became of a word; return its outputs up to the end of the connection."""
        outputs = [each.output for each in steps]
        self.steps += len(steps)
        for length, each in enumerate(steps, start=1):
            data = b"".join(exchange.received for exchange in each.exchanges)
            self.received[word[:length]] = self._interned.setdefault(data, data)
        sent = word[: len(steps)]
        self._silences[sent[-1]] += last_of(outputs[-1]) == SILENT
        self._last_words = (*self._last_words[-1:], sent)
        self.on_word(word, tuple(outputs), tuple(e for step in steps for e in step.exchanges))
        return outputs

    def _connect(self) -> Connection:
        """Open a connection; if one of the last words has ended the target, start it again.

        Raises:
            CostlyLetter: the last letter of one of the last words has ended the target.
            BrokerGone: the target has ended for another reason, or cannot be started again.
        """
        try:
            return self.broker.connect(authenticate=False)
        except BrokerGone as gone:
            ending = self._ending_word()
            if ending is None:
                raise
            self._outputs[ending] = ENDED
            raise CostlyLetter(ending[-1], ENDED) from gone

    def _ending_word(self) -> Word | None:
        """Return which of the last words ends the target: it may have taken one more before it was gone.

        Returns:
            None if none of them does so again.
        """
        suspects = self._last_words
        self._last_words = ()
        for word in suspects:
            # What came for it may have been the end of the target.
            self._outputs.pop(word, None)
        for word in suspects:
            if not self.broker.can_restart:
                return None
            self.broker.restart()
            try:
                self.send(word)
                self.broker.await_end()
            except BrokerGone:
                if self.broker.can_restart:
                    self.broker.restart()
                    return word
                return None
        return None

    def _remember(self, word: Word, outputs: list[str]) -> None:
        for length, output in enumerate(outputs, start=1):
            beginning = word[:length]
            before = self._outputs.setdefault(beginning, output)
            if before != output:
                self._measure(beginning, before, output)

    def _measure(self, word: Word, *outputs: str) -> None:
        """Send a word that got different answers several times more; keep the most frequent one."""
        if word in self.unstable:
            return
        seen = Counter(outputs)
        for _ in range(REPETITIONS):
            sent = self.send(word)
            seen[sent[-1] if len(sent) == len(word) else self._padded(word, sent)[-1]] += 1
        self.unstable[word] = Unstable(word, dict(seen))
        self._outputs[word] = seen.most_common(1)[0][0]
