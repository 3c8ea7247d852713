"""What the reference broker responds to the requests of a failure.

Each response is one allowed response, not the only one. The reference broker runs without a socket. It is left out if
its responses would say nothing about the target: on SASL listeners, if a request can name a cluster, or if no table of
the target's release is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference_model.broker.model.state_machine import BrokerConnection, ReferenceBroker
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.reaction import Identity, NotModelled
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    KIP_TEXT,
    NEWEST_RELEASE,
    REFERENCE,
    Profile,
    ProfileError,
    profile_of_target,
)
from reports.run.conversation import ByteRow
from reports.run.frame_rows import BARE_ANSWER, answer_rows, bare_rows, layout_of_answer
from reports.tables.target_rows import GridTarget
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES
from wire.headers import read_request_start

_IDENTITY = Identity(cluster_id="reference-cluster-0000", node_id=1)
_FIRST_VERSION_WITH_IDS = 5
_KEY_AND_VERSION_END = 8
_CLOSED, _SILENT, _ANSWER = "closed", "no answer", "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """The reference broker's response to one request.

    Attributes:
        what: "answer", "closed" or "no answer".
        rows: the bytes of a response.
        by_own_table: whether the request is for another API. The response then depends on the versions that the
            reference broker advertises, which may differ from the target's.
    """

    what: str
    rows: Sequence[ByteRow]
    by_own_table: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether its last row is bytes that were not decoded and may contain fields."""
        return bool(self.rows) and self.rows[-1].path in ("", BARE_ANSWER)


def expected_answers(facts: Mapping[str, Any], target: GridTarget) -> list[ExpectedAnswer]:
    """Send the requests of a failure to the reference broker with a target's profile, one after the other.

    Args:
        facts: the content of the failure's `failure.json`; it may be foreign.
        target: the target that failed.

    Returns:
        One response per request, in order; empty if the reference broker cannot be compared.
    """
    sent = list(_requests(facts))
    if "sasl" in target.listener or not sent or any(_names_a_cluster(data) for _, data in sent):
        return []
    profile = _profile_of(target)
    if profile is None:
        return []
    broker = ReferenceBroker(profile=profile, identity=_IDENTITY)
    connections: dict[int, BrokerConnection] = {}
    try:
        return [_ask(connections.setdefault(number, broker.connect()), data) for number, data in sent]
    except (DecodeError, NotModelled, KeyError, IndexError):
        return []


def _profile_of(target: GridTarget) -> Profile | None:
    """Return the profile that a target is judged by; None if it is unknown what a broker of that release advertises."""
    try:
        profile = profile_of_target(*_judged_as(target), listener=target.listener, follows=KIP_TEXT)
    except (ProfileError, ValueError):
        return None
    return profile if profile.api_keys else None


def _judged_as(target: GridTarget) -> tuple[str, str, str]:
    """Return id, implementation and release of the target, or of the release that it is judged like."""
    if target.like is None:
        return target.target, target.implementation, target.release
    if target.like == REFERENCE:
        return target.like, REFERENCE, NEWEST_RELEASE
    release, _, _quorum = target.like.removeprefix(f"{APACHE_KAFKA}-").partition("-")
    return target.like, APACHE_KAFKA, release


def _requests(facts: Mapping[str, Any]) -> Iterator[tuple[int, bytes]]:
    """Yield connection and bytes of each request, up to the first that is malformed; none for a foreign file."""
    sent = facts.get("sent")
    for entry in sent if isinstance(sent, list) else ():
        try:
            yield int(entry["connection"]), bytes.fromhex(entry["data"])
        except (KeyError, TypeError, ValueError):
            return


def _names_a_cluster(data: bytes) -> bool:
    key, version, _ = read_request_start(data[SIZE_BYTES:])
    # The fields of an unknown version are not read.
    has_ids = _FIRST_VERSION_WITH_IDS <= version <= NEWEST_VERSION
    return key == API_VERSIONS_KEY and has_ids


def _ask(connection: BrokerConnection, data: bytes) -> ExpectedAnswer:
    connection.receive_data(data)
    answer = connection.data_to_send()
    key, version, _ = read_request_start(data[SIZE_BYTES:])
    of_another_api = len(data) >= _KEY_AND_VERSION_END and key != API_VERSIONS_KEY
    if not answer:
        what = _CLOSED if connection.state is ConnectionState.CLOSED else _SILENT
        return ExpectedAnswer(what=what, rows=(), by_own_table=of_another_api)
    if of_another_api:
        rows = bare_rows(answer, BARE_ANSWER)
    else:
        rows = answer_rows(answer, api_version=layout_of_answer(answer[SIZE_BYTES:], version))
    return ExpectedAnswer(what=_ANSWER, rows=rows, by_own_table=of_another_api)
