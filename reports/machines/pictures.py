"""Machines as text and as pictures: DOT, Mermaid, and SVG if Graphviz is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from reports.machines.machine import Machine, Word, ends_word
from reports.verdict_labels import some_of

MOST_IN_A_LABEL = 3
"""Letters that an arrow of a picture names; the JSON and the table have all."""
LAYOUT_LIMIT_S = 20.0
"""How long Graphviz may take for one picture."""


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


def _arrows(machine: Machine) -> dict[tuple[int, int], list[tuple[str, str]]]:
    """Return what stands at the arrow between two states: some letters, and their output."""
    arrows: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for state in range(len(machine.moves)):
        for output, after, letters in rows_of(machine, state):
            text = some_of(letters, MOST_IN_A_LABEL)
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
