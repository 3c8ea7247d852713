"""Result of learning one listener's state machine.

It has the machine, and how that differs from the machine of the model.

It is kept as JSON in the run folder, and read back for the pages. A folder may come from a stranger, so `from_json`
takes nothing for granted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.machines.machine import Machine, MachineMove, Outputs, Word, minimal

MAX_JSON = 2**19
"""Characters of a kept machine. The large alphabet with 40 states makes 300,000."""
MAX_LETTERS = 200
MAX_STATES = 64
MAX_TEXT = 500
"""Characters of one text: the name of a letter, an output, or a remark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineDifference:
    """The shortest word that distinguishes a target from its model.

    Attributes:
        seen: what the target did, letter by letter.
        expected: what the model does.
    """

    word: Word
    seen: Outputs
    expected: Outputs

    def __str__(self) -> str:
        steps = " | ".join(self.word)
        return f"{steps}: {self.seen[-1]}, and the model has {self.expected[-1]}"


@dataclass(frozen=True, slots=True)
class Unstable:
    """A word that did not always get the same outputs.

    Attributes:
        seen: how often each output of its last letter came.
    """

    word: Word
    seen: Mapping[str, int]

    @property
    def rate(self) -> float:
        """The share of the attempts with another output than the most frequent one."""
        return 1 - max(self.seen.values()) / sum(self.seen.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What was learned of one listener.

    Attributes:
        letters: the names of the letters.
        machine: the target's machine; None if it could not be learned.
        difference: the shortest word that distinguishes it from the machine of its model; None if the two are equal.
        extra_states: up to how many more states than `machine` a target would have been found to have.
        queries: how many connections it took.
        steps: how many letters were sent.
        unstable: words that did not always get the same outputs.
        left_out: letters that were left out, each with what it costs: the silence of the target, or its end.
        stopped: why the machine could not be learned; empty if it was.
    """

    target: str
    listener: str
    letters: Word
    machine: Machine | None
    difference: MachineDifference | None
    extra_states: int
    queries: int
    steps: int
    unstable: Sequence[Unstable] = ()
    left_out: Sequence[str] = ()
    stopped: str = ""


def as_json(learned: Learned, frames: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return what was learned of a listener, and the hexadecimal frames of each letter, as JSON has it."""
    difference = learned.difference
    return {
        "target": learned.target,
        "listener": learned.listener,
        "equals_model": difference is None,
        "difference": difference
        and {
            "word": list(difference.word),
            "seen": list(difference.seen),
            "expected": list(difference.expected),
        },
        "extra_states": learned.extra_states,
        "queries": learned.queries,
        "steps": learned.steps,
        "left_out": list(learned.left_out),
        "stopped": learned.stopped,
        "unstable": [
            {"word": list(each.word), "seen": dict(each.seen), "rate": each.rate} for each in learned.unstable
        ],
        "letters": {letter: list(frames.get(letter, ())) for letter in learned.letters},
        "states": None if learned.machine is None else moves_as_json(learned.machine),
    }


def moves_as_json(machine: Machine) -> list[dict[str, Any]]:
    """Return the states of a machine as JSON has them."""
    return [
        {
            "access": list(machine.access[state]),
            "moves": {letter: {"output": output, "after": after} for letter, (output, after) in moves.items()},
        }
        for state, moves in enumerate(machine.moves)
    ]


def from_json(content: Mapping[str, Any]) -> Learned:
    """Read what `as_json` has written.

    Raises:
        ValueError: it is something else, or beyond a limit.
    """
    try:
        return _read(content)
    except (TypeError, KeyError, AttributeError, IndexError) as error:
        raise ValueError(f"no machine as this suite writes it: {error!r}") from error


def _read(content: Mapping[str, Any]) -> Learned:
    letters, states = _texts(content["letters"]), content["states"]
    if not 0 < len(letters) <= MAX_LETTERS:
        raise ValueError(f"{len(letters)} letters")
    difference = content["difference"]
    return Learned(
        target=_text(content["target"]),
        listener=_text(content["listener"]),
        letters=letters,
        machine=None if states is None else _machine(letters, states),
        difference=None
        if difference is None
        else MachineDifference(
            word=_texts(difference["word"]),
            seen=_outputs(difference["seen"]),
            expected=_outputs(difference["expected"]),
        ),
        extra_states=_number(content["extra_states"]),
        queries=_number(content["queries"]),
        steps=_number(content["steps"]),
        unstable=tuple(
            Unstable(
                _texts(each["word"]),
                {_text(output): _number(count) for output, count in each["seen"].items()},
            )
            for each in content["unstable"]
        ),
        left_out=_texts(content["left_out"]),
        stopped=_text(content["stopped"]),
    )


def _machine(letters: Word, states: Sequence[Mapping[str, Any]]) -> Machine:
    if not 0 < len(states) <= MAX_STATES:
        raise ValueError(f"{len(states)} states")
    moves = [
        {
            letter: MachineMove(_text(move["output"]), _number(move["after"], most=len(states) - 1))
            for letter in letters
            for move in [state["moves"][letter]]
        }
        for state in states
    ]
    return minimal(letters, moves)


def _outputs(values: object) -> Outputs:
    outputs = _texts(values)
    if not outputs:
        raise ValueError("a word without outputs")
    return outputs


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | dict):
        raise TypeError(values)
    return tuple(map(_text, values))


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ValueError(f"no short text: {str(value)[:MAX_TEXT]}")
    # A lone surrogate, which JSON can have, raises a ValueError: no file and no program could be given it.
    value.encode()
    return value


def _number(value: object, *, most: int = 2**31) -> int:
    if not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"no number from 0 to {most}: {str(value)[:MAX_TEXT]}")
    return value
