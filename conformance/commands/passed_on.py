"""Settings of commands that pass all their arguments to another program."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PASSED_ON: Mapping[str, Any] = MappingProxyType(
    {"ignore_unknown_options": True, "help_option_names": []}
)
"""For click: unknown options are arguments, and `--help` is one of them."""
