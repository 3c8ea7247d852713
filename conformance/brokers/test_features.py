"""Tests of features: presence in responses, validity, and stability.

They check where responses carry features, whether these are valid, and whether they stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

FLEXIBLE_REQUESTS = api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION)
OTHER_LISTENERS = tuple(name for name in LISTENERS if name != PLAINTEXT)
NO_EPOCH = -1
REFUSALS = 30
"""Number of examples for properties about refusals, most of which have no features at all."""
LONG_CONNECTION = 51
"""The number of requests on a long connection."""
V3 = build_request(version=3)
UNSERVED = 99
"""A version that no target serves."""
POSSIBLE_CODES = (ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.REBOOTSTRAP_REQUIRED)
"""What a request in a served version with any names and ids may get."""
UPGRADE = 1
"""The type of an update of features that may only raise their levels."""
FEATURE_TAGS = {field.tag for field in ApiVersionsResponse.FIELDS if field.tag is not None}


def features_at(broker: Broker, version: int, history: ConnectionHistory = ALONE) -> ApiVersionsResponse:
    """Return the response at a version, on a connection of its own that may have carried others."""
    _, answer = success_after(broker, history, build_request(version=version))
    return answer


def tags_after_body(exchange: Exchange, *, api_version: int) -> set[int]:
    """Return the tags of a tag section that follows a body without one; empty if none follows."""
    rest = memoryview(bytes_after_body(exchange, api_version=api_version))
    try:
        fields, _ = read_raw_tagged_fields(rest, 0)
    except DecodeError:
        return set()
    return {field.tag for field in fields}


@pytest.mark.needs("features")
@pytest.mark.clause("FEATURES.absent-below-v3")
@given(sent=api_versions_requests(max_version=2), history=histories())
@example(sent=build_request(version=0), history=ALONE)
@example(sent=build_request(version=1), history=ALONE)
@example(sent=build_request(version=2), history=ALONE)
@example(sent=build_request(version=0), history=after(Earlier.NEWEST))
def test_old_answers_carry_no_features(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """Below v3 a response has no tag section with features and names none of them."""
    assume_served(broker, sent)
    exchange, _ = success_after(broker, history, sent)
    assert not tags_after_body(exchange, api_version=sent.api_version) & FEATURE_TAGS, (
        "tagged fields with features follow the body"
    )
    # Whether a body decodes without such fields is judged by separate clauses.
    rest = bytes_after_body(exchange, api_version=sent.api_version)
    if rest:
        newest = features_at(broker, broker.described_version)
        named = [f.name for f in newest.supported_features if f.name and f.name.encode() in rest]
        assert named == [], "the response names features, but its version has no field for them"


@pytest.mark.needs("features")
@pytest.mark.clause("FEATURES.min-zero-only-from-v4")
@given(version=FLEXIBLE_VERSIONS, history=histories())
@example(version=3, history=ALONE)
@example(version=4, history=ALONE)
@example(version=5, history=ALONE)
@example(version=4, history=after(Earlier.NEWEST))
def test_v3_lists_the_features_without_a_zero_minimum(broker: Broker, version: int, history: ConnectionHistory) -> None:
    """v3 lists exactly those features of a later version whose minimum is above 0, with the same ranges."""
    assume(version <= broker.max_version)
    in_v3 = features_at(broker, FIRST_FLEXIBLE_VERSION, history)
    drawn = features_at(broker, version, history).supported_features
    assert_rule(early_zero_minimums, in_v3, FIRST_FLEXIBLE_VERSION)
    assert _ranges(f for f in drawn if f.min_version != 0) == _ranges(in_v3.supported_features), (
        "v3 does not list the same features and ranges as a later version"
    )


def _ranges(features: Iterable[SupportedFeatureKey]) -> set[tuple[str, int, int]]:
    return {(f.name, f.min_version, f.max_version) for f in features}


@pytest.mark.needs("features")
@pytest.mark.clause("FEATURES.ranges-ordered")
@given(sent=FLEXIBLE_REQUESTS, history=histories())
@example(sent=build_request(version=3), history=ALONE)
@example(sent=build_request(version=4), history=ALONE)
@example(sent=build_request(version=3), history=after(Earlier.UNSERVED))
def test_feature_ranges_are_sound(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """Features have ordered ranges and appear once, and finalized levels lie within the supported ranges."""
    assume_served(broker, sent)
    _, answer = success_after(broker, history, sent)
    assert_rule(unsound_features, answer, sent.api_version)


def answers_in_turn(
    broker: Broker, connection: Connection, requests: Iterable[Request]
) -> Iterator[ApiVersionsResponse]:
    """Send requests one after the other, and yield the responses in versions that are served.

    It ends early if there is no such response after tags or a refusal: other clauses are about these.
    """
    is_plain = True
    for sent in requests:
        is_served = sent.api_version <= broker.max_version
        is_plain = is_plain and is_served and not sent.header.unknown_tagged_fields
        (exchange,) = connection.converse([sent])
        try:
            if is_served:
                yield decode_answer(exchange, api_version=sent.api_version)
        except MalformedAnswer:
            if is_plain:
                raise
            return


@pytest.mark.in_order
@pytest.mark.needs("features")
@pytest.mark.clause("FEATURES.epoch-monotone")
@given(
    connections=st.lists(
        st.lists(
            api_versions_requests(
                versions=FLEXIBLE_VERSIONS | st.just(UNSERVED),
                header_tags=st.just(()) | unknown_tagged_fields(),
            ),
            min_size=1,
            max_size=3,
        ),
        max_size=3,
    )
)
@example(connections=[[V3, V3], [V3]])
@example(connections=[[V3, build_request(version=4), build_request(version=5)], [V3]])
@example(connections=[[V3, build_request(version=UNSERVED), V3]])
@example(connections=[[V3], [build_request(version=3, header_tags=(TaggedField(100, b"x"),))]])
@example(connections=[[V3] * LONG_CONNECTION, [V3]])
def test_epoch_of_features_never_falls(broker: Broker, connections: list[list[Request]]) -> None:
    """From response to response and from connection to connection, the epoch of the features never decreases.

    This holds for all responses of the run: those of other properties are compared when each of them ends. An address
    may lead to several nodes: there it holds for each connection.
    """
    answers: list[ApiVersionsResponse] = []
    with ExitStack() as opened:
        for requests in connections:
            connection = opened.enter_context(broker.connect())
            answers += answers_in_turn(broker, connection, requests)
    assume(answers)
    assert_epoch_never_fell(broker)
    without = [a for a in answers if a.finalized_features and a.finalized_features_epoch < 0]
    assert without == [], "features are finalized, but the epoch is missing"


@pytest.mark.needs("features")
@pytest.mark.clause("FEATURES.epoch-monotone")
@settings(max_examples=REFUSALS)
@given(sent=refused_requests(), history=histories())
@example(sent=ILLEGAL_NAME, history=ALONE)
@example(sent=WRONG_IDS, history=ALONE)
@example(sent=HALF_AN_IDENTITY, history=ALONE)
@example(sent=ILLEGAL_NAME, history=after(Earlier.NEWEST))
def test_refusals_have_no_other_epoch(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A refusal has no features' epoch, or one between those of the successes before and after it."""
    assume_served(broker, sent)
    if not carries_features(refusal_of(broker, history, sent)):
        return
    before = features_at(broker, sent.api_version).finalized_features_epoch
    refusal = refusal_of(broker, history, sent)
    after = features_at(broker, sent.api_version).finalized_features_epoch
    epoch = refusal.finalized_features_epoch
    # The nodes that a load balancer leads to learn of a new epoch at different times.
    if epoch != NO_EPOCH and broker.is_one_node:
        assert before <= epoch <= after, (
            f"a refusal has the epoch {epoch}, successes around it have {before} and {after}"
        )
    assert epoch >= 0 or not refusal.finalized_features, "features are finalized in a refusal, but the epoch is missing"


