"""Well-formed requests of a served version that a broker refuses.

Properties about the content of a refusal use them.
"""

from __future__ import annotations

from hypothesis import strategies as st

from strategies.api_versions import api_versions_requests, build_request
from strategies.cluster_ids import Ids, build_request_with, requests_with_cluster_ids
from strategies.field_values import PLAINLY_ILLEGAL, Software
from strategies.weights import one_branch
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.exchange import Request

ILLEGAL_NAME = build_request(version=FIRST_FLEXIBLE_VERSION, software=Software("a_b", "1"))
"""Gets INVALID_REQUEST."""
WRONG_IDS = build_request_with(Ids("nobody", 7))
"""Gets REBOOTSTRAP_REQUIRED from a broker that checks ids."""
HALF_AN_IDENTITY = build_request_with(Ids(None, 7))
"""Gets INVALID_REQUEST from a broker that knows ids."""


def refused_requests() -> st.SearchStrategy[Request]:
    """Flexible requests with a short illegal name, or with any ids; a broker serves the few of these that are right."""
    names = api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION, software=PLAINLY_ILLEGAL)
    return one_branch(names | one_branch(requests_with_cluster_ids()))
