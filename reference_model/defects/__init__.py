"""Planted defects: wrong behaviour on purpose, to show that the suite sees it.

One module per source of clauses; `registry.py` says what a defect is.
"""

from reference_model.defects import kip_035, kip_482, kip_511, model, protocol
from reference_model.defects.registry import DEFECTS, Defect

__all__ = ["DEFECTS", "Defect", "kip_035", "kip_482", "kip_511", "model", "protocol"]
