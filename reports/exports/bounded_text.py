"""Text with a maximum size, made of blocks that are complete or left out."""

from __future__ import annotations

from collections.abc import Sequence

Block = Sequence[str]


class BoundedText:
    """Collects blocks of lines while they fit, and counts the others."""

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

    def close(self, line: str) -> None:
        """Add a mandatory line; the caller has reserved room for it."""
        self._lines.append(line)

    def text(self) -> str:
        """Return the collected lines."""
        return "\n".join(self._lines) + "\n"
