"""Predictions follow from what a client sent and what a release serves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fixtures.registry.given_tables import given_table
from reference_model.profiles.known_apis import Range
from reports.client_needs.needs import ApiNeeds, ClientNeeds, Edge, OperationNeeds, Probe, ProbeOutcome
from tests.reports.client_needs.measured import JOIN_GROUP as MEASURED_JOIN_GROUP
from tests.reports.client_needs.measured import METADATA as MEASURED_METADATA
from upgrade.prediction.measured_needs import measured_needs
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests
from upgrade.prediction.outcomes import PredictedOutcome
from upgrade.prediction.prediction import Prediction, predict, worst
from upgrade.prediction.releases import NoSuchRelease, cut_release, release_named, with_table

CLIENT = ClientIdentity("app", "127.0.0.1")
OF_3_9 = {0: Range(0, 11), 1: Range(0, 17), 3: Range(0, 12), 18: Range(0, 4), 19: Range(0, 7)}
"""What a broker of release 3.9 lists of some APIs."""
ASKS, PRODUCE, FETCH, METADATA, JOIN_GROUP = (18, 3), 0, 1, 3, 11
INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN, TXN_OFFSET_COMMIT = 22, 24, 26, 28


def predicted(
    *requests: tuple[int, int],
    release: str = "apache-kafka-4.4.0",
    watched: Mapping[int, Range] = OF_3_9,
    missed: bool = False,
) -> Prediction:
    """Return the prediction for a client that sent these requests, each as API key and version."""
    seen = ObservedRequests()
    for key, version in requests:
        seen.add(CLIENT, key, version)
    if missed:
        seen.of(CLIENT).missed_beginning = True
    return predict(seen, CLIENT, watched, release_named(release))


SERVED, BREAKS, CANNOT_SAY = (
    PredictedOutcome.SERVED,
    PredictedOutcome.BREAKS,
    PredictedOutcome.CANNOT_SAY,
)
ROWS = {
    "asks-and-all-are-served": ([ASKS, (METADATA, 4), (PRODUCE, 7)], SERVED),
    "asks-and-uses-the-maximum-that-is-served": ([ASKS, (METADATA, 12), (PRODUCE, 11)], SERVED),
    "never-asks-and-all-are-served": ([(METADATA, 1), (PRODUCE, 3)], SERVED),
    "never-asks-and-one-is-refused": ([(METADATA, 1), (PRODUCE, 2)], BREAKS),
    "never-asks-and-uses-the-maximum": ([(FETCH, 3), (METADATA, 12)], BREAKS),
    "asks-and-knows-no-newer-one": ([ASKS, (METADATA, 1), (FETCH, 3)], BREAKS),
    "listed-but-refused": ([ASKS, (METADATA, 1), (PRODUCE, 2)], BREAKS),
    "the-first-that-is-not-refused": ([ASKS, (METADATA, 1), (PRODUCE, 3)], SERVED),
    "also-sent-a-newer-one": ([ASKS, (FETCH, 3), (FETCH, 11)], CANNOT_SAY),
    "an-api-that-is-gone": ([ASKS, (METADATA, 1), (4, 1)], CANNOT_SAY),
    "an-unknown-api": ([ASKS, (METADATA, 1), (999, 0)], CANNOT_SAY),
    "an-unknown-api-without-asking": ([(METADATA, 1), (999, 0)], BREAKS),
    "nothing-but-asking": ([ASKS], CANNOT_SAY),
    "a-version-that-no-release-has": ([ASKS, (METADATA, 99)], CANNOT_SAY),
}


@pytest.mark.parametrize("row", ROWS)
def test_requests_decide(row: str) -> None:
    """A client works, breaks, or may do either."""
    requests, outcome = ROWS[row]
    assert predicted(*requests).outcome is outcome


def test_the_maximum_of_the_watched_broker_says_nothing() -> None:
    """A client that used the newest version that the watched broker serves may know newer ones."""
    watched = {**OF_3_9, FETCH: Range(0, 3)}
    assert predicted(ASKS, (FETCH, 3), watched=watched).outcome is CANNOT_SAY
    assert predicted(ASKS, (FETCH, 2), watched=watched).outcome is BREAKS
    assert predicted(ASKS, (FETCH, 2), watched={}).outcome is CANNOT_SAY


def test_a_connection_that_was_not_seen_from_its_beginning_says_less() -> None:
    """A client that may have asked before it was watched is no client that never asks."""
    newest = {**OF_3_9, FETCH: Range(0, 3)}
    assert predicted((FETCH, 3), watched=newest).outcome is BREAKS
    found = predicted((FETCH, 3), watched=newest, missed=True)
    assert found.outcome is CANNOT_SAY
    assert "not known whether the client asks" in found.decisions[0].sentence


def test_what_breaks_in_any_case_is_said() -> None:
    """A client that uses less than the watched broker serves breaks whether it asks or not."""
    found = predicted((PRODUCE, 2), missed=True)
    assert found.outcome is BREAKS
    assert "knows no newer one" in found.decisions[0].sentence
    assert predicted((PRODUCE, 2), missed=True, watched={}).outcome is CANNOT_SAY


def test_the_sentence_names_the_request_and_the_release() -> None:
    """The deciding request comes first, with the first releases that refuse it."""
    decision = predicted(ASKS, (METADATA, 99), (PRODUCE, 2)).decisions[0]
    assert (decision.api_key, decision.api_version) == (PRODUCE, 2)
    assert decision.refused_since == "4.0"
    assert decision.sentence == (
        "Produce v2 is refused since 4.0; "
        "the client knows no newer one: it used v2, and the watched broker serves up to v11"
    )


def test_an_older_release_is_predicted_too() -> None:
    """A client may know the older version that an older release serves; a version that it used before is refused
    since no release."""
    found = predicted(ASKS, (METADATA, 12), release="apache-kafka-2.3.1")
    assert found.outcome is CANNOT_SAY
    assert found.decisions[-1].refused_since == ""
    assert "the client may know v8 or older as well" in found.decisions[-1].sentence


@pytest.mark.parametrize(
    ("sent", "watched_maximum", "outcome"),
    [((4,), 4, CANNOT_SAY), ((4, 3), 3, SERVED), ((4, 3), 4, CANNOT_SAY), ((3,), 4, SERVED)],
)
def test_asking_itself_is_judged(sent: tuple[int, ...], watched_maximum: int, outcome: PredictedOutcome) -> None:
    """A client that was seen to fall back to an older ApiVersions works with a release that refuses the newer one."""
    watched = {**OF_3_9, 18: Range(0, watched_maximum)}
    requests = [*((18, each) for each in sent), (METADATA, 4)]
    found = predicted(*requests, release="apache-kafka-3.8.1", watched=watched)
    assert found.outcome is outcome


@pytest.mark.parametrize(
    ("api_key", "feature", "first_release", "last_without"),
    [
        (68, "group.version", "apache-kafka-4.0.2", "apache-kafka-3.9.2"),
        (78, "share.version", "apache-kafka-4.2.1", "apache-kafka-4.1.2"),
    ],
)
def test_an_api_needs_its_feature(api_key: int, feature: str, first_release: str, last_without: str) -> None:
    """An API that a release lists while its feature is off is refused there: nothing can be said."""
    version = 0 if api_key == 68 else 1
    watched = {**OF_3_9, api_key: Range(0, version)}
    sent = (ASKS, (METADATA, 12), (api_key, version))
    found = predicted(*sent, watched=watched, release=last_without)
    assert found.outcome is CANNOT_SAY
    assert found.decisions[0].sentence.endswith(
        f"works only with the feature {feature}, which the release does not enable by itself"
    )
    assert predicted(*sent, watched=watched, release=first_release).outcome is SERVED


def test_the_worst_prediction_counts() -> None:
    works, breaks = predicted((METADATA, 1)), predicted((PRODUCE, 0))
    unknown = predicted(ASKS)
    assert worst([works]) is SERVED
    assert worst([works, unknown]) is CANNOT_SAY
    assert worst([unknown, breaks, works]) is BREAKS
    assert worst([]) is CANNOT_SAY


def test_a_release_without_a_table_is_refused_by_name() -> None:
    """The message lists the releases that are known."""
    with pytest.raises(NoSuchRelease, match=r"'apache-kafka-9\.9\.9'.*apache-kafka-4\.4\.0"):
        release_named("apache-kafka-9.9.9")


@pytest.mark.parametrize(
    ("asked", "recorded", "sentence"),
    [
        ("apache-kafka-4.0.1", "apache-kafka-4.0.2", "4.0.1 was not recorded; its message schemas list the same"),
        ("apache-kafka-3.9.1-zookeeper", "apache-kafka-3.9.2-zookeeper", "3.9.1 was not recorded"),
        ("apache-kafka-4.0.1-at-3.9", "apache-kafka-4.0.2-at-3.9", "4.0.1 was not recorded"),
        ("apache-kafka-4.0", "apache-kafka-4.0.2", ""),
        ("apache-kafka-4.0.0", "apache-kafka-4.0.0", ""),
        ("apache-kafka-9.9.9", "apache-kafka-9.9.9", ""),
        ("cp-kafka-8.2.0", "cp-kafka-8.2.0", ""),
    ],
)
def test_a_patch_release_without_a_table_has_that_of_its_line(asked: str, recorded: str, sentence: str) -> None:
    id_, said = with_table(asked)
    assert (id_, said[: len(sentence)]) == (recorded, sentence)


def test_what_older_code_reads_is_not_served() -> None:
    """0.10.0 and 0.10.1 close on no version of Fetch, but serve only those that they list, so no newer one is
    refused since then."""
    served = [each for each in range(20) if release_named("apache-kafka-0.10.1.1").serves(FETCH, each)]
    assert served == [0, 1, 2, 3]
    assert release_named("apache-kafka-2.3.1").refused_since(FETCH, 16) == ""
    assert release_named("apache-kafka-4.4.0").refused_since(FETCH, 3) == "4.0"
    # 4.0.1 serves it again, so not the entire line refuses it.
    assert release_named("apache-kafka-4.0.0").refused_since(JOIN_GROUP, 1) == "4.0.0"


def test_a_release_at_an_old_level_refuses_what_its_features_gate() -> None:
    """4.4.0 after an upgrade from 3.9 that was not finalized serves no group of KIP-848 until it is."""
    group_heartbeat = 68
    old = predicted((group_heartbeat, 0), release="apache-kafka-4.4.0-at-3.9")
    assert [old.outcome, predicted((group_heartbeat, 0)).outcome] == [
        PredictedOutcome.CANNOT_SAY,
        SERVED,
    ]
    assert "group.version" in old.decisions[0].sentence
    assert release_named("apache-kafka-4.4.0-at-3.9").refused_since(FETCH, 3) == "4.0"
    with pytest.raises(NoSuchRelease, match=r"cannot run at level '2\.8'; it can at 3\.3"):
        release_named("apache-kafka-4.4.0-at-2.8")


@pytest.mark.parametrize(
    ("requests", "outcome"),
    [
        # As franz-go 1.19.1, which fails there, and kafka-clients 4.4.0, which does not, send them to 4.4.0.
        pytest.param([(PRODUCE, 12), (INIT_PRODUCER_ID, 5), (END_TXN, 5)], CANNOT_SAY, id="transactions-v2"),
        pytest.param([(TXN_OFFSET_COMMIT, 5)], CANNOT_SAY, id="offsets-in-transactions-v2"),
        # As kafka-clients 4.4.0 sends them to 4.4.0 at the levels of 3.9.
        pytest.param([(PRODUCE, 11), (INIT_PRODUCER_ID, 5), (ADD_PARTITIONS, 3), (END_TXN, 4)], SERVED, id="before-v2"),
        pytest.param([(PRODUCE, 13)], SERVED, id="no-transaction"),
    ],
)
def test_transactions_v2_leave_open_what_a_client_does_at_an_old_level(
    requests: list[tuple[int, int]], outcome: PredictedOutcome
) -> None:
    old = predicted(ASKS, *requests, release="apache-kafka-4.4.0-at-3.9")
    assert old.outcome is outcome
    assert all("transaction.version 2" in each.sentence for each in old.decisions) is (outcome is CANNOT_SAY)
    assert predicted(ASKS, *requests).outcome is SERVED


NEXT = cut_release(given_table("JoinGroup 5+, Fetch 4-12, no DescribeCluster"), release_named("apache-kafka-4.4.0"))
"""A release that does not exist yet."""


@pytest.mark.parametrize(
    ("sent", "outcome", "sentence"),
    [
        ((JOIN_GROUP, 7), SERVED, ""),
        (
            (JOIN_GROUP, 4),
            BREAKS,
            "JoinGroup v4 is refused since JoinGroup 5+, Fetch 4-12, no DescribeCluster; the client knows no newer one: "
            "it used v4, and the watched broker serves up to v9",
        ),
        ((FETCH, 3), BREAKS, "Fetch v3 is refused since 4.0; the client knows no newer one"),
    ],
)
def test_release_that_does_not_exist_yet_is_predicted(
    sent: tuple[int, int], outcome: PredictedOutcome, sentence: str
) -> None:
    seen = ObservedRequests()
    for key, version in (ASKS, (METADATA, 12), sent):
        seen.add(CLIENT, key, version)
    prediction = predict(seen, CLIENT, {**OF_3_9, JOIN_GROUP: Range(0, 9)}, NEXT)
    assert prediction.outcome is outcome
    assert "".join(each.sentence for each in prediction.decisions).startswith(sentence)


def test_table_leaves_what_is_listed_and_refused_as_it_was() -> None:
    """Produce is listed from v0 on and refused below v3, as before."""
    assert NEXT.profile.api_keys[0] == release_named("apache-kafka-4.4.0").profile.api_keys[0]
    assert (NEXT.serves(PRODUCE, 2), NEXT.serves(PRODUCE, 3)) == (False, True)
    assert NEXT.served(FETCH) == (4, 12)


def needing(operation: str, *needs: ApiNeeds) -> dict[tuple[str, str], list[ClientNeeds]]:
    """Return measured needs of one operation of a client that names itself."""
    apis = (replace(MEASURED_METADATA, used=(12,)), *needs)
    measured = OperationNeeds(operation=operation, apis=apis)
    return {("lib", "1.0"): [ClientNeeds(client="lib", name="lib-1.0", release="3.9.2", operations=(measured,))]}


def joined(*measured: dict[tuple[str, str], list[ClientNeeds]]) -> dict[tuple[str, str], list[ClientNeeds]]:
    """Return the needs of one client in several operations."""
    clients = [client for each in measured for (client,) in each.values()]
    operations = tuple(operation for client in clients for operation in client.operations)
    return {("lib", "1.0"): [replace(clients[0], operations=operations)]}


NAMED = ClientIdentity("app", "127.0.0.1", software_name="lib", software_version="1.0")
JOIN_GROUP_V0 = replace(
    MEASURED_JOIN_GROUP,
    minimum=Edge(version=0, failure=Probe(removed="JoinGroup 1+", outcome=ProbeOutcome.BREAKS, detail="it hangs")),
)
GIVES_UP = Probe(removed="JoinGroup 1+", outcome=ProbeOutcome.GIVES_UP, detail="it switches off Sasl")


@pytest.mark.parametrize(
    ("measured", "release", "outcome", "sentence"),
    [
        (needing("metadata"), "apache-kafka-4.0.0", PredictedOutcome.WORKS, ""),
        (
            needing("consume-in-group", JOIN_GROUP_V0),
            "apache-kafka-4.0.0",
            BREAKS,
            "it needs JoinGroup v0, which is not listed, although it does not send it; without it consume-in-group "
            "breaks: it hangs",
        ),
        (needing("consume-in-group", JOIN_GROUP_V0), "apache-kafka-4.0.2", PredictedOutcome.WORKS, ""),
        (
            needing("consume", replace(JOIN_GROUP_V0, minimum=Edge(version=0, failure=GIVES_UP))),
            "apache-kafka-4.0.0",
            CANNOT_SAY,
            "it needs JoinGroup v0, which is not listed",
        ),
        (
            needing("metadata", replace(JOIN_GROUP_V0, minimum=Edge(version=0, failure=GIVES_UP))),
            "apache-kafka-4.0.0",
            SERVED,
            "it needs JoinGroup v0, which is not listed",
        ),
        (
            {},
            "apache-kafka-4.0.0",
            SERVED,
            "every request that was seen is served, but the needs of lib 1.0 were not measured: rehearse it, because it "
            "may read minimums",
        ),
        # What it was not seen to do needs nothing.
        (
            joined(
                needing("metadata"),
                needing("consume-in-group", JOIN_GROUP_V0, replace(MEASURED_METADATA, api_key=FETCH)),
            ),
            "apache-kafka-4.0.0",
            PredictedOutcome.WORKS,
            "",
        ),
        # It may be about to do this.
        (
            needing("consume-in-group", JOIN_GROUP_V0, replace(MEASURED_METADATA, api_key=FETCH)),
            "apache-kafka-4.0.0",
            SERVED,
            "it needs JoinGroup v0, which is not listed",
        ),
        # The worst that is known of a need counts, whichever operation showed it first.
        (
            joined(
                needing("metadata", replace(JOIN_GROUP_V0, minimum=Edge(version=0, failure=GIVES_UP))),
                needing("consume-in-group", JOIN_GROUP_V0),
            ),
            "apache-kafka-4.0.0",
            BREAKS,
            "it needs JoinGroup v0, which is not listed, although it does not send it; without it consume-in-group breaks",
        ),
    ],
)
def test_measured_needs_say_more_than_what_was_sent(
    measured: dict[tuple[str, str], list[ClientNeeds]], release: str, outcome: PredictedOutcome, sentence: str
) -> None:
    seen = ObservedRequests()
    for key, version in (ASKS, (METADATA, 12)):
        seen.add(NAMED, key, version)
    prediction = predict(seen, NAMED, OF_3_9, release_named(release), measured)
    assert prediction.outcome is outcome
    assert "".join(each.sentence for each in prediction.decisions).startswith(sentence)


def test_requests_of_unmeasured_operations_leave_open_what_they_need() -> None:
    seen = ObservedRequests()
    for key, version in (ASKS, (METADATA, 12), (INIT_PRODUCER_ID, 4), (END_TXN, 3)):
        seen.add(NAMED, key, version)
    prediction = predict(seen, NAMED, OF_3_9, release_named("apache-kafka-4.4.0"), needing("metadata"))
    assert prediction.outcome is SERVED
    assert "what it needs for InitProducerId, EndTxn was not measured" in prediction.decisions[0].sentence


def test_client_that_never_named_itself_says_so() -> None:
    (decision,) = predicted(ASKS, (METADATA, 12)).decisions
    assert decision.sentence.startswith("every request that was seen is served, but it never said which software it is")
    assert decision.command == (
        "kafka-conformance watch --bootstrap-server HOST:PORT --for apache-kafka-4.4.0 --rehearse apache-kafka-4.4.0"
    )


def test_needs_that_come_with_the_suite_have_the_names_that_clients_state() -> None:
    """Of librdkafka the version has two parts."""
    assert {("confluent-kafka-python", "2.8.2-rdkafka-2.8.0"), ("kafka-python", "3.0.12")} <= measured_needs().keys()
