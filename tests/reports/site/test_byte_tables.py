"""Tests of a failure's byte tables and of the reference broker's response.

The dump reads back as it was written. The reference broker responds only if its response says something about the
target.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.registry.targets import Target, load_targets
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    KRAFT,
    NEWEST_RELEASE,
    ZOOKEEPER,
    profile_of,
)
from reports.run.hex_dump import dump_answer, dump_bare, dump_request
from reports.site.byte_tables import (
    ExpectedAnswer,
    expected_answers,
    first_divergence,
    in_fields_of,
    read_dump,
    rows_of,
)
from reports.tables.target_rows import GridTarget
from strategies.api_versions import build_request
from tests.reports.roll_up_tables import REFUSED_REQUEST, WRONG_ANSWER
from wire.frames import encode_frame


def test_whole_conversation_reads_back() -> None:
    """Frames keep their bytes, and events between them keep their words."""
    text = "\n".join(
        (
            "connection 0: written in pieces of 3, 33 bytes",
            "connection 0: sent (with a reason)",
            *dump_request(REFUSED_REQUEST),
            "connection 0: answer",
            *dump_answer(WRONG_ANSWER, api_version=3),
            "  the next request: answered",
            "",
            "connection 0: closed by us",
        )
    )
    parts = read_dump(text)
    assert [(part.what, part.data) for part in parts] == [
        ("written in pieces of 3, 33 bytes", b""),
        ("sent (with a reason)", REFUSED_REQUEST),
        ("answer", WRONG_ANSWER),
        ("closed by us", b""),
    ]
    assert [part.sent for part in parts] == [False, True, False, False]
    assert parts[2].notes == ["the next request: answered"]


@given(data=st.binary(min_size=4, max_size=80))
def test_any_dump_keeps_every_byte(data: bytes) -> None:
    """Whatever a frame contains, its rows contain the same bytes, each at its offset."""
    for lines in (dump_bare(data, "token"), dump_request(data), dump_answer(data, api_version=3)):
        rows = rows_of(lines)
        assert b"".join(row.data for row in rows) == data
        for row in rows:
            assert data[row.offset : row.offset + len(row.data)] == row.data


def test_row_where_decoding_ends_is_marked() -> None:
    """A frame that ends inside a field is marked there, with the reason as value."""
    rows = rows_of(dump_answer(WRONG_ANSWER[:-3], api_version=3))
    assert [row.marked for row in rows].index(True) == len(rows) - 1
    assert rows[-1].value


@given(length=st.integers(4, len(WRONG_ANSWER)), behind=st.binary(max_size=3))
def test_frame_without_fields_is_cut_like_another_as_far_as_they_agree(length: int, behind: bytes) -> None:
    """The common beginning has the other frame's fields, and the rest is one row; no byte is lost."""
    data = WRONG_ANSWER[:length] + behind
    fields = rows_of(dump_answer(WRONG_ANSWER, api_version=3))
    cut = in_fields_of(fields, rows_of(dump_bare(data, "answer")))
    assert b"".join(row.data for row in cut) == data
    same = [row for row in cut[1:] if row.path]
    assert same == fields[1 : 1 + len(same)]
    assert (first_divergence(fields, cut) is None) == (data == WRONG_ANSWER)


def test_no_row_is_borrowed_from_where_an_answer_does_not_decode() -> None:
    """The mark of a response that ends too early is not copied to another response."""
    fields = rows_of(dump_answer(WRONG_ANSWER[:10], api_version=3))
    assert fields[-1].marked
    cut = in_fields_of(fields, rows_of(dump_bare(WRONG_ANSWER[:10], "answer")))
    assert not any(row.marked for row in cut)


def test_first_divergence_leaves_the_size_aside() -> None:
    """The first field with other bytes counts; a response that only ends too early diverges at its end."""
    right = WRONG_ANSWER[:8] + b"\x00\x2a" + WRONG_ANSWER[10:]
    wanted = rows_of(dump_answer(right, api_version=3))
    rows = rows_of(dump_answer(WRONG_ANSWER, api_version=3))
    index = first_divergence(rows, wanted)
    assert index is not None
    assert rows[index].path == "error_code"
    assert first_divergence(rows, rows) is None
    assert first_divergence(rows[:-1], rows) == len(rows) - 2


LIST_GROUPS_V5 = "0010 0005 00000007 0000 00 01 01 00"
PRODUCE_V99 = "0000 0063 00000007 0000 00"
RELEASES = [each for each in load_targets() if each.implementation == APACHE_KAFKA and each.handshake]


def _target(
    target: str,
    *,
    implementation: str = APACHE_KAFKA,
    release: str = NEWEST_RELEASE,
    listener: str = "plaintext",
    like: str | None = None,
) -> GridTarget:
    return GridTarget(
        target=target,
        listener=listener,
        implementation=implementation,
        release=release,
        release_order=(),
        launcher="process",
        artefacts={},
        run_id="run",
        started_at=datetime(2026, 11, 21, tzinfo=UTC),
        like=like,
    )


