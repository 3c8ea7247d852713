"""Properties of clients pass a good client's play and name a bad client's fault.

Some are about pauses: of a client between its connections, and of a broker before its table. Others are about what
properties need of a client, and why they do not apply without it.

A client succeeds by an answer to its own request, and by no table that came with an error or for another request. It
hangs if it does not come back to its application in its time, and the hang names the request that caused it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from clauses.marks import NEEDS as NEEDS_MARK
from conformance.assertions.client_moves import assert_ends_by_itself, assert_reports_error
from conformance.assertions.client_success import (
    assert_pauses,
    assert_success_is_earned,
    assert_table_is_not_used,
    assert_uses_late_table,
)
from conformance.clients import (
    test_broker_releases,
    test_fallback,
    test_features,
    test_first_request,
    test_newer_brokers,
    test_overlap,
    test_rebootstrapping,
    test_robustness,
    test_success,
    test_tls,
)
from conformance.roles.client_needs import NEEDS, NEEDS_OF_SUITE, unmet_need
from fixtures.client_processes.driver_process import DriverResult
from fixtures.errors import HarnessError
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import EMPTY, Answer, Script
from strategies.broker_scripts import (
    broker_up_to,
    broker_with,
    metadata_ranges,
    refusal_with_metadata,
    table_in_every_refusal,
)
from strategies.cluster_scripts import broker_of, changed_versions, healthy_cluster
from strategies.hypothesis_adapter import body_of, is_drawn, pinned_examples
from strategies.nonsense_scripts import healing, table_with_error, without_answer
from strategies.secured_scripts import WITH_TLS
from strategies.slow_broker_scripts import slow_broker
from tests.conformance.client_plays import (
    FAILED,
    HEALTHY,
    STOPPED,
    WELL,
    FakeClient,
    ended_well,
    entry,
    worked,
)
from tests.reference_model.clients.recordings import (
    asked,
    listing,
    opened,
    recorded,
    refused,
    refused_with,
    sent,
)
from wire.api_versions import NEWEST_VERSION

MODULES = (
    test_fallback,
    test_features,
    test_first_request,
    test_newer_brokers,
    test_overlap,
    test_rebootstrapping,
    test_robustness,
    test_success,
    test_tls,
)


def properties() -> Iterator[Any]:
    """Yield every property of a client."""
    for module in MODULES:
        for name, member in vars(module).items():
            if name.startswith("test_") and is_drawn(member):
                yield member


PROPERTIES = tuple(properties())
OVERLAP = broker_with(metadata_ranges(0, 4))
REFUSED = Answer(error_code=42, table=EMPTY)
MISROUTED = Answer(error_code=129, table=EMPTY)
HEALS = healing(Answer(cut_to=1))


@pytest.mark.parametrize("each", PROPERTIES, ids=lambda each: each.__name__)
def test_property_has_pinned_scripts_and_known_needs(each: Any) -> None:
    """Every property of a client pins scripts, which are the smoke tier, and needs what is in the list of needs."""
    examples = pinned_examples(each)
    assert examples
    for values in examples:
        assert set(values) == {"script"}
        assert isinstance(values["script"], Script)
    needs = [mark for mark in each.pytestmark if mark.name == NEEDS_MARK]
    assert all(need in NEEDS for mark in needs for need in mark.args)


def test_pinned_scripts_differ() -> None:
    """No property pins a script twice."""
    for each in PROPERTIES:
        pinned = [values["script"] for values in pinned_examples(each)]
        assert len(set(pinned)) == len(pinned), each.__name__


def judge(property_: Callable[..., None], script: Script, play: Play) -> str:
    """Return the first line of a property's failure; empty if it passes."""
    return judge_client(property_, script, FakeClient(prepared=play))


def judge_client(property_: Callable[..., None], script: Script, client: FakeClient) -> str:
    """Return the first line of a property's failure with a client; empty if it passes."""
    try:
        body_of(property_)(client=client, script=script)
    except AssertionError as error:
        return str(error).splitlines()[0]
    return ""


