"""Tests of scripts as data.

They check the entries of tables, responses that repeat, texts that can be evaluated, and named scripts.
"""

from __future__ import annotations

import pytest

from reference_model.clients.scripts.named_scripts import NAMED_SCRIPTS, scripted_name
from reference_model.clients.scripts.script import (
    EMPTY,
    HEALTHY,
    HEALTHY_SCRIPT,
    ITSELF,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    all_connections,
    healthy_ranges,
    one_node,
)
from wire.api_keys import API_VERSIONS_KEY


def test_healthy_table_has_a_version_for_every_client() -> None:
    assert (18, 0, 5) in healthy_ranges()
    assert (3, 0, 13) in healthy_ranges()
    assert HEALTHY.entries == healthy_ranges()


def test_base_can_be_the_table_of_a_release() -> None:
    """With KRaft if the release was recorded with it, else with ZooKeeper."""
    assert Table(base="4.4.0").ranges_of(API_VERSIONS_KEY) == ((0, 5),)
    assert Table(base="1.0.2").ranges_of(API_VERSIONS_KEY) == ((0, 1),)


@pytest.mark.parametrize(
    ("table", "entries"),
    [
        (EMPTY, ()),
        (ITSELF, ((18, 0, 5),)),
        (Table(base="itself", changed=((3, 0, 1), (18, 0, 2))), ((3, 0, 1), (18, 0, 2))),
        (Table(base="itself", removed=(18, 99)), ()),
        (Table(base="itself", changed=((3, 0, 1),), descending=True), ((18, 0, 5), (3, 0, 1))),
        (
            Table(base="itself", before=((18, 9, 9),), after=((1, 0, 0),)),
            ((18, 9, 9), (18, 0, 5), (1, 0, 0)),
        ),
        (Table(null=True), ()),
    ],
)
def test_entries_are_written_in_order(table: Table, entries: tuple[tuple[int, int, int], ...]) -> None:
    """By key, except those before and after."""
    assert table.entries == entries


@pytest.mark.parametrize(
    ("table", "readable"),
    [
        (HEALTHY, True),
        (Table(base="itself", claimed_count=1), True),
        (Table(base="itself", claimed_count=2), False),
        (Table(null=True), False),
        (Table(base="itself", count_bytes=b"\x02"), False),
    ],
)
def test_table_is_readable_if_it_is_what_it_claims(table: Table, readable: bool) -> None:
    """A null array and a wrong count are not."""
    assert table.is_readable is readable


def test_what_comes_last_repeats() -> None:
    """Answers of a connection, and connections of a node."""
    first, last = Answer(error_code=35), Answer()
    connection = ConnectionScript(answers=(first, last))
    assert [connection.answer(number) for number in range(3)] == [first, last, last]
    node = NodeScript(connections=(connection, ConnectionScript()))
    found = [node.connection(number) for number in range(3)]
    assert found == [connection, ConnectionScript(), ConnectionScript()]


def test_script_lists_its_answers() -> None:
    """Refusals too."""
    refusal = Answer(action="close")
    script = all_connections(ConnectionScript(refusal=refusal), ConnectionScript())
    assert list(script.answers) == [refusal, Answer(), Answer()]
    assert list(one_node().answers) == [Answer()]


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (HEALTHY_SCRIPT, "Script(timeout_ms=8000)"),
        (
            one_node(Answer(body=b"\0", table=ITSELF), heals_after_ms=7, options=("tls",)),
            "Script(nodes=(NodeScript(connections=(ConnectionScript(answers=(Answer(table=Table(base='itself'), "
            "body=b'\\x00'),)),)),), heals_after_ms=7, options=('tls',))",
        ),
    ],
)
def test_text_leaves_out_defaults_and_can_be_evaluated(script: Script, text: str) -> None:
    names = (Answer, ConnectionScript, NodeScript, Script, Table)
    assert repr(script) == text
    assert eval(text, {each.__name__: each for each in names}) == script


@pytest.mark.parametrize(
    ("target_id", "name"),
    [
        ("scripted", "healthy"),
        ("scripted+only-v0", "only-v0"),
        ("scripted+no-such", "no-such"),
        ("reference+tags-descend", None),
        ("scripted-broker", None),
    ],
)
def test_a_target_names_its_script(target_id: str, name: str | None) -> None:
    """Alone it is the healthy one; whether there is such a script is another question."""
    assert scripted_name(target_id) == name


def test_named_scripts_differ() -> None:
    """Each name is worth typing: no two brokers are the same."""
    assert len({repr(each) for each in NAMED_SCRIPTS.values()}) == len(NAMED_SCRIPTS)