def _expected(target: GridTarget, version: int) -> list[ExpectedAnswer]:
    sent = [{"connection": 0, "data": build_request(version=version).data.hex()}]
    return expected_answers(json.dumps({"sent": sent}), target)


def _keys(answer: ExpectedAnswer) -> list[str]:
    return [row.value for row in answer.rows if row.path.endswith(".api_key")]


def _recorded_keys(release: str, quorum: str | None) -> list[str]:
    return [str(entry.api_key) for entry in profile_of(release, quorum=quorum).api_keys]


@pytest.mark.parametrize("target", RELEASES, ids=[each.id for each in RELEASES])
def test_release_is_compared_with_itself(target: Target) -> None:
    """What is expected of a release is its own table, with its own quorum, and its refusal of a version that it
    lacks."""
    recorded = _target(target.id, release=target.release)
    (served,) = _expected(recorded, 0)
    assert sorted(_keys(served)) == sorted(_recorded_keys(target.release, target.quorum))
    newest = profile_of(target.release, quorum=target.quorum).traits.api_versions_max
    # Version 5 may name a cluster and is not compared.
    (refused,) = _expected(recorded, newest + 1 if newest < 4 else 6)
    codes = [row.value for row in refused.rows if row.path == "error_code"]
    assert codes == ["UNSUPPORTED_VERSION (35)"]


@pytest.mark.parametrize(
    ("like", "release", "quorum"),
    [
        pytest.param("apache-kafka-3.9.2", "3.9.2", KRAFT, id="kraft"),
        pytest.param("apache-kafka-3.9.2-zookeeper", "3.9.2", ZOOKEEPER, id="zookeeper"),
        pytest.param("apache-kafka-2.4.1", "2.4.1", ZOOKEEPER, id="only-zookeeper"),
        pytest.param("reference", NEWEST_RELEASE, KRAFT, id="reference"),
    ],
)
def test_build_is_compared_with_what_it_is_judged_like(like: str, release: str, quorum: str) -> None:
    build = _target("build", implementation="kafka-build", release="4.5.0-SNAPSHOT", like=like)
    (served,) = _expected(build, 0)
    assert sorted(_keys(served)) == sorted(_recorded_keys(release, quorum))


def test_another_product_is_compared_with_the_newest_release() -> None:
    product = _target("redpanda-26.2.3", implementation="redpanda", release="26.2.3")
    (served,) = _expected(product, 0)
    assert sorted(_keys(served)) == sorted(_recorded_keys(NEWEST_RELEASE, KRAFT))


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(_target("apache-kafka-4.3.77", release="4.3.77"), id="not-recorded"),
        pytest.param(_target("apache-kafka-0.9.0.1", release="0.9.0.1"), id="no-traits"),
        pytest.param(_target("apache-kafka-trunk", release="trunk"), id="no-number"),
        pytest.param(_target("build", like="no-release-at-all"), id="like-what"),
        pytest.param(
            _target("apache-kafka-3.2.3", release="3.2.3", listener="controller"),
            id="no-controller",
        ),
    ],
)
def test_nothing_is_expected_of_what_is_not_known(target: GridTarget) -> None:
    assert _expected(target, 0) == []


@pytest.mark.parametrize(
    ("version", "answers"),
    [
        pytest.param(0, 1, id="v0"),
        pytest.param(4, 1, id="v4"),
        pytest.param(5, 0, id="v5-names-a-cluster"),
        pytest.param(6, 1, id="v6-is-unknown"),
        pytest.param(99, 1, id="v99-is-unknown"),
    ],
)
def test_request_has_a_reference_answer_unless_it_names_a_cluster(version: int, answers: int) -> None:
    """The reference broker has its own cluster id, and reads no cluster id in versions that it does not know."""
    found = _expected(_target("apache-kafka-4.4.0"), version)
    assert [each.what for each in found] == ["answer"] * answers


@pytest.mark.parametrize(
    ("payload", "what", "by_own_table"),
    [
        pytest.param(LIST_GROUPS_V5, "answer", True, id="served"),
        pytest.param(PRODUCE_V99, "closed", True, id="not-served"),
        pytest.param("0012 0000 00000007 0000", "answer", False, id="api-versions"),
        pytest.param("0010", "closed", False, id="names-no-api"),
    ],
)
def test_reaction_to_another_api_follows_from_the_table(payload: str, what: str, by_own_table: bool) -> None:
    """The target may advertise other versions of the API than the reference broker, so the page notes that."""
    frame = encode_frame(bytes.fromhex(payload))
    facts = json.dumps({"sent": [{"connection": 0, "data": frame.hex()}]})
    (found,) = expected_answers(facts, _target("apache-kafka-4.4.0"))
    assert (found.what, found.by_own_table) == (what, by_own_table)