@pytest.mark.parametrize(
    ("property_", "script", "recording", "result"),
    [
        pytest.param(
            test_fallback.test_useless_range_is_no_reason_to_repeat,
            broker_up_to(0),
            recorded(asked(4, refused((9, 12)))),
            FAILED,
            id="gives-up",
        ),
        pytest.param(
            test_fallback.test_table_of_a_refusal_is_not_used,
            refusal_with_metadata(2, 1),
            recorded(asked(4, refused((0, 2)), is_served=False)),
            FAILED,
            id="never-got-a-table",
        ),
        pytest.param(
            test_fallback.test_refusal_is_never_taken_for_a_success,
            table_in_every_refusal(12),
            recorded(asked(0, refused_with(metadata_ranges(1, 12))), sent(12)),
            FAILED,
            id="sends-its-usual-version",
        ),
        pytest.param(
            test_overlap.test_version_lies_in_the_overlap,
            OVERLAP,
            recorded(asked(4, listing((3, 0, 4))), sent(4)),
            FAILED,
            id="may-fail-without-its-usual-version",
        ),
        pytest.param(
            test_overlap.test_newest_common_version_is_used,
            OVERLAP,
            recorded(asked(4, listing((3, 0, 4))), script=OVERLAP),
            FAILED,
            id="no-common-version",
        ),
        pytest.param(
            test_overlap.test_newest_common_version_is_used,
            OVERLAP,
            recorded(asked(4, listing((3, 0, 4))), sent(5), script=OVERLAP),
            FAILED,
            id="version-outside-the-range",
        ),
        pytest.param(
            test_broker_releases.test_client_that_never_asks_sends_what_every_release_has,
            broker_of("0.10.0.1"),
            recorded(sent(1), script=broker_of("0.10.0.1")),
            FAILED,
            id="never-asks",
        ),
    ],
)
def test_good_client_passes(
    property_: Callable[..., None], script: Script, recording: Any, result: DriverResult
) -> None:
    """A client for which the clause asks nothing passes; the model client passes every property in the mutation
    score."""
    assert judge(property_, script, Play(recording=recording, result=result)) == ""


SLOW = Answer(delay_ms=2600)
LATE_TABLE = asked(4, SLOW)
CUT_LATE_TABLE = asked(4, SLOW, response=b"\0\0")


@pytest.mark.parametrize(("newest", "is_judged"), [(NEWEST_VERSION, True), (4, False)])
def test_options_are_not_blamed_for_what_fails_without_them(newest: int, is_judged: bool) -> None:
    """A client that cannot use an older broker at all violates another clause."""
    script = healthy_cluster(newest=newest, options=("without_rebootstrap",))
    never = Play(recording=recorded(asked(4), script=script), result=FAILED)
    found = judge(test_rebootstrapping.test_client_that_cannot_rebootstrap_sends_no_ids, script, never)
    assert found == ("the client does not get metadata" if is_judged else "")


def test_client_without_any_tls_cannot_be_judged_by_it() -> None:
    never = Play(recording=recorded(), result=FAILED)
    with pytest.raises(HarnessError, match="finished no TLS handshake"):
        judge(test_tls.test_nothing_is_sent_before_the_tls_handshake, WITH_TLS, never)


def test_client_that_pauses_passes() -> None:
    """A healthy play has no connection without a pause."""
    assert_pauses(HEALTHY)


def test_client_without_a_pause_fails() -> None:
    """Each connection follows at once on the one before, which the broker closed."""
    ends = (opened(n, at_ms=50 * n, closed_ms=50 * n + 49, closed_by="broker") for n in range(22))
    play = worked(asked(4), connections=tuple(ends))
    message = "the client connects again at once, 21 times in a row, each less than 10 ms after the broker closed"
    with pytest.raises(AssertionError, match=message):
        assert_pauses(play)
    assert judge(test_robustness.test_broker_before_api_versions_is_survived, without_answer(), play) == message


@pytest.mark.parametrize("request_", [asked(4), CUT_LATE_TABLE, asked(4, SLOW, is_served=False)], ids=str)
def test_client_that_did_not_wait_may_fail(request_: SeenRequest) -> None:
    """Without a late table that came completely, nothing shows that the client could have worked."""
    assert_uses_late_table(Play(recording=recorded(request_), result=FAILED))


@pytest.mark.parametrize(("result", "sentence"), [(WELL, ""), (FAILED, "the client does not work")])
def test_client_that_waited_has_to_work(result: DriverResult, sentence: str) -> None:
    play = Play(recording=recorded(LATE_TABLE), result=result)
    found = judge(test_robustness.test_pause_of_seconds_is_survived, slow_broker(), play)
    assert found.startswith(sentence)
    assert bool(found) is bool(sentence)


@pytest.mark.parametrize(
    ("connection", "sentence"),
    [(1, ""), (0, "the client uses none of its later connections")],
    ids=["works-again", "stays-away"],
)
def test_changed_broker_has_to_be_used(connection: int, sentence: str) -> None:
    """A request has to be served on a later connection, whose broker supports other versions than the first one."""
    connections = (opened(), opened(1))
    recording = recorded(asked(4), sent(12, connection=connection), connections=connections)
    play = Play(recording=recording, result=STOPPED)
    assert judge(test_fallback.test_changed_range_is_followed, changed_versions(4, 2), play) == sentence


