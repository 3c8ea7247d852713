"""The properties of clients on prepared plays: each passes a good client, and fails a bad one with a sentence that names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from clauses.marks import NEEDS as NEEDS_MARK
from conformance.clients import (
    test_broker_releases,
    test_fallback,
    test_first_request,
    test_overlap,
    test_rebootstrapping,
    test_robustness,
    test_success,
)
from conformance.roles.client import NEEDS
from fixtures.client_processes.driver_process import DriverResult
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.script import EMPTY, Answer, Script
from strategies.broker_scripts import (
    broker_up_to,
    broker_with,
    metadata_ranges,
    refusal_with_metadata,
    table_in_every_refusal,
)
from strategies.cluster_scripts import healthy_cluster, rebootstrapping, replaced_cluster
from strategies.connection_scripts import closing_broker
from strategies.hypothesis_adapter import body_of, is_drawn, pinned_examples
from strategies.nonsense_scripts import healing, refused_for_name, talking_nonsense, without_answer
from strategies.release_scripts import broker_of
from tests.conformance.client_plays import ABORTED, FAILED, HEALTHY, STOPPED, WELL, FakeClient
from tests.reference_model.clients.recordings import (
    asked,
    listing,
    opened,
    recorded,
    refused,
    refused_with,
    sent,
)

MODULES = (
    test_fallback,
    test_first_request,
    test_overlap,
    test_rebootstrapping,
    test_robustness,
    test_success,
)


def properties() -> Iterator[Any]:
    """Yield every property of a client."""
    for module in MODULES:
        for name, member in vars(module).items():
            if name.startswith("test_") and is_drawn(member):
                yield member


PROPERTIES = tuple(properties())
OVERLAP = broker_with(metadata_ranges(0, 4))
NO_OVERLAP = broker_with(metadata_ranges(60, 70))
REFUSED = Answer(error_code=42, table=EMPTY)
MISROUTED = Answer(error_code=129, table=EMPTY)
HEALS = healing(Answer(cut_to=1))
OLD_IDS = ("scripted-cluster-00000", 1)
OK = WELL


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
            test_fallback.test_client_falls_back_to_v0,
            broker_up_to(0),
            recorded(asked(4, refused()), asked(0, at_ms=1), sent(12, at_ms=2)),
            OK,
            id="falls-back",
        ),
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
            test_overlap.test_no_overlap_is_an_error,
            NO_OVERLAP,
            recorded(asked(4, listing((3, 60, 70)))),
            FAILED,
            id="no-overlap-is-an-error",
        ),
        pytest.param(
            test_overlap.test_newest_common_version_is_used,
            OVERLAP,
            recorded(asked(4, listing((3, 0, 4))), sent(1), sent(4), script=OVERLAP),
            OK,
            id="newest-common-version",
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
        pytest.param(
            test_robustness.test_refused_name_is_an_error,
            refused_for_name(),
            recorded(asked(4, REFUSED), connections=(opened(closed_ms=5),)),
            FAILED,
            id="refused-name",
        ),
        pytest.param(
            test_robustness.test_client_works_again_with_a_healthy_broker,
            HEALS,
            recorded(asked(4, at_ms=800), sent(12, at_ms=900), script=HEALS),
            STOPPED,
            id="recovers",
        ),
        pytest.param(
            test_rebootstrapping.test_misrouted_client_recovers,
            replaced_cluster(),
            recorded(asked(5, MISROUTED, at_ms=5), sent(12, at_ms=9, connection=1)),
            STOPPED,
            id="misrouted-client-recovers",
        ),
    ],
)
def test_good_client_passes(
    property_: Callable[..., None], script: Script, recording: Any, result: DriverResult
) -> None:
    """A client that does what the clause asks for, or for which it asks nothing, passes."""
    assert judge(property_, script, Play(recording=recording, result=result)) == ""


@pytest.mark.parametrize(
    ("property_", "script", "recording", "result", "message"),
    [
        pytest.param(
            test_fallback.test_client_falls_back_to_v0,
            broker_up_to(0),
            recorded(asked(4, refused())),
            FAILED,
            "the client does not work: its operation fails",
            id="no-fallback",
        ),
        pytest.param(
            test_fallback.test_client_uses_the_named_range,
            broker_up_to(2),
            recorded(asked(4, refused((0, 2))), asked(3, at_ms=1)),
            OK,
            "ApiVersions v3 on connection 0 was sent after v4 was refused with the range v0 to v2 below it",
            id="ignores-the-range",
        ),
        pytest.param(
            test_fallback.test_versions_descend_to_an_end,
            broker_up_to(2),
            recorded(asked(4), connections=(opened(api_versions_requests=47_781),)),
            FAILED,
            "the client loops on one connection: 1 ApiVersions request in 2.0 s",
            id="loops",
        ),
        pytest.param(
            test_fallback.test_table_of_a_refusal_is_not_used,
            refusal_with_metadata(2, 1),
            recorded(
                asked(4, refused((0, 2)), is_served=False), asked(2, at_ms=1), sent(1, at_ms=2)
            ),
            OK,
            "the client sends Metadata up to v1, and not up to v12, as without a refusal",
            id="keeps-the-table-of-a-refusal",
        ),
        pytest.param(
            test_fallback.test_refusal_is_never_taken_for_a_success,
            table_in_every_refusal(4),
            recorded(asked(0, refused_with(metadata_ranges(1, 4))), sent(4)),
            OK,
            "Metadata v4 on connection 0 was sent as UNSUPPORTED_VERSION lists it, without a table",
            id="ignores-the-error-code",
        ),
        pytest.param(
            test_overlap.test_version_lies_in_the_overlap,
            broker_with(metadata_ranges(0, 13)),
            recorded(asked(4)),
            FAILED,
            "the client does not work: its operation fails",
            id="fails-with-an-overlap",
        ),
        pytest.param(
            test_overlap.test_no_overlap_is_an_error,
            NO_OVERLAP,
            recorded(asked(4, listing((3, 60, 70))), sent(6)),
            FAILED,
            "the client sends Metadata v6, although the broker lists v60 to v70",
            id="sends-without-an-overlap",
        ),
        pytest.param(
            test_overlap.test_newest_common_version_is_used,
            OVERLAP,
            recorded(asked(4, listing((3, 0, 4))), sent(1), script=OVERLAP),
            OK,
            "the client sends Metadata up to v1, and not up to v4, which both sides know",
            id="older-version",
        ),
        pytest.param(
            test_overlap.test_each_connection_has_its_own_table,
            closing_broker(1),
            recorded(asked(4), sent(12), sent(12, connection=1)),
            OK,
            "Metadata v12 on connection 1 was sent before any ApiVersions request on that connection",
            id="asks-once",
        ),
        pytest.param(
            test_overlap.test_unknown_keys_change_nothing,
            broker_up_to(5),
            recorded(asked(4), sent(1)),
            OK,
            "the client sends Metadata up to v1, and not up to v12, as usual",
            id="unknown-keys-confuse",
        ),
        pytest.param(
            test_broker_releases.test_client_that_never_asks_sends_what_every_release_has,
            broker_of("4.0.2"),
            recorded(sent(12), sent(2, api_key=1), script=broker_of("4.0.2")),
            OK,
            "the client never asks for versions and sends Fetch v2, of which release 4.0.2 supports v4 to v17",
            id="sends-what-was-dropped",
        ),
        pytest.param(
            test_first_request.test_client_begins_with_its_newest_version,
            closing_broker(1),
            recorded(asked(3), sent(12)),
            OK,
            "ApiVersions v3 on connection 0 is the first request there, but the client knows v4",
            id="begins-low",
        ),
        pytest.param(
            test_first_request.test_client_names_itself_legally,
            broker_up_to(5),
            recorded(asked(4, software=("a b", "1"))),
            OK,
            "ApiVersions v4 on connection 0 has an illegal software name: 'a b'",
            id="illegal-name",
        ),
        pytest.param(
            test_first_request.test_header_of_the_response_has_no_tags,
            broker_up_to(3),
            recorded(asked(4, refused((0, 3)), is_served=False), asked(3, at_ms=1)),
            FAILED,
            "the client does not work: its operation fails",
            id="reads-a-flexible-header",
        ),
        pytest.param(
            test_robustness.test_refused_name_is_an_error,
            refused_for_name(),
            recorded(asked(4, REFUSED), connections=(opened(closed_ms=None, closed_by=""),)),
            FAILED,
            "connection 0 stays open for 2000 ms after INVALID_REQUEST",
            id="keeps-the-connection",
        ),
        pytest.param(
            test_robustness.test_refused_name_is_an_error,
            refused_for_name(),
            recorded(asked(4, REFUSED), connections=(opened(closed_ms=5),)),
            OK,
            "the application gets no error: its operation succeeds",
            id="hides-the-error",
        ),
        pytest.param(
            test_robustness.test_broker_before_api_versions_is_survived,
            without_answer(),
            recorded(asked(4)),
            replace(WELL, outcome=None, killed_for="time", signal="SIGKILL"),
            "the client's process hangs: it has to be killed",
            id="hangs",
        ),
        pytest.param(
            test_robustness.test_nonsense_is_survived,
            talking_nonsense(Answer(cut_to=1)),
            recorded(asked(4, Answer(cut_to=1))),
            ABORTED,
            "the client's process is aborted by SIGABRT",
            id="aborts",
        ),
        pytest.param(
            test_robustness.test_client_works_again_with_a_healthy_broker,
            HEALS,
            recorded(asked(4, Answer(cut_to=1)), script=HEALS),
            FAILED,
            "the client does not work again after the broker healed",
            id="never-recovers",
        ),
        pytest.param(
            test_rebootstrapping.test_bootstrapping_client_sends_no_ids,
            healthy_cluster(),
            recorded(asked(5, ids=OLD_IDS), sent(12)),
            OK,
            "ApiVersions v5 on connection 0 gives a cluster id or node id before the client got metadata",
            id="guesses-ids",
        ),
        pytest.param(
            test_rebootstrapping.test_client_with_metadata_sends_both_ids,
            healthy_cluster(),
            recorded(
                asked(5),
                sent(12),
                asked(5, connection=1, at_ms=5),
                connections=(opened(), opened(1, at_ms=5)),
            ),
            OK,
            "ApiVersions v5 on connection 1 gives no ids although the client knows the broker from metadata",
            id="never-sends-ids",
        ),
        pytest.param(
            test_rebootstrapping.test_rebootstrapping_client_works_again,
            rebootstrapping(),
            recorded(asked(5, MISROUTED), script=rebootstrapping()),
            FAILED,
            "the client does not work again after the broker healed",
            id="stays-misrouted",
        ),
        pytest.param(
            test_rebootstrapping.test_misrouted_client_forgets_what_it_knew,
            replaced_cluster(),
            recorded(asked(5, MISROUTED), asked(5, at_ms=1)),
            FAILED,
            "ApiVersions v5 on connection 0 was sent after ApiVersions got REBOOTSTRAP_REQUIRED there",
            id="uses-the-connection-after-misrouting",
        ),
        pytest.param(
            test_rebootstrapping.test_misrouted_client_recovers,
            replaced_cluster(),
            recorded(*(asked(5, MISROUTED, connection=n, at_ms=n) for n in range(6))),
            FAILED,
            "the client is misrouted again and again: 6 times",
            id="learns-nothing-from-misrouting",
        ),
        pytest.param(
            test_rebootstrapping.test_misrouted_client_recovers,
            replaced_cluster(),
            recorded(sent(12), asked(5, MISROUTED, at_ms=5)),
            FAILED,
            "the client does not get metadata any more",
            id="no-metadata-after-misrouting",
        ),
        pytest.param(
            test_rebootstrapping.test_client_that_may_not_compare_ids_sends_none,
            healthy_cluster(options=("without_cluster_check",)),
            recorded(asked(5, ids=OLD_IDS), sent(12)),
            OK,
            "ApiVersions v5 on connection 0 gives a cluster id or node id: ('scripted-cluster-00000', 1)",
            id="cannot-be-disabled",
        ),
        pytest.param(
            test_rebootstrapping.test_broker_that_compares_no_ids_is_used_as_before,
            healthy_cluster(newest=4),
            recorded(asked(4, body=None, problem="5 bytes too many"), sent(12)),
            OK,
            "ApiVersions v4 cannot be decoded: 5 bytes too many",
            id="ids-in-an-old-version",
        ),
    ],
)
def test_bad_client_fails(
    property_: Callable[..., None],
    script: Script,
    recording: Any,
    result: DriverResult,
    message: str,
) -> None:
    """A client that breaks the clause fails, and the first line says how."""
    assert judge(property_, script, Play(recording=recording, result=result)) == message


def test_healthy_client_passes_where_nothing_is_special() -> None:
    """The healthy play passes the properties whose scripts let a client work as usual."""
    for property_, script in (
        (test_overlap.test_unknown_keys_change_nothing, broker_up_to(5)),
        (test_overlap.test_each_connection_has_its_own_table, closing_broker(1)),
        (test_first_request.test_client_begins_with_its_newest_version, closing_broker(1)),
        (test_first_request.test_client_names_itself_legally, broker_up_to(5)),
        (test_first_request.test_header_of_the_response_has_no_tags, broker_up_to(5)),
        (test_robustness.test_nonsense_is_survived, talking_nonsense(Answer(trailing=b"a"))),
        (test_robustness.test_broker_before_api_versions_is_survived, without_answer()),
    ):
        assert judge(property_, script, HEALTHY) == ""