@pytest.mark.needs("features")
@pytest.mark.clause("FEATURES.same-on-repeat")
@settings(max_examples=REFUSALS)
@given(sent=refused_requests(), history=histories())
@example(sent=ILLEGAL_NAME, history=ALONE)
@example(sent=WRONG_IDS, history=ALONE)
@example(sent=HALF_AN_IDENTITY, history=ALONE)
@example(sent=ILLEGAL_NAME, history=after(Earlier.NEWEST))
def test_refusals_list_no_other_features(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A refusal lists no features, or those that a success in the same version lists."""
    assume_served(broker, sent)
    refusal = refusal_of(broker, history, sent)
    if not carries_features(refusal):
        return
    success = features_at(broker, sent.api_version)
    for listed, right in zip(_features_of(refusal), _features_of(success), strict=True):
        assert not listed or listed == right, "a refusal lists other features than a success"


def refusal_of(broker: Broker, history: ConnectionHistory, sent: Request) -> ApiVersionsResponse:
    """Return the response to a request that is not plain.

    Reject the example if no response comes in the version of the request.
    """
    exchange = answer_after(broker, history, sent, *POSSIBLE_CODES)
    return decode_success_or_refusal(exchange, api_version=sent.api_version)


def carries_features(answer: ApiVersionsResponse) -> bool:
    """Return whether a response has features or their epoch."""
    has_epoch = answer.finalized_features_epoch != NO_EPOCH
    return bool(answer.supported_features or answer.finalized_features or has_epoch)


@pytest.mark.needs("features")
@pytest.mark.clause("FEATURES.same-on-repeat")
@given(versions=st.lists(FLEXIBLE_VERSIONS, min_size=2, max_size=LONG_CONNECTION))
@example(versions=[3, 3])
@example(versions=[3, 4, 3])
@example(versions=[3, 4, 5] * (LONG_CONNECTION // 3))
def test_features_are_the_same_on_repeat(broker: Broker, versions: list[int]) -> None:
    """However many requests a connection has, in whatever versions, each returns the features of a new connection."""
    served = [version for version in versions if version <= broker.max_version]
    assume(served)
    sent = [build_request(version=version, correlation_id=index) for index, version in enumerate(served)]
    fresh = {version: _features_of(features_at(broker, version)) for version in set(served)}
    exchanges = broker.converse_in_turn(sent)
    assert_own_ids(exchanges)
    for exchange in exchanges:
        version = exchange.request.api_version
        features = _features_of(decode_answer(exchange, api_version=version))
        assert features == fresh[version], "the features differ from those on a new connection"


def _features_of(answer: ApiVersionsResponse) -> tuple[object, ...]:
    part = stable_part(answer)
    return part.supported_features, part.finalized_features


@pytest.mark.needs("features")
@pytest.mark.clause("FEATURES.same-on-repeat")
@given(versions=st.lists(FLEXIBLE_VERSIONS, min_size=2, max_size=4), history=histories())
@example(versions=[3, 4, 5], history=ALONE)
@example(versions=[3, 4], history=ALONE)
@example(versions=[3, 4, 5], history=after(Earlier.ILLEGAL_NAME))
def test_finalized_levels_do_not_depend_on_the_version(
    broker: Broker, versions: list[int], history: ConnectionHistory
) -> None:
    """Every version that is served gives the same finalized levels, each on a connection of its own."""
    # Many releases serve v3 and nothing above it: there, several connections are compared.
    served = [min(version, broker.max_version) for version in versions]
    levels = []
    for version in served:
        answer = features_at(broker, version, history)
        levels.append(
            {(each.name, each.min_version_level, each.max_version_level) for each in answer.finalized_features}
        )
    different = [version for version, each in zip(served, levels, strict=True) if each != levels[0]]
    assert different == [], f"the finalized levels differ from those at v{served[0]}"


@pytest.mark.listeners(*OTHER_LISTENERS)
@pytest.mark.needs("plaintext", "plaintext_features")
@pytest.mark.clause("FEATURES.listed-on-every-listener")
@given(version=FLEXIBLE_VERSIONS)
@example(version=3)
@example(version=5)
def test_every_listener_lists_features(broker: Broker, version: int) -> None:
    """Every listener lists supported and finalized features if the plaintext one does, also that of a controller."""
    assert_features_as_on(broker, PLAINTEXT, version, tuple(FeatureList), of_one_node=True)


@pytest.mark.listeners(*OTHER_LISTENERS)
@pytest.mark.needs("plaintext", "one_epoch")
@pytest.mark.clause("FEATURES.same-levels-at-one-epoch")
@given(version=FLEXIBLE_VERSIONS)
@example(version=3)
@example(version=5)
def test_levels_are_the_same_at_one_epoch(broker: Broker, version: int) -> None:
    """A listener that names the epoch that the plaintext one names finalizes the same features with the same levels."""
    assume(version <= min(broker.max_version, broker.sibling(PLAINTEXT).max_version))
    responses = responses_at_one_epoch(broker, PLAINTEXT, version)
    if responses is None:
        JUDGE.get().leaves_out("responses at different epochs, which prove nothing")
        return
    assert_same_levels(*responses, PLAINTEXT)


@pytest.mark.listeners(PLAINTEXT)
@pytest.mark.needs("other_nodes", "features")
@pytest.mark.clause("FEATURES.same-levels-on-every-node")
@given(version=FLEXIBLE_VERSIONS)
@example(version=3)
@example(version=5)
def test_nodes_have_the_same_levels_at_one_epoch(broker: Broker, version: int) -> None:
    """Another node of the cluster that names the epoch of the first one finalizes the same features and levels."""
    assume(version <= broker.max_version)
    for node in broker.running.other_nodes:
        assume(version <= broker.sibling(node).max_version)
        responses = responses_at_one_epoch(broker, node, version)
        if responses is None:
            JUDGE.get().leaves_out("responses at different epochs, which prove nothing")
        else:
            assert_same_levels(*responses, node)


@pytest.mark.listeners(PLAINTEXT)
@pytest.mark.needs("finalizing")
@pytest.mark.clause("FEATURES.levels-follow")
@settings(max_examples=1)
@given(upgrade_type=st.just(UPGRADE))
@example(upgrade_type=UPGRADE)
def test_levels_follow_when_they_are_finalized(broker: Broker, upgrade_type: int) -> None:
    """With the levels of its release finalized, each listener and node lists them, at a higher epoch if one rose.

    A release at an older level is started again after that.
    """
    refusals = assert_levels_follow(broker, upgrade_type)
    if refusals:
        codes = ", ".join(repr(ErrorCode(each)) for each in sorted(refusals))
        JUDGE.get().leaves_out(f"the target refuses to finalize the levels of its release: {codes}")
