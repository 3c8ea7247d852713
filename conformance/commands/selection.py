"""The targets that a command's patterns choose."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.commands.errors import InvalidFile, UnknownName
from fixtures.errors import InvalidTargetFile, UnknownTarget
from fixtures.launchers.built_in import reference_targets
from fixtures.targets import Target, select_targets

EVERY_RELEASE = ("apache-kafka-*",)


def selected_targets(patterns: Sequence[str]) -> tuple[Target, ...]:
    """Return the targets that ids and globs name, the built-in ones included.

    Raises:
        UnknownName: a pattern matches nothing.
        InvalidFile: a file of the registry does not follow its schema.
    """
    try:
        return select_targets(patterns, extra=reference_targets())
    except UnknownTarget as error:
        raise UnknownName(str(error)) from error
    except InvalidTargetFile as error:
        raise InvalidFile(str(error)) from error


def runnable_targets(patterns: Sequence[str]) -> tuple[Target, ...]:
    """Return those that somebody has run before, or that are named exactly; every release where no pattern is given.

    Raises:
        UnknownName: a pattern matches nothing.
        InvalidFile: a file of the registry does not follow its schema.
    """
    return tuple(
        target
        for target in selected_targets(patterns or EVERY_RELEASE)
        if not target.not_tried or target.id in patterns
    )
