"""Exit statuses that all commands of the suite share, beyond 0 and 1.

`docs/exit-codes.md` lists all exit statuses.
"""

from __future__ import annotations

INTERRUPTED = 2
"""A signal ended it; pytest has the same."""
USAGE_ERROR = 4
"""What was asked for cannot be done so; pytest has the same for an invalid command line."""
NOT_JUDGED = 10
"""Nothing was found out: something that is needed is missing or failed, or the suite has a bug."""
