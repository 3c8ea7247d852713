"""Planted defects of brokers, to show that the suite detects wrong behaviour.

There are one or more modules per source of clauses. `registry.py` defines what a defect is.
"""

from reference_model.faults.broker import (
    connections,
    features,
    fields_of_other_apis,
    framing,
    gated_apis,
    histories,
    kip_035,
    kip_035_versions,
    kip_482,
    kip_511,
    kip_1242,
    later_requests,
    listeners,
    model,
    neighbours,
    older_levels,
    other_apis,
    out_of_step,
    protocol,
    protocol_headers,
    refusals,
    sasl,
    software_metrics,
    transactions,
    unlisted_apis,
)
from reference_model.faults.broker.registry import DEFECTS, Defect, defects_of

__all__ = ["DEFECTS", "Defect", "defects_of"]
