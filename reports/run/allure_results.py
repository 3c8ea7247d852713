"""Allure results: one per clause and target, with the smallest failure attached.

Without Allure's `--alluredir` option, or without the extra `reports`, every call here does nothing.
"""

from __future__ import annotations

from typing import Any

from clauses.catalogue import Clause, Level
from reports.records import DUMP_FILE, FACTS_FILE, REPRODUCER_FILE
from reports.run.failures import READS_FACTS, Failure, conversation_of, render_dump, render_facts, render_reproducer

try:
    import allure
except ModuleNotFoundError:
    allure = None  # type: ignore[assignment]

SEVERITIES = {Level.MUST: "critical", Level.SHOULD: "normal", Level.MAY: "minor", Level.PIN: "minor"}


def label_result(clause: Clause, target: str) -> None:
    """Label the running test with its clause and target."""
    if allure is None:
        return
    label: Any = allure.dynamic
    label.title(f"{clause.id} on {target}")
    label.tag(clause.id, clause.level.value)
    label.severity(SEVERITIES[clause.level])
    label.description(f"{clause.statement}\n\n{clause.meaning}\n\n{clause.location}")


def attach_failure(failure: Failure) -> None:
    """Attach the hex dump, the drawn values, and the reproducer script with `failure.json` if it reads that file."""
    if allure is None:
        return
    text = allure.attachment_type.TEXT
    conversation = conversation_of(failure)
    dump = render_dump(conversation)
    allure.attach(dump, DUMP_FILE, text)
    if failure.is_reproducible:
        script = render_reproducer(failure)
        allure.attach(script, REPRODUCER_FILE, text)
        if READS_FACTS in script:
            allure.attach(render_facts(failure, conversation), FACTS_FILE, allure.attachment_type.JSON)
    allure.attach(failure.example, "example.txt", text)
