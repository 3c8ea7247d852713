"""Plays the plays of findings to a client.

The player in Go judges by what holds for any client in any play; the property for which a play was made sees more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from conformance.commands.replay import NoLongerApplies, failure_of_vector, still_fails
from conformance.failures.drawn_values import UnreadableValues
from conformance.vectors.results import FAIL, PASS, SKIP
from fixtures.errors import HarnessError
from fixtures.registry.clients import Client
from fixtures.scripted_broker.playing import PlayPool
from fixtures.under_test.client import ClientUnderTest, client_under_test
from workflows.findings_by_vector.player import play
from workflows.findings_by_vector.tried import TriedProduct


def try_client(client: Client, ids: Sequence[str], player: Path) -> TriedProduct:
    """Play some plays to a client, first by the player, then by the property of each.

    Raises:
        HarnessError: it cannot be installed, or fails with a healthy broker.
    """
    by_player = _results(play(player, client, ids, parallel=1))
    with closing(PlayPool(1)) as pool, client_under_test(client, pool) as judged:
        judged.healthy  # noqa: B018 - raises if the client fails even with a healthy broker.
        by_property = {each: _by_property(each, judged) for each in ids}
    failed = {each: failure_of_vector(each).clause for each in ids if FAIL in (by_player[each], by_property[each])}
    left = [each for each in ids if each not in failed]
    return TriedProduct(
        id=client.id,
        failed=dict(sorted(failed.items())),
        by_property=tuple(sorted(each for each in failed if by_player[each] != FAIL)),
        passed=tuple(sorted(each for each in left if PASS in (by_player[each], by_property[each]))),
        left_out={each: by_property[each] for each in sorted(left) if PASS not in (by_player[each], by_property[each])},
    )


def _results(printed: str) -> dict[str, str]:
    """Return the result of each play that the player printed."""
    lines = (json.loads(line) for line in printed.splitlines() if line.startswith("{"))
    return {each["id"]: each["result"] for each in lines}


def _by_property(vector_id: str, judged: ClientUnderTest) -> str:
    """Return pass or fail; a reason if the property cannot judge the play."""
    try:
        return PASS if still_fails(failure_of_vector(vector_id), judged) is None else FAIL
    except (NoLongerApplies, HarnessError, UnreadableValues) as error:
        return " ".join(str(error).split()) or SKIP
