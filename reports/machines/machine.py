"""Mealy machines: states, and for each state and letter the output and the next state."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from wire.exchange import Outcome

Word = tuple[str, ...]
"""A sequence of letters, by name, that is sent on one new connection."""
Outputs = tuple[str, ...]
"""The outputs of a word, one for each letter."""
CLOSED, SILENT = Outcome.CLOSED.value, Outcome.SILENT.value
ENDED = "the target ends"
"""The output of a letter that ends the target; it is started again."""
AND_THEN = "; "
"""Between the outputs for the frames of one letter."""


def last_of(output: str) -> str:
    """Return what became of the last frame of a letter."""
    return output.rpartition(AND_THEN)[2]


def ends_word(output: str) -> bool:
    """Return whether the output of every further letter is known: the connection is closed or silent, or its broker is gone."""
    return last_of(output) in (CLOSED, SILENT, ENDED)


class MachineMove(NamedTuple):
    """What a machine does with a letter: the output, and the state after it."""

    output: str
    after: int


@dataclass(frozen=True)
class Machine:
    """A minimal machine whose states are numbered in the order in which words of growing length reach them.

    Attributes:
        letters: the letters, in order.
        moves: the moves of each state, by letter; state 0 is that of a new connection.
    """

    letters: Word
    moves: tuple[Mapping[str, MachineMove], ...]

    def run(self, word: Word) -> Outputs:
        """Return the outputs of a word."""
        state, outputs = 0, []
        for letter in word:
            output, state = self.moves[state][letter]
            outputs.append(output)
        return tuple(outputs)

    @cached_property
    def access(self) -> tuple[Word, ...]:
        """The shortest word to each state, the first in the order of the letters."""
        found: dict[int, Word] = {0: ()}
        queue = deque([0])
        while queue:
            state = queue.popleft()
            for letter in self.letters:
                after = self.moves[state][letter].after
                if after not in found:
                    found[after] = (*found[state], letter)
                    queue.append(after)
        return tuple(found[state] for state in range(len(self.moves)))

    def separating(self, first: int, second: int) -> Word:
        """Return the shortest word to which two different states of the machine respond differently.

        Raises:
            ValueError: there is none.
        """
        word = next(_separating(self, first, self, second, self.letters), None)
        if word is None:
            raise ValueError(f"states {first} and {second} are the same")
        return word

    def restricted_to(self, letters: Sequence[str]) -> Machine:
        """Return the minimal machine for some of the letters."""
        moves = [{letter: each[letter] for letter in letters} for each in self.moves]
        return minimal(tuple(letters), moves)


def distinguishing_word(first: Machine, second: Machine) -> Word | None:
    """Return the shortest word to which two machines respond differently; None if they are equal."""
    return next(distinguishing_words(first, second), None)


def distinguishing_words(first: Machine, second: Machine) -> Iterator[Word]:
    """Yield words to which two machines respond differently, the shortest first, one for each pair of states and letter.

    Only letters that both have are used.
    """
    shared = tuple(letter for letter in first.letters if letter in second.letters)
    return _separating(first, 0, second, 0, shared)


def _separating(
    one: Machine, first: int, other: Machine, second: int, letters: Word
) -> Iterator[Word]:
    """Yield words to which two states respond differently, the shortest first."""
    for word, (left, right) in _pairs(one, first, other, second, letters):
        for letter in letters:
            if one.moves[left][letter].output != other.moves[right][letter].output:
                yield (*word, letter)


def _pairs(
    one: Machine, first: int, other: Machine, second: int, letters: Word
) -> Iterator[tuple[Word, tuple[int, int]]]:
    """Yield pairs of states with the shortest word to each, as long as the machines agree on the word."""
    seen = {(first, second)}
    queue: deque[tuple[Word, tuple[int, int]]] = deque([((), (first, second))])
    while queue:
        word, (left, right) = queue.popleft()
        yield word, (left, right)
        for letter in letters:
            a, b = one.moves[left][letter], other.moves[right][letter]
            after = (a.after, b.after)
            if a.output == b.output and after not in seen:
                seen.add(after)
                queue.append(((*word, letter), after))


def minimal(letters: Word, moves: Sequence[Mapping[str, MachineMove]]) -> Machine:
    """Return the minimal machine of a table of moves, whose first state is that of a new connection."""
    block = dict.fromkeys(range(len(moves)), 0)
    count = 1
    while True:
        numbers: dict[tuple[object, ...], int] = {}
        refined = {}
        for state, move in enumerate(moves):
            row = tuple((move[each].output, block[move[each].after]) for each in letters)
            refined[state] = numbers.setdefault((block[state], row), len(numbers))
        block = refined
        if len(numbers) == count:
            return _numbered(letters, moves, block)
        count = len(numbers)


def _numbered(
    letters: Word, moves: Sequence[Mapping[str, MachineMove]], block: Mapping[int, int]
) -> Machine:
    """Number the reachable blocks in the order in which words of growing length reach them."""
    numbers, members = {block[0]: 0}, [0]
    table: list[dict[str, MachineMove]] = []
    while len(table) < len(members):
        row = {}
        for letter in letters:
            output, after = moves[members[len(table)]][letter]
            if block[after] not in numbers:
                numbers[block[after]] = len(members)
                members.append(after)
            row[letter] = MachineMove(output, numbers[block[after]])
        table.append(row)
    return Machine(letters, tuple(table))