class ClientOfV5(FakeClient):
    """A client that knows ApiVersions v5 and may read older flexible tables or not."""

    def __init__(self, prepared: Play, *, reads_older: bool) -> None:
        super().__init__(prepared=prepared, healthy=worked(asked(5), sent(12)))
        self.reads_older = reads_older

    def play(self, script: Script) -> Play:
        """Return the prepared play for a script of two connections, else whether it can use an older broker."""
        if script == changed_versions(4, 2):
            return self.prepared
        return Play(recording=recorded(asked(4)), result=WELL if self.reads_older else FAILED)


@pytest.mark.parametrize(
    ("reads_older", "sentence"), [(True, "the client uses none of its later connections"), (False, "")]
)
def test_newer_client_has_to_use_a_changed_broker_if_it_reads_older_tables(reads_older: bool, sentence: str) -> None:
    recording = recorded(asked(4), sent(12), connections=(opened(), opened(1)))
    play = Play(recording=recording, result=STOPPED)
    client = ClientOfV5(play, reads_older=reads_older)
    assert judge_client(test_fallback.test_changed_range_is_followed, changed_versions(4, 2), client) == (sentence)


@pytest.mark.parametrize(
    ("client", "unmet"),
    [
        pytest.param(
            FakeClient(client=entry(options={"tls": (), "sasl_plain": ()})),
            {
                *{
                    "never_asks",
                    "sends_v5",
                    "option:without_cluster_check",
                    "option:without_rebootstrap",
                    "option:rebootstraps_after_1_s",
                    "option:transactions",
                    "uses_transaction_v2",
                    "heeds_levels",
                },
                *NEEDS.keys() - NEEDS_OF_SUITE.keys(),
            },
            id="v4-with-tls",
        ),
        pytest.param(
            FakeClient(
                healthy=worked(asked(0), sent(1)),
                client=entry(cluster_check=False, can_ask_again=False),
            ),
            set(NEEDS) - {"gives_up", "asks_versions", "asks_metadata"},
            id="v0-alone",
        ),
        pytest.param(
            FakeClient(healthy=worked()),
            set(NEEDS) - {"gives_up", "cluster_check", "asks_again"},
            id="none",
        ),
        pytest.param(
            FakeClient(healthy=worked(sent(12))),
            set(NEEDS) - {"gives_up", "never_asks", "asks_metadata", "cluster_check", "asks_again"},
            id="never-asks",
        ),
    ],
)
def test_property_does_not_apply_without_what_it_needs(client: FakeClient, unmet: set[str]) -> None:
    """A need is met by what the client did with a healthy broker, or has in the registry."""
    reasons = {name: unmet_need([name], client) for name in NEEDS}
    assert {name for name, reason in reasons.items() if reason} == unmet
    assert reasons == {name: NEEDS[name].otherwise if name in unmet else None for name in NEEDS}


@pytest.mark.parametrize("in_first_play", [True, False], ids=["one-broker", "cluster"])
def test_ids_are_seen_not_looked_up(*, in_first_play: bool) -> None:
    """A client that is in no registry gives the ids of KIP-1242 if a healthy broker or cluster sees them."""
    silent, giving = (
        worked(asked(5), sent(12)),
        worked(asked(5, ids=("c", 1))),
    )
    command = entry(cluster_check=False)
    client = FakeClient(healthy=giving if in_first_play else silent, prepared=giving, client=command)
    assert unmet_need(["sends_v5", "cluster_check"], client) is None
    without = FakeClient(healthy=silent, prepared=silent, client=command)
    assert unmet_need(["cluster_check"], without) == NEEDS["cluster_check"].otherwise


def test_first_unmet_need_is_the_reason() -> None:
    """Of several needs the first one that is not met is given; an unknown one is a mistake."""
    client = FakeClient()
    assert unmet_need([], client) is None
    reason = unmet_need(["sends_v3", "sends_v5", "option:tls"], client)
    assert reason == NEEDS["sends_v5"].otherwise
    with pytest.raises(KeyError):
        unmet_need(["sends_v9"], client)


def test_program_that_runs_on_gives_up_nothing() -> None:
    client = FakeClient(client=entry(runs_on=True))
    assert unmet_need(["gives_up"], client) == NEEDS["gives_up"].otherwise


