"""Plays the plays of findings to a client.

The player in Go judges by what holds for any client in any play; the property for which a play was made sees more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from conformance.commands.replay import failure_of_vector, found_again
from conformance.failures.drawn_values import UnreadableValues
from conformance.vectors.results import FAIL, PASS
from fixtures.errors import HarnessError
from fixtures.registry.clients import Client
from fixtures.scripted_broker.playing import PlayPool
from fixtures.under_test.client import ClientUnderTest, client_under_test
from reports.wording.escaping import one_line
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
    return sum_up(client.id, by_player, by_property)


def sum_up(id_: str, by_player: Mapping[str, str], by_property: Mapping[str, str]) -> TriedProduct:
    """Return what came of the plays of a client.

    The property decides, because it knows when the machine was too slow to tell; then the play counts as not tried.

    Args:
        id_: the client's id.
        by_player: the result of each play by the player.
        by_property: the same by its property, or why that could not tell.
    """
    failed = [each for each, result in by_property.items() if result == FAIL]
    passed = [each for each, result in by_property.items() if result == PASS]
    return TriedProduct(
        id=id_,
        failed={each: failure_of_vector(each).clause for each in sorted(failed)},
        by_property=tuple(sorted(each for each in failed if by_player.get(each) != FAIL)),
        passed=tuple(sorted(passed)),
        left_out={},
    )


def _results(printed: str) -> dict[str, str]:
    """Return the result of each play that the player printed."""
    lines = (json.loads(line) for line in printed.splitlines() if line.startswith("{"))
    return {each["id"]: each["result"] for each in lines}


def _by_property(vector_id: str, judged: ClientUnderTest) -> str:
    """Return pass or fail; a reason if the property cannot tell."""
    try:
        sentence, status = found_again(failure_of_vector(vector_id), judged)
    except (HarnessError, UnreadableValues) as error:
        return one_line(str(error))
    return {0: PASS, 1: FAIL}.get(status) or one_line(sentence)
