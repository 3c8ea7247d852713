"""Exit statuses that every command of the suite has in common, beyond 0 and 1; docs/exit-codes.md has all of them."""

from __future__ import annotations

INTERRUPTED = 2
"""A signal ended it; pytest has the same."""
NOT_JUDGED = 10
"""Nothing was found out: something that is needed is missing or failed, or the suite has a bug."""
