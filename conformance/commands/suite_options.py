"""The options of the suite itself, as pytest's plugins of the project declare them: for `judge --help` and the documents."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.engine import jobs_plugin
from fixtures import plugin
from reports import plugin as records_plugin

LONGEST_CHOICES = 40
"""Characters of the values of an option that follow its name; longer lists are part of what the option does."""


@dataclass(frozen=True, slots=True)
class SuiteOption:
    """One option: its name, what its value is (empty for a flag), and what it does."""

    name: str
    value: str
    help: str

    @property
    def usage(self) -> str:
        """Return the name with the value, as users write it."""
        return f"{self.name} {self.value}".rstrip()


@dataclass(slots=True)
class _Declared:
    """Takes the place of pytest's parser and of its groups, which cannot list their options."""

    options: list[SuiteOption] = field(default_factory=list)

    def getgroup(self, *_: str) -> _Declared:
        return self

    def addoption(self, name: str, *_: str, **attributes: Any) -> None:
        choices = "|".join(attributes.get("choices", ()))
        help_text = " ".join(attributes["help"].split())
        if len(choices) > LONGEST_CHOICES:
            help_text += f"; {choices.replace('|', ', ')}"
            choices = name.removeprefix("--").upper()
        is_flag = attributes.get("action") == "store_true"
        value = "" if is_flag else attributes.get("metavar") or choices
        self.options.append(SuiteOption(name, value, help_text))


def suite_options() -> tuple[SuiteOption, ...]:
    """Return the options in the order in which pytest's help has them."""
    declared: Any = _Declared()
    for module in (plugin, records_plugin, jobs_plugin):
        module.pytest_addoption(declared)
    return tuple(declared.options)


def nearest_options(message: str) -> Iterator[str]:
    """Yield the options of the suite that are nearest to those that a message calls unrecognized."""
    known = [option.name for option in suite_options()]
    _, _, words = message.partition("unrecognized arguments: ")
    for word in words.split():
        yield from difflib.get_close_matches(word.partition("=")[0], known)