DESCRIBE_CLUSTER_KEY, LIST_GROUPS_KEY = 60, 16
LOST = recorded(asked(4), sent(12, response=b""))
SCRIPT = table_with_error(-1)
NEWEST, USUAL = 3, 12


def of_table(*requests: SeenRequest) -> Play:
    """Return a play with a broker whose table comes with an error."""
    return worked(asked(4), *requests, script=SCRIPT)


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(HEALTHY, id="metadata"),
        pytest.param(
            worked(asked(4), sent(0, api_key=DESCRIBE_CLUSTER_KEY)),
            id="description-of-the-cluster",
        ),
        pytest.param(Play(recording=LOST, result=FAILED), id="error"),
        pytest.param(ended_well(replace(LOST, all_requests=4000)), id="more-than-was-recorded"),
    ],
)
def test_success_with_an_answer_is_earned(play: Play) -> None:
    """A broker answered, or the client reports no success, or it cannot be known."""
    assert_success_is_earned(FakeClient(), play)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(LOST, id="no-answer"),
        pytest.param(recorded(), id="no-request"),
        pytest.param(recorded(asked(4), sent(0, api_key=LIST_GROUPS_KEY)), id="another-answer"),
    ],
)
def test_success_without_metadata_is_found(recording: Recording) -> None:
    """A client that needs metadata reports success without it; one that needs none with a healthy broker may."""
    play = ended_well(recording)
    with pytest.raises(AssertionError, match="although no broker sent it metadata"):
        assert_success_is_earned(FakeClient(), play)
    assert_success_is_earned(FakeClient(healthy=ended_well(LOST)), play)


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(of_table(), id="nothing"),
        pytest.param(of_table(sent(USUAL)), id="usual-version"),
        pytest.param(of_table(sent(0), sent(1)), id="guesses"),
    ],
)
def test_version_from_elsewhere_is_no_use_of_the_table(play: Play) -> None:
    """A client may send what it sends without a table."""
    assert_table_is_not_used(FakeClient(), play, "with an error")


def test_use_of_the_table_is_found() -> None:
    """The newest version of the table shows that it was used, unless the client knows no newer one itself."""
    play = of_table(sent(NEWEST))
    with pytest.raises(AssertionError, match="sends Metadata v3, as the table of a response with"):
        assert_table_is_not_used(FakeClient(), play, "with an error")
    for usual in (recorded(asked(4), sent(NEWEST)), recorded(asked(4))):
        assert_table_is_not_used(FakeClient(healthy=ended_well(usual)), play, "x")


THREE_SECONDS = Script(timeout_ms=3000)
WATCHED = replace(WELL, outcome="error", detail="no result after 3 s", exit_status=1)
KILLED = replace(WELL, outcome=None, signal="SIGKILL", killed_for="time")
HUNG = Play(recording=recorded(asked(4), duration_ms=4500, script=THREE_SECONDS), result=WATCHED)
LATE = Play(
    recording=recorded(
        asked(4, at_ms=2000),
        connections=(opened(at_ms=1600),),
        duration_ms=4500,
        script=THREE_SECONDS,
    ),
    result=WATCHED,
)
UNANSWERED = recorded(
    *(asked(3, listing((3, 0, 1))), sent(12)),
    *(sent(13, at_ms=2, response=b""), sent(1, at_ms=3)),
    duration_ms=3300,
    script=THREE_SECONDS,
)


def test_client_that_only_its_driver_ended_hangs() -> None:
    with pytest.raises(AssertionError, match="the client hangs: it does not return"):
        assert_ends_by_itself(FakeClient(), HUNG)
    with pytest.raises(AssertionError, match="no error: its operation never ends"):
        assert_reports_error(HUNG)


def test_client_that_began_late_may_be_late() -> None:
    """What its driver reported counts as its error."""
    assert_ends_by_itself(FakeClient(), LATE)
    assert_reports_error(LATE)


@pytest.mark.parametrize(
    ("result", "how"),
    [
        (WATCHED, "the client hangs: it does not return to its application"),
        (KILLED, "the client's process hangs: it has to be killed"),
    ],
)
def test_hang_names_the_request_outside_the_table(result: DriverResult, how: str) -> None:
    sentence = (
        f"{how}, after Metadata v13 on connection 0 was sent although the table of that connection lists v0 to v1"
    )
    with pytest.raises(AssertionError) as caught:
        assert_ends_by_itself(FakeClient(), Play(recording=UNANSWERED, result=result))
    assert str(caught.value).splitlines()[0] == sentence
