"""Named scripts for people who use a scripted broker without writing a script.

Each stands for a kind of broker that clients and proxies meet; the properties of clients draw many more.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from reference_model.clients.scripts.script import (
    EMPTY,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    all_connections,
    one_node,
)
from wire.api_keys import FIRST_PRIVATE_KEY, METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode

SCRIPTED = "scripted"
"""What names a scripted broker, alone for the healthy one, or with a script as in "scripted+only-v0"."""
_HUGE = 2**31 - 1
LONG_PAUSE_MS = 2600
"""All pauses of a slow broker together. The shortest time that a library waits by default for a table is 2 s, the
next one 10 s."""
_OTHER_CLUSTER = ConnectionScript(cluster_id="another-cluster-00000")


def _refusing(code: ErrorCode) -> Script:
    return one_node(Answer(error_code=int(code), table=EMPTY))


def _up_to(newest_version: int, refusal: Answer | None = None) -> Script:
    return all_connections(ConnectionScript(newest_version=newest_version, refusal=refusal))


def _with(table: Table) -> Script:
    return one_node(Answer(table=table))


NAMED_SCRIPTS: Mapping[str, Script] = MappingProxyType(
    {
        "healthy": Script(),
        "three-nodes": Script(nodes=(NodeScript(),) * 3),
        "only-v0": _up_to(0),
        # As brokers before KIP-511.
        "only-v0-without-range": _up_to(
            0, Answer(error_code=int(ErrorCode.UNSUPPORTED_VERSION), table=EMPTY, layout=0)
        ),
        "refuses-v3": _up_to(FIRST_FLEXIBLE_VERSION - 1),
        "private-keys": _with(Table(after=((FIRST_PRIVATE_KEY, 0, 3), (32_767, 0, 0)))),
        # Versions of Metadata that no client has.
        "future-metadata": _with(Table(changed=((METADATA_KEY, 60, 70),))),
        "empty-table": _with(EMPTY),
        "null-table": _with(Table(null=True)),
        "huge-count": _with(Table(claimed_count=_HUGE)),
        "cut-off": one_node(Answer(cut_to=20)),
        "refuses-names": _refusing(ErrorCode.INVALID_REQUEST),
        # KIP-1242, without end.
        "demands-rebootstrap": _refusing(ErrorCode.REBOOTSTRAP_REQUIRED),
        # From the second connection on (KIP-1242).
        "other-cluster": all_connections(ConnectionScript(closes_after=1), _OTHER_CLUSTER),
        "closes": one_node(Answer(action="close")),
        "silent": one_node(Answer(action="silence")),
        "slow": one_node(Answer(delay_ms=LONG_PAUSE_MS)),
    }
)
"""The scripts by name, which says what the broker does."""


def scripted_name(target_id: str) -> str | None:
    """Return the name of the script in the id of a target, such as "scripted+only-v0"; None for any other target."""
    kind, _, name = target_id.partition("+")
    return (name or "healthy") if kind == SCRIPTED else None
