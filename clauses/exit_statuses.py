"""Exit statuses that all commands of the suite share, beyond 0 and 1.

`docs/exit-codes.md` lists all exit statuses.
"""

from __future__ import annotations

INTERRUPTED = 2
"""A signal ended it; pytest has the same."""
NOT_JUDGED = 10
"""Nothing was found out: something that is needed is missing or failed, or the suite has a bug."""
