"""The options of the suite, as the project's pytest plugins declare them.

`judge --help` and the documents use them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.engine import jobs_plugin, selection_plugin
from fixtures import plugin
from fixtures.choosing.declared_options import DeclaredOptions
from reports import plugin as records_plugin

MAX_CHOICES = 40
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


def _option(name: str, attributes: Mapping[str, Any]) -> SuiteOption:
    choices = "|".join(attributes.get("choices", ()))
    help_text = " ".join(attributes["help"].split())
    if len(choices) > MAX_CHOICES:
        help_text += f"; {choices.replace('|', ', ')}"
        choices = name.removeprefix("--").upper()
    is_flag = attributes.get("action") == "store_true"
    value = "" if is_flag else attributes.get("metavar") or choices
    return SuiteOption(name, value, help_text)


def suite_options() -> tuple[SuiteOption, ...]:
    """Return the options in the order in which pytest's help has them."""
    declared: Any = DeclaredOptions()
    for module in (plugin, selection_plugin, records_plugin, jobs_plugin):
        module.pytest_addoption(declared)
    return tuple(_option(name, attributes) for name, attributes in declared.attributes.items())


def nearest_options(message: str, of_pytest: Iterable[str]) -> Iterator[str]:
    """Yield the options that are nearest to those that a message calls unrecognized.

    An option that ends with the same word is near: `--hypothesis-seed` to `--seed`, which `matrix` calls it too.

    Args:
        message: pytest's.
        of_pytest: names of options of pytest, in addition to those of the suite.
    """
    known = [*(option.name for option in suite_options()), *of_pytest]
    _, _, words = message.partition("unrecognized arguments: ")
    for word in words.split():
        name = word.partition("=")[0]
        yield from (each for each in known if name.startswith("--") and each.endswith(name[1:]))
        yield from difflib.get_close_matches(name, known)
