"""The words in which the properties of clients that follow KIP-1313 are written.

A property module imports all of them, and nothing else but the standard library, pytest and Hypothesis.
"""

from __future__ import annotations

# What is asserted, and how it is judged
from conformance.assertions.client_moves import played

# What is judged
from fixtures.under_test.client import ClientUnderTest

# The proposal
from proposals.kip_1313.client_assertions import assert_client_id_only_first, assert_none
from proposals.kip_1313.client_rules import (
    instance_ids_in,
    missing_ids,
    wrong_ids,
    wrong_layouts,
    wrong_member_ids,
    wrong_reported_ids,
    wrong_telemetry,
)
from proposals.kip_1313.scripts import (
    OLD_TELEMETRY,
    claiming_cluster,
    claiming_clusters,
    cluster_with,
    clusters_with_old_telemetry,
    downgraded_cluster,
    mixed_cluster,
    mixed_clusters,
    replaced_claiming_cluster,
    unreachable_cluster,
)

# What is allowed
from reference_model.clients.scripts.script import Script

# What is drawn
from strategies.secured_scripts import secured
