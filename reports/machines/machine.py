"""Mealy machines, which map a state and a letter to an output and a next state.

They are written as text and as pictures: DOT, Mermaid, and SVG if Graphviz is installed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from reports.wording.verdict_labels import some_of
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
MAX_IN_A_LABEL = 3
"""Letters that an arrow of a picture names; the JSON and the table have all."""
LAYOUT_LIMIT_S = 20.0
"""How long Graphviz may take for one picture."""


def last_of(output: str) -> str:
    """Return what became of the last frame of a letter."""
    return output.rpartition(AND_THEN)[2]


def ends_word(output: str) -> bool:
    """Return whether the output of every further letter is known.

    The connection is closed or silent, or its broker is gone.
    """
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
        words: dict[int, Word] = {0: ()}
        queue = deque([0])
        while queue:
            state = queue.popleft()
            for letter in self.letters:
                after = self.moves[state][letter].after
                if after not in words:
                    words[after] = (*words[state], letter)
                    queue.append(after)
        return tuple(words[state] for state in range(len(self.moves)))

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
    """Yield words to which two machines respond differently, the shortest first.

    There is one word for each pair of states and letter.

    Only letters that both have are used.
    """
    shared = tuple(letter for letter in first.letters if letter in second.letters)
    return _separating(first, 0, second, 0, shared)


def _separating(one: Machine, first: int, other: Machine, second: int, letters: Word) -> Iterator[Word]:
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


def _numbered(letters: Word, moves: Sequence[Mapping[str, MachineMove]], block: Mapping[int, int]) -> Machine:
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


def name_of_state(machine: Machine, state: int) -> str:
    """Return the shortest word that leads to a state."""
    return in_one_line(machine.access[state])


def in_one_line(word: Word) -> str:
    """Return a word in one line."""
    return ", then ".join(word) or "a new connection"


def rows_of(machine: Machine, state: int) -> list[tuple[str, int, list[str]]]:
    """Return the arrows of a state as output, next state and letters.

    The list is empty for a state in which nothing can happen any more.
    """
    if is_end(machine, state):
        return []
    arrows: dict[tuple[str, int], list[str]] = {}
    for letter, (output, after) in machine.moves[state].items():
        arrows.setdefault((output, after), []).append(letter)
    return [(output, after, letters) for (output, after), letters in arrows.items()]


def is_end(machine: Machine, state: int) -> bool:
    """Return whether nothing can happen in a state any more: the connection is closed, or silent."""
    return all(ends_word(output) for output, _ in machine.moves[state].values())


def as_table(machine: Machine) -> Iterator[str]:
    """Yield the lines of a text that has every state with its arrows."""
    for state in range(len(machine.moves)):
        end = " (the end)" if is_end(machine, state) else ""
        yield f"state {state}: after {name_of_state(machine, state)}{end}"
        for output, after, letters in rows_of(machine, state):
            where = "stays" if after == state else f"to state {after}"
            yield f"  {output}, {where}: {', '.join(letters)}"


def _arrows(machine: Machine) -> dict[tuple[int, int], list[tuple[str, str]]]:
    """Return what stands at the arrow between two states: some letters, and their output."""
    arrows: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for state in range(len(machine.moves)):
        for output, after, letters in rows_of(machine, state):
            text = some_of(letters, MAX_IN_A_LABEL)
            arrows.setdefault((state, after), []).append((text, output))
    return arrows


def as_dot(machine: Machine, title: str = "") -> str:
    """Return a machine in Graphviz' language."""
    lines = [
        "digraph machine {",
        f'  label="{_escaped(title)}";',
        "  nodesep=0.2; ranksep=0.4;",
        "  node [shape=box, fontsize=11];",
        "  edge [fontsize=9];",
    ]
    for state, word in enumerate(machine.access):
        is_last = is_end(machine, state)
        name = "the end" if is_last else ", then\n".join(word) or "a new connection"
        shape = ", peripheries=2" if is_last else ""
        lines.append(f'  s{state} [label="{state}: {_escaped(name)}"{shape}];')
    for (state, after), texts in _arrows(machine).items():
        # Two lines for each output keep the picture narrow.
        label = "".join(_escaped(f"{text}\n    {output}\n", "\\l") for text, output in texts)
        lines.append(f'  s{state} -> s{after} [label="{label}"];')
    return "\n".join([*lines, "}", ""])


def as_mermaid(machine: Machine) -> str:
    """Return a machine as a state diagram of Mermaid."""
    lines = ["stateDiagram-v2", "  [*] --> s0"]
    for state in range(len(machine.moves)):
        text = f"{state}: {name_of_state(machine, state)}".replace('"', "'")
        lines.append(f'  state "{text}" as s{state}')
    for (state, after), texts in _arrows(machine).items():
        # A colon begins a label, and a semicolon ends a line.
        label = "<br/>".join(map(" / ".join, texts)).replace(";", ",").replace(":", " ")
        lines.append(f"  s{state} --> s{after}: {label}")
    return "\n".join([*lines, ""])


def _escaped(text: str, line_end: str = "\\n") -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", line_end)


def as_svg(machine: Machine) -> str | None:
    """Return a machine as an SVG file, drawn by Graphviz; None if it is not installed or draws nothing."""
    dot = shutil.which("dot")
    if dot is None:
        return None
    try:
        drawn = subprocess.run(
            (dot, "-Tsvg"),
            input=as_dot(machine),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LAYOUT_LIMIT_S,
            check=True,
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return drawn if "<svg" in drawn else None
