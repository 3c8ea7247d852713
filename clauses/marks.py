"""Every pytest mark of the project: its name, its arguments, and what it means."""

from __future__ import annotations

from collections.abc import Mapping

CLAUSE = "clause"
LISTENERS = "listeners"
NEEDS = "needs"
MALFORMED = "malformed"
STANDARD = "standard"
DEEP = "deep"
STORED = "stored"
SWEPT = "swept"
CHECKS = "checks"
EXHAUSTIVE = "exhaustive"
IN_ORDER = "in_order"
CONTAINER_ENGINE = "container_engine"
BROWSER = "browser"
SLOW = "slow"
NIGHTLY = "nightly"

MARKS: Mapping[str, str] = {
    f"{CLAUSE}(id)": "the clause of the catalogue that a test judges",
    f"{LISTENERS}(name, ...)": "the listeners on which a test runs; without this mark, all",
    f"{NEEDS}(what, ...)": "what a target must provide; `NEEDS` of its role in `conformance/roles/` lists it",
    MALFORMED: "sends requests that no correct client sends; left out unless the run is `--malformed`",
    STANDARD: "runs in the standard and the deep tier",
    DEEP: "runs only in the deep tier",
    f"{STORED}({CHECKS}=...)": "judges stored bytes without Hypothesis, by these checks, only in the deep tier",
    f"{SWEPT}({CHECKS}=...)": "judges a complete list without Hypothesis, item by item, by these checks",
    EXHAUSTIVE: "judges a fixed list, so it runs to its end on every listener",
    IN_ORDER: "compares its examples, so each must end before the next begins",
    CONTAINER_ENGINE: "of the project's own tests: needs a container engine that answers",
    BROWSER: "of the project's own tests: needs Chromium, or a text browser",
    SLOW: "of the project's own tests: takes so long that only `nox -s slow` and `.ci/run` run it",
    NIGHTLY: "of the project's own slow tests: left out by `.ci/run`; `nox -s nightly` and the nightly workflow run it",
}
"""Maps each mark with its arguments to its meaning."""
