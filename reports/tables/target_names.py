"""Display names of implementations, and library names as ids of targets have them."""

from __future__ import annotations

import re

from reference_model.profiles.profile import APACHE_KAFKA

_NAMES = {APACHE_KAFKA: "Apache Kafka", "platformatic-kafka": "@platformatic/kafka"}
"""Display names by what ids of targets begin with, where both differ."""
_SIGNS = re.compile(r"[@/]+")


def without_signs(name: str) -> str:
    """Return a library's name as ids of targets have it.

    A scope loses its signs: "@platformatic/kafka" becomes "platformatic-kafka".
    """
    return _SIGNS.sub("-", name).strip("-")


def implementation_name(implementation: str) -> str:
    """Return an implementation's display name."""
    return _NAMES.get(implementation, implementation)
