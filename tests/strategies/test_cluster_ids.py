"""Tests of generated ids: wrong ids, half-given ids and node ids.

Wrong ids differ, half-given ids lack one of two, and node ids fit an int32.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from operator import eq
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.cluster_ids import (
    CLUSTER_ID_VARIANTS,
    Given,
    Ids,
    half_given_ids,
    ids_given,
    node_id_at,
    node_offsets,
    requests_with_cluster_ids,
)
from tests.strategies.search import unmet
from wire.api_versions import NO_NODE, ApiVersionsRequest
from wire.exchange import Request

RIGHT = Ids("abcXYZ-0123456789abcdef", 1)
INT32 = st.integers(-(2**31), 2**31 - 1)


def ids_of(sent: Request) -> Ids:
    """Return the ids that a request gives."""
    body = cast(ApiVersionsRequest, sent.body)
    return Ids(body.cluster_id, body.node_id)


@pytest.mark.parametrize("variant", CLUSTER_ID_VARIANTS)
def test_variant_is_another_cluster_id(variant: str) -> None:
    """Every variant of a cluster id of letters differs from it."""
    assert CLUSTER_ID_VARIANTS[variant]("abcXYZ-0123456789abcdef") != RIGHT.cluster_id


@pytest.mark.parametrize("given_ids", Given, ids=lambda each: each.name)
def test_ids_are_given_as_they_are_named(given_ids: Given) -> None:
    """Ids are right, wrong or missing, as the name of the case says."""
    ids = ids_given(given_ids, RIGHT)
    missing = (ids.cluster_id is None, ids.node_id == NO_NODE)
    assert missing == {
        Given.NEITHER: (True, True),
        Given.CLUSTER_ALONE: (False, True),
        Given.NODE_ALONE: (True, False),
    }.get(given_ids, (False, False))
    assert (ids == RIGHT) is (given_ids is Given.BOTH)


@given(ids=half_given_ids())
def test_half_given_ids_lack_exactly_one(ids: Ids) -> None:
    """Exactly one of the two ids is given."""
    assert (ids.cluster_id is None) != (ids.node_id == NO_NODE)


@given(node_id=INT32, offset=node_offsets())
def test_another_node_id_fits_an_int32(node_id: int, offset: int) -> None:
    """An offset leads to another node id, which wraps around at the ends of int32."""
    other = node_id_at(node_id, offset)
    assert other != node_id
    assert -(2**31) <= other < 2**31


def test_requests_give_both_ids_one_or_none() -> None:
    """A cluster id and a node id are drawn together, alone and not at all."""

    def given_by(sent: Request) -> tuple[bool, bool]:
        ids = ids_of(sent)
        return ids.cluster_id is not None, ids.node_id != NO_NODE

    both = {each: partial(eq, each) for each in product((True, False), repeat=2)}
    assert not unmet(requests_with_cluster_ids().map(given_by), both)
