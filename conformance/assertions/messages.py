"""The message of a violation, as reports show it."""

from __future__ import annotations


def message_of(error: AssertionError) -> str:
    """Return the message of a violation without the expression that pytest adds.

    The expression says nothing about the target.
    """
    return str(error).partition("\nassert ")[0]
