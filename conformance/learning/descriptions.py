"""Machines as text, as a picture (DOT, Mermaid) and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.learning.comparison import Difference
from conformance.learning.letters import Word
from conformance.learning.machine import Machine
from conformance.learning.outputs import ends_word
from conformance.learning.results import Learned

MOST_IN_A_LABEL = 6
"""Letters that an arrow of a picture names; the JSON and the table have all."""


def name_of_state(machine: Machine, state: int) -> str:
    """Return the shortest word that leads to a state."""
    return in_one_line(machine.access[state])


def in_one_line(word: Word) -> str:
    """Return a word in one line."""
    return ", then ".join(word) or "a new connection"


def rows_of(machine: Machine, state: int) -> list[tuple[str, int, list[str]]]:
    """Return the arrows of a state, output, next state and letters; none of a state in which nothing can happen any more."""
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


def _labels(machine: Machine) -> dict[tuple[int, int], list[str]]:
    """Return the lines at the arrow between two states."""
    labels: dict[tuple[int, int], list[str]] = {}
    for state in range(len(machine.moves)):
        for output, after, letters in rows_of(machine, state):
            named = ", ".join(letters[:MOST_IN_A_LABEL])
            more = len(letters) - MOST_IN_A_LABEL
            text = f"{named} and {more} more" if more > 0 else named
            labels.setdefault((state, after), []).append(f"{text} / {output}")
    return labels


def as_dot(machine: Machine, title: str) -> str:
    """Return a machine in Graphviz' language."""
    lines = [
        "digraph machine {",
        f"  label={_quoted(title)};",
        "  rankdir=LR;",
        "  node [shape=box];",
    ]
    for state in range(len(machine.moves)):
        shape = ", peripheries=2" if is_end(machine, state) else ""
        lines.append(
            f"  s{state} [label={_quoted(f'{state}: {name_of_state(machine, state)}')}{shape}];"
        )
    for (state, after), texts in _labels(machine).items():
        label = "\\l".join(map(_escaped, texts))
        lines.append(f'  s{state} -> s{after} [label="{label}\\l"];')
    return "\n".join([*lines, "}", ""])


def as_mermaid(machine: Machine) -> str:
    """Return a machine as a state diagram of Mermaid."""
    lines = ["stateDiagram-v2", "  [*] --> s0"]
    for state in range(len(machine.moves)):
        text = f"{state}: {name_of_state(machine, state)}".replace('"', "'")
        lines.append(f'  state "{text}" as s{state}')
    for (state, after), texts in _labels(machine).items():
        # A colon begins a label, and a semicolon ends a line.
        label = "<br/>".join(texts).replace(";", ",").replace(":", " ")
        lines.append(f"  s{state} --> s{after}: {label}")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def moves_as_json(machine: Machine) -> list[dict[str, Any]]:
    """Return the states of a machine as JSON has them."""
    return [
        {
            "access": list(machine.access[state]),
            "moves": {
                letter: {"output": output, "after": after}
                for letter, (output, after) in moves.items()
            },
        }
        for state, moves in enumerate(machine.moves)
    ]


def as_json(
    learned: Learned, sent: Mapping[str, list[str]], received: Mapping[Word, bytes]
) -> dict[str, Any]:
    """Return what was learned of a listener as JSON has it.

    Args:
        learned: what was learned.
        sent: the frames of each letter, in hexadecimal.
        received: what came for the last letter of a word, by word.
    """
    return {
        "target": learned.target,
        "listener": learned.listener,
        "equals_model": learned.difference is None,
        "difference": None if learned.difference is None else _difference(learned.difference),
        "extra_states": learned.extra_states,
        "queries": learned.queries,
        "steps": learned.steps,
        "left_out": list(learned.left_out),
        "stopped": learned.stopped,
        "unstable": [
            {"word": list(each.word), "seen": dict(each.seen), "rate": each.rate}
            for each in learned.unstable
        ],
        "letters": dict(sent),
        "states": None if learned.machine is None else moves_as_json(learned.machine),
        "exchanges": [
            {"word": list(word), "received": data.hex()} for word, data in received.items()
        ],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "word": list(difference.word),
        "seen": list(difference.seen),
        "expected": list(difference.expected),
    }
