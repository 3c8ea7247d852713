"""Headers of packs that name something else than this suite does."""

from __future__ import annotations

from typing import Any, cast

import pytest

from clauses.catalogue import catalogue
from conformance.packs.stated_header import check_header, targets_of
from conformance.packs.stored_run import Contradicted
from reports.run.run_folder import Header
from reports.run.run_writer import clause_facts

KEYS_UNIQUE = "KIP-35.keys-unique"


def _header(**changes: object) -> Header:
    cell = {"clause": KEYS_UNIQUE, "target": "mine", "listener": "plaintext"}
    target = {"id": "mine", "implementation": "mine", "release": "1.0"}
    clauses = [dict(clause_facts(catalogue()[KEYS_UNIQUE], role="broker"))]
    header = {"whole": False, "tier": "smoke", "targets": [target], "clauses": clauses, "planned_cells": [cell]}
    return cast("Header", {**header, **changes})


def _with(part: str, **changes: Any) -> Header:
    (entry,) = _header()[part]
    return _header(**{part: [{**entry, **changes}]})


def test_a_header_in_the_words_of_this_suite_is_taken() -> None:
    check_header(_header())
    assert targets_of(_header())["mine"].listeners == ("plaintext",)


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (_with("clauses", level="MAY"), f"run.json gives {KEYS_UNIQUE} another level than this suite"),
        (_with("clauses", statement="Anything goes."), f"run.json gives {KEYS_UNIQUE} another statement than"),
        (_with("clauses", id="KIP-35.gone"), "run.json lists the clause KIP-35.gone, which this suite does not have"),
        (_header(clauses=_header()["clauses"] * 2), f"run.json lists {KEYS_UNIQUE} twice among its clauses"),
        (_header(targets=_header()["targets"] * 2), "run.json lists mine twice among its targets"),
        (_header(clause_set="9.9"), "no set of clauses is named '9.9'; there are 0.1, next"),
        (_with("planned_cells", listener="../../x"), "no listener is named '../../x'; there are plaintext, "),
        (
            _header(whole=True),
            "run.json says that everything was judged, but KIP-35.error-code-first on mine, plaintext",
        ),
    ],
    ids=["level", "statement", "clause", "clause-twice", "target-twice", "set", "listener", "whole"],
)
def test_other_words_are_refused(header: Header, sentence: str) -> None:
    with pytest.raises(Contradicted) as refused:
        check_header(header)
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"id": "apache-kafka-4.4.0"},
            "apache-kafka-4.4.0 is apache-kafka 4.4.0 in this suite, and mine 1.0 in run.json",
        ),
        ({"like": "nonsense"}, "mine is like 'nonsense', which is no release of this suite"),
    ],
    ids=["id-of-another", "like-nothing"],
)
def test_targets_that_cannot_be_are_refused(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(Contradicted) as refused:
        targets_of(_with("targets", **changes))
    assert str(refused.value) == sentence
