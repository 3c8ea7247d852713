"""Defects that only the reference model sees."""

from __future__ import annotations

from reference_model.defects.registry import defect, success_in, version_of
from reference_model.state_machine import Handling, Stage
from wire.error_codes import ErrorCode


@defect(Stage.REACTION, "MODEL.agrees-with-reference")
def nodes_are_not_checked(handling: Handling) -> None:
    """Cluster and node ids of another broker are not noticed."""
    if handling.reaction.error_code is ErrorCode.REBOOTSTRAP_REQUIRED:
        handling.reaction = success_in(version_of(handling))
