"""Tests of plays as bytes: states, replies, and what the file has once."""

from __future__ import annotations

import pytest

from conformance.vectors.play_states import CORRELATION_ID, FIRST_PORT, connection_values, frame_text, healed_nodes
from conformance.vectors.shared_values import vectors_in, with_values_apart
from reference_model.clients.scripts.script import ITSELF, Answer, ConnectionScript, Script, Table, all_connections

REFUSES_ABOVE_0 = ConnectionScript(newest_version=0)


def values_of(connection: ConnectionScript, **others: object) -> dict[str, object]:
    return connection_values(all_connections(connection, **others), 0, connection)


def test_a_frame_has_names_for_the_numbers_that_only_a_player_knows() -> None:
    data = b"".join(number.to_bytes(4) for number in (7, CORRELATION_ID, CORRELATION_ID + 1, FIRST_PORT + 1))
    assert frame_text(data) == "00000007{id}{id+1}{port1}"


def test_a_version_above_the_newest_one_is_refused_and_v0_comes_next() -> None:
    served, refused = values_of(REFUSES_ABOVE_0)["states"][0]["replies"]  # type: ignore[index]
    assert (served["api"], served["versions"]) == (18, [0, 0])
    assert refused == {"api": 18, "send": "00000010{id}002300000001001200000000", "again": [0]}


def test_equal_states_are_one() -> None:
    assert len(values_of(ConnectionScript(answers=(Answer(), Answer())))["states"]) == 1  # type: ignore[arg-type]


def test_what_the_table_does_not_list_has_no_reply() -> None:
    values = values_of(ConnectionScript(answers=(Answer(table=Table(base="itself", changed=((3, 1, 2),))),)))
    others = values["states"][0]["others"]  # type: ignore[index]
    assert [(each["api"], each["versions"]) for each in others] == [(3, [1, 1]), (3, [2, 2])]


def test_wrong_ids_get_an_error_after_which_nothing_is_sent() -> None:
    replies = values_of(ConnectionScript(answers=(Answer(table=ITSELF),)))["states"][0]["replies"]  # type: ignore[index]
    right, one_of_two, wrong = (each for each in replies if each.get("versions") == [5, 5])
    assert right["ends_with"][0] == "00ffffffff00"
    assert "000000000100" in one_of_two["ends_with"]
    assert wrong == {"api": 18, "versions": [5, 5], "send": wrong["send"], "delay_ms": 250, "leave": True}


def test_sasl_is_a_chain_of_states_and_nothing_else_is_served_before_its_end() -> None:
    states = values_of(ConnectionScript(), listener="sasl_plaintext")["states"]
    served = ["others" in each for each in states]  # type: ignore[attr-defined]
    assert served == [False] * (len(served) - 1) + [True]
    bare = [reply for each in states for reply in each["replies"] if "api" not in reply]  # type: ignore[attr-defined]
    assert bare == [{"send": "00000000", "state": len(served) - 1}]


@pytest.mark.parametrize("then", ["close", "silence"])
def test_a_connection_that_is_never_served_has_no_states(then: str) -> None:
    connection = ConnectionScript(on_open=then)  # type: ignore[arg-type]
    assert values_of(connection) == {"opening": {"then": then}, "states": []}


def test_a_response_without_a_request_comes_first() -> None:
    values = values_of(ConnectionScript(unasked=Answer(raw=b"\1\2")))
    assert values["opening"] == {"send": "0102"}


def test_only_a_script_that_heals_has_healthy_connections() -> None:
    assert healed_nodes(Script()) == []
    (healthy,) = healed_nodes(Script(heals_after_ms=100))
    assert healthy == values_of(ConnectionScript())


def test_shared_values_stand_once_in_the_file_and_again_in_each_play() -> None:
    reply = {"send": "0102", "table": [[3, 0, 1]]}
    plays = [{"id": name, "nodes": [[{"states": [{"replies": [reply], "others": [reply]}]}]]} for name in "ab"]
    file = with_values_apart(plays)
    assert [len(file[name]) for name in ("frames", "tables", "others", "vectors")] == [1, 1, 1, 2]
    assert vectors_in(file) == plays
