"""The words in which properties of clients' operations with releases are written.

A property module imports all of them, and nothing else but the standard library, pytest and Hypothesis.
"""

from __future__ import annotations

from clauses.operations import OPERATIONS

# What is asserted, and how it is judged
from conformance.assertions.brokers_at_fault import contradictions
from conformance.assertions.client_moves import check_environment, gives_ids
from conformance.assertions.errors import Unjudged
from conformance.assertions.newest_versions import assert_newest_common_versions, newest_versions
from conformance.assertions.operation_results import assert_operates, assert_survives_rerouting, failure_of
from conformance.assertions.play_summary import summary
from conformance.engine.property_judge import JUDGE

# What is judged
from fixtures.recording_proxy.recorded_trial import ReroutedPlay, TriedPlay
from fixtures.under_test.trial import Trial
from reports.wording.verdict_labels import BROKER_DOUBT
