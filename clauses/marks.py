"""Every pytest mark of the project: its name, its arguments, and what it means."""

from __future__ import annotations

from collections.abc import Mapping

CLAUSE = "clause"
LISTENERS = "listeners"
NEEDS = "needs"
MALFORMED = "malformed"
DEEP = "deep"
STORED = "stored"
SWEPT = "swept"
EXHAUSTIVE = "exhaustive"
IN_ORDER = "in_order"
CONTAINER_ENGINE = "container_engine"
BROWSER = "browser"

MARKS: Mapping[str, str] = {
    f"{CLAUSE}(id)": "the clause of the catalogue that a test judges",
    f"{LISTENERS}(name, ...)": "the listeners that a test is about; all if not given",
    f"{NEEDS}(what, ...)": "what a running target must give; `conformance/engine/prerequisites.py` lists it",
    MALFORMED: "sends what no well-behaved client sends; left out in the gentle tier",
    DEEP: "runs in the deep tier alone",
    STORED: "judges stored bytes without Hypothesis, in the deep tier alone",
    SWEPT: "judges a whole list without Hypothesis, item by item, in every tier",
    EXHAUSTIVE: "judges a known list, so that it runs whole on every listener",
    IN_ORDER: "compares its examples, so that each ends before the next begins",
    CONTAINER_ENGINE: "of the project's own tests: needs a container engine that answers",
    BROWSER: "of the project's own tests: needs Chromium, or a text browser",
}
"""Maps each mark with its arguments to its meaning."""
