"""Text with a maximum size, collected block by block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Block = Sequence[str]


class BoundedText:
    """Text with a maximum size: collects blocks of lines while they fit, and counts the others."""

    def __init__(self, most_bytes: int) -> None:
        self.left_out = 0
        self._left = most_bytes
        self._lines: list[str] = []

    def add(self, block: Block) -> bool:
        """Add a complete block, or count it as left out; return whether it fits."""
        size = sum(len(line.encode()) + 1 for line in block)
        if size > self._left:
            self.left_out += 1
            return False
        self._left -= size
        self._lines += block
        return True

    def add_rows(self, title: str, rows: Iterable[str], *, is_folded: bool, head: Block = ()) -> None:
        """Add a title and the rows below it, as many as fit; folded ones end in the room that is reserved for the end.

        Args:
            title: text for HTML.
            rows: lines.
            is_folded: whether a reader sees the title alone at first.
            head: the lines of a table above its rows.
        """
        opening = f"<details><summary>{title}</summary>" if is_folded else f"**{title}**"
        if not self.add(["", opening, "", *head]):
            return
        for row in rows:
            self.add([row])
        if is_folded:
            self.close("")
            self.close("</details>")

    def close(self, line: str) -> None:
        """Add a mandatory line; the caller has reserved room for it."""
        self._lines.append(line)

    def text(self) -> str:
        """Return the collected lines."""
        return "\n".join(self._lines) + "\n"
