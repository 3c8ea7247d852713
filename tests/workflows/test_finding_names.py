"""A finding keeps the name of its folder, and a name never means another defect."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflows.compatibility.names import FindingIdentity, FindingName, named, read_names, write_names

RULE = "KIP-482.unknown-tags-ignored"
CLOSES = ("request", "ApiVersions v3", "the target closed the connection instead of answering")
SILENT = ("request", "ApiVersions v3", "the target fell silent")


def defect(
    family: str = "Tansu", rule: str = RULE, cause: tuple[str, ...] = CLOSES, signature: str = "aa"
) -> FindingIdentity:
    return FindingIdentity(family=family, rule=rule, cause=cause, signature=signature)


def name(number: int = 1, cause: tuple[str, ...] = CLOSES, signature: str = "aa") -> FindingName:
    return FindingName(id=f"tansu/{RULE}-{number}", cause=cause, signature=signature)


def ids(defects: list[FindingIdentity], *known: FindingName) -> list[str]:
    return [each.id for each in named(defects, known)]


def test_numbers_distinguish_defects_of_one_rule() -> None:
    assert ids([defect(), defect(cause=SILENT, signature="bb")]) == [f"tansu/{RULE}-1", f"tansu/{RULE}-2"]


@pytest.mark.parametrize(
    ("family", "folder"),
    [
        pytest.param("@platformatic/kafka", "platformatic-kafka", id="signs"),
        pytest.param("Apache Kafka", "apache-kafka", id="space"),
        pytest.param("Кафка", "product", id="no-latin-letters"),
    ],
)
def test_folder_of_a_product_has_only_letters(family: str, folder: str) -> None:
    assert ids([defect(family)]) == [f"{folder}/{RULE}-1"]


@pytest.mark.parametrize(
    ("changed", "number"),
    [
        pytest.param(defect(rule="KIP-35.keys-unique", signature="zz"), "7", id="same-cause"),
        pytest.param(defect(rule="KIP-35.keys-unique", cause=SILENT), "7", id="same-signature"),
        pytest.param(defect(cause=SILENT, signature="zz"), "8", id="another-defect"),
        pytest.param(defect(cause=SILENT, signature=""), "8", id="no-signature"),
    ],
)
def test_known_defect_keeps_its_folder(changed: FindingIdentity, number: str) -> None:
    assert ids([changed], name(7)) == [f"tansu/{RULE}-{number}"]


def test_cause_counts_more_than_the_signature() -> None:
    """The order in which defects are found does not matter either."""
    known = (name(1), name(2, SILENT, "bb"))
    swapped = [defect(cause=SILENT, signature="aa"), defect(signature="bb")]
    assert ids(swapped, *known) == [f"tansu/{RULE}-2", f"tansu/{RULE}-1"]


def test_defect_of_another_product_has_a_folder_of_its_own() -> None:
    assert ids([defect("Redpanda")], name()) == [f"redpanda/{RULE}-1"]


def test_two_defects_never_share_a_known_name() -> None:
    assert ids([defect(), defect(cause=SILENT)], name()) == [f"tansu/{RULE}-1", f"tansu/{RULE}-2"]


def test_list_keeps_the_names_of_what_is_not_found_any_more(tmp_path: Path) -> None:
    assert read_names(tmp_path) == ()
    gone, current = name(1, SILENT, "bb"), name(2)
    write_names(tmp_path, [current], [gone])
    assert read_names(tmp_path) == (gone, current)
    write_names(tmp_path, [name(2, SILENT, "cc")], read_names(tmp_path))
    assert read_names(tmp_path) == (gone, name(2, SILENT, "cc"))
