"""The responses of a target and of the reference broker, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reports.run.conversation import ByteRow, ConversationPart
from reports.run.frame_rows import BARE_ANSWER
from reports.site.expected_answers import ExpectedAnswer

_CONTEXT = 2
_MAX_ONE_SIDED = 3
_MAX_ROWS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One field in both responses.

    Attributes:
        path: the field.
        expected: the field in the reference broker's response; None if missing.
        actual: the field in the target's response; None if missing.
        differs: whether they differ.
        gap: what was left out before it, in words.
    """

    path: str
    expected: ByteRow | None
    actual: ByteRow | None
    differs: bool
    gap: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteComparison:
    """Both responses to one request side by side, field by field."""

    number: int
    expected: ExpectedAnswer
    actual: str
    rows: tuple[ComparedRow, ...]
    left_out: str

    @property
    def said(self) -> tuple[str, str]:
        """What came back from either side, with the error code if there is one."""
        code = next((row for row in self.rows if row.path == "error_code"), None)
        sides = (code.expected, code.actual) if code else (None, None)
        words = (self.expected.what, self.actual)
        expected, actual = (f"{what}, {side.value}" if side else what for what, side in zip(words, sides, strict=True))
        return expected, actual


def compare(parts: Sequence[ConversationPart], expected: Sequence[ExpectedAnswer]) -> list[ByteComparison]:
    """Pair the target's responses with the reference broker's, request by request."""
    requests = [index for index, part in enumerate(parts) if part.sent]
    if len(requests) != len(expected):
        return []
    comparisons = []
    for number, (index, wanted) in enumerate(zip(requests, expected, strict=True), start=1):
        answer = parts[index + 1] if index + 1 < len(parts) and not parts[index + 1].sent else None
        if wanted.is_bare and answer and any(row.path != BARE_ANSWER for row in answer.rows[1:]):
            wanted = replace(wanted, rows=in_fields_of(answer.rows, wanted.rows))
        rows = compared_rows(wanted.rows, answer.rows if answer else [])
        shown, left_out = _near_differences(rows)
        comparisons.append(
            ByteComparison(
                number=number,
                expected=wanted,
                actual=answer.what if answer else "nothing",
                rows=shown,
                left_out=left_out,
            )
        )
    return comparisons


def compared_rows(expected: Sequence[ByteRow], actual: Sequence[ByteRow]) -> list[ComparedRow]:
    """Pair the fields of two responses by their path, in the order of the actual one."""
    wanted = {row.path or f"offset {row.offset}": row for row in expected}
    got = {row.path or f"offset {row.offset}": row for row in actual}
    paths = dict.fromkeys((*got, *wanted))
    rows = []
    for path in paths:
        one, other = wanted.get(path), got.get(path)
        differs = path != "size" and (one is None or other is None or one.data != other.data)
        rows.append(ComparedRow(path=path, expected=one, actual=other, differs=differs))
    return rows


def _near_differences(rows: Sequence[ComparedRow]) -> tuple[tuple[ComparedRow, ...], str]:
    """Keep the rows that differ and a few before them: the rest of a long table does not help.

    Returns:
        The rows, and what was left out after the last, in words.
    """
    shown: list[ComparedRow] = []
    left_out: Counter[str] = Counter()
    one_sided = 0
    for index, row in enumerate(rows):
        lonely = row.expected is None or row.actual is None
        one_sided = one_sided + 1 if lonely else 0
        near = any(other.differs for other in rows[index : index + _CONTEXT + 1])
        if one_sided > _MAX_ONE_SIDED or len(shown) >= _MAX_ROWS:
            left_out["{} that only one response has" if lonely else "more {}"] += 1
        elif not near:
            left_out["equal {}"] += 1
        else:
            shown.append(replace(row, gap=in_words(left_out)))
            left_out.clear()
    return tuple(shown), in_words(left_out)


def in_words(left_out: Counter[str]) -> str:
    """Return what was left out, in words: "2 equal fields, 1 field that only one response has"."""
    return ", ".join(
        f"{number} {what.format('field' if number == 1 else 'fields')}" for what, number in left_out.items()
    )


def in_fields_of(other: Sequence[ByteRow], rows: Sequence[ByteRow]) -> Sequence[ByteRow]:
    """Split a frame with unknown fields like another frame, up to the first field that differs.

    Args:
        other: the rows of a frame whose fields are known.
        rows: the rows of the frame to split: its size, and one for the rest.
    """
    data = b"".join(row.data for row in rows)
    cut, position = [*rows[:1]], sum(len(row.data) for row in rows[:1])
    for row in other[1:]:
        piece = data[position : position + len(row.data)]
        if piece != row.data or row.marked:
            break
        cut.append(row)
        position += len(piece)
    rest = data[position:]
    return [*cut, ByteRow(offset=position, data=rest, path="", value=repr(rest))] if rest else cut


def first_divergence(rows: Sequence[ByteRow], expected: Sequence[ByteRow]) -> int | None:
    """Return the index of the first row that differs from another frame's; None if none does.

    The size prefix is ignored: it differs only because something else does.
    """
    others: Iterator[ByteRow | None] = iter([*expected[1:], None])
    for index, row in enumerate(rows[1:], start=1):
        other = next(others, None)
        if other is None or (other.path, other.data) != (row.path, row.data):
            return index
    return None if next(others, None) is None else len(rows) - 1
