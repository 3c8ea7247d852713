"""Scripts that have a name, for those who work with a scripted broker without writing one.

Each stands for a kind of broker that clients and proxies meet; the properties of clients draw many more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from wire.api_keys import METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode

SCRIPTED = "scripted"
"""What names a scripted broker, alone for the healthy one, or with a script as in "scripted+only-v0"."""
FIRST_PRIVATE_KEY = 10_000
"""From here on API keys are private to an implementation."""
_HUGE = 2**31 - 1
_LONG_PAUSE_MS = 2600
_OTHER_CLUSTER = ConnectionScript(cluster_id="another-cluster-00000")


@dataclass(frozen=True, slots=True)
class NamedScript:
    """A script with what it is good for.

    Attributes:
        description: what its broker does, in one sentence.
        script: the script.
    """

    description: str
    script: Script


def _refusing(code: ErrorCode) -> Script:
    return one_node(Answer(error_code=int(code), table=EMPTY))


def _up_to(newest_version: int, refusal: Answer | None = None) -> Script:
    return all_connections(ConnectionScript(newest_version=newest_version, refusal=refusal))


def _with(table: Table) -> Script:
    return one_node(Answer(table=table))


NAMED_SCRIPTS: Mapping[str, NamedScript] = MappingProxyType(
    {
        "healthy": NamedScript("serves every API in every version.", Script()),
        "three-nodes": NamedScript(
            "is a healthy cluster of three nodes.", Script(nodes=(NodeScript(),) * 3)
        ),
        "only-v0": NamedScript("knows only v0 of ApiVersions, and says so.", _up_to(0)),
        "only-v0-without-range": NamedScript(
            "knows only v0, and refuses others without a range, as brokers before KIP-511 did.",
            _up_to(0, Answer(error_code=int(ErrorCode.UNSUPPORTED_VERSION), table=EMPTY, layout=0)),
        ),
        "refuses-v3": NamedScript(
            "refuses the flexible versions of ApiVersions, v3 and later.",
            _up_to(FIRST_FLEXIBLE_VERSION - 1),
        ),
        "private-keys": NamedScript(
            "lists APIs that no client knows, with keys from 10000 on.",
            _with(Table(after=((FIRST_PRIVATE_KEY, 0, 3), (32_767, 0, 0)))),
        ),
        "future-metadata": NamedScript(
            "serves Metadata only in versions that no client has.",
            _with(Table(changed=((METADATA_KEY, 60, 70),))),
        ),
        "empty-table": NamedScript("lists no API at all.", _with(EMPTY)),
        "null-table": NamedScript("sends null for its table.", _with(Table(null=True))),
        "huge-count": NamedScript(
            "announces two billion entries in its table.", _with(Table(claimed_count=_HUGE))
        ),
        "cut-off": NamedScript("ends its table after 20 bytes.", one_node(Answer(cut_to=20))),
        "refuses-names": NamedScript(
            "answers INVALID_REQUEST, as if it disliked the client's software name.",
            _refusing(ErrorCode.INVALID_REQUEST),
        ),
        "demands-rebootstrap": NamedScript(
            "answers REBOOTSTRAP_REQUIRED (KIP-1242) without end.",
            _refusing(ErrorCode.REBOOTSTRAP_REQUIRED),
        ),
        "other-cluster": NamedScript(
            "is another cluster from the second connection on (KIP-1242).",
            all_connections(ConnectionScript(closes_after=1), _OTHER_CLUSTER),
        ),
        "closes": NamedScript(
            "closes the connection instead of answering.", one_node(Answer(action="close"))
        ),
        "silent": NamedScript("never answers.", one_node(Answer(action="silence"))),
        "slow": NamedScript(
            "takes 2.6 s for its table.", one_node(Answer(delay_ms=_LONG_PAUSE_MS))
        ),
    }
)
"""The scripts by name."""


def scripted_name(target_id: str) -> str | None:
    """Return the name of the script in the id of a target, such as "scripted+only-v0"; None for any other target."""
    kind, _, name = target_id.partition("+")
    return (name or "healthy") if kind == SCRIPTED else None
