"""The properties of the toy proposal are for the suite, not for pytest here."""

from __future__ import annotations

collect_ignore = ["toy"]
