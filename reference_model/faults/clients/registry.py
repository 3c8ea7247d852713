"""The registry of planted faults of the model client.

`--client model+<name>` runs the model client with the fault.
"""

from __future__ import annotations

from reference_model.faults.planted import Faults

FAULTS = Faults()
"""Every planted fault, by name."""

fault = FAULTS.planting
"""Registers the decorated subclass of `ModelClient` as a fault, by the clauses that it breaks."""
