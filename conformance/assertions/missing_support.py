"""What a broker lacks for a client's operation, and whether an error names it.

Source: KIP-97.

A client may refuse a broker that lacks something, with an error that names it. A broker whose table has all that is
needed gives it no reason to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from clauses.operations import Operation
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.read_response import Ranges, ReadResponse, ResponseKind
from reference_model.clients.scripts.recording import Recording
from reference_model.profiles.known_apis import known_apis, label_of
from reference_model.profiles.profile import RECORDED_RELEASES, profile_of

_TYPES = re.compile(
    r"(?<![A-Za-z])(?:UnsupportedVersion(?:Exception|Error)?|UnsupportedForMessageFormat(?:Exception|Error)"
    r"|IncompatibleBrokerVersion|_UNSUPPORTED_FEATURE|UNSUPPORTED_VERSION|UNSUPPORTED_FOR_MESSAGE_FORMAT"
    r"|KafkaJSServerDoesNotSupportApiKey|PLT_KFK_UNSUPPORTED_API)\b"
    # Errors of libraries in Go are values without a type: their whole text is their name.
    r"|broker is too old; the broker has already indicated|version of API is not supported"
)
"""Exceptions and error codes that libraries have for one thing alone: the broker is too old for what was asked."""
_LACKS = re.compile(
    r"not (?:be )?support|unsupported|too old|incompatible|requires?\b|no (?:common |matching )?version"
    r"|matching version|does not (?:have|list|know)",
    re.IGNORECASE,
)
"""Words that say that something is missing, but not what: "SASL mechanism GSSAPI is not supported" has them as well."""
_VERSIONS = re.compile(
    r"\bAPI \d+\b|\b[Bb]rokers?(?:'s)? (?:version|(?:is|are) too old)|\b[Vv]ersion of the broker"
    # No version has four numbers of which the first is not 0; an address does.
    r"|(?:\b[Bb]rokers?|\bKafka)[^.:;]{0,20}\b(?!0\.0\.0\.0|[1-9]\d*(?:\.\d+){3})\d+\.\d+"
    r"|(?<!IP )(?<!SSL )(?<!TLS )\bv\d+\b(?!\.)"
)
"""The name of an API without a name, the version of a broker, or a version of an API."""


def names_what_is_missing(detail: str) -> bool:
    """Return whether an error says what the broker lacks.

    It says so by its type, or by the name of an API, a feature or a version.
    """
    if _TYPES.search(detail):
        return True
    return bool(_LACKS.search(detail) and (_VERSIONS.search(detail) or _names().search(detail)))


@cache
def _names() -> re.Pattern[str]:
    """Return a pattern that finds the names of APIs and features.

    API names may look like DescribeConfigsRequest_v0 or DESCRIBE_CONFIGS. Features are those of KIP-584.
    """
    apis = [known.name for known in known_apis().values()]
    in_capitals = (re.sub(r"\B(?=[A-Z])", "_", name).upper() for name in apis)
    features = {feature.name for release in RECORDED_RELEASES for feature in profile_of(release).supported_features}
    named = "|".join(map(re.escape, (*apis, *in_capitals, *sorted(features))))
    return re.compile(rf"(?<![A-Za-z.])(?:{named})(?![a-z])")


def version_needed(api_key: int, at_most: int) -> int:
    """Return the version of an API that a client of today may need at most.

    Args:
        api_key: the API.
        at_most: the version that what it does takes. Kafka's own clients dropped the versions of brokers before 2.1
            (KIP-896), so a client may need a later one.
    """
    known = known_apis().get(api_key)
    if known is None or known.range is None:
        return at_most
    return max(at_most, known.range.lowest)


def missing_in(ranges: Ranges, needs: Mapping[int, int]) -> list[str]:
    """Return what the table of a broker lacks of some APIs, such as "Fetch v4"; nothing if it has all of them.

    Args:
        ranges: what the table lists.
        needs: API key to the version that the operation takes.
    """
    return [
        f"{label_of(api_key)} v{version}"
        for api_key, at_most in needs.items()
        for version in [version_needed(api_key, at_most)]
        if not any(0 <= low <= high >= version for low, high in ranges.get(api_key, ()))
    ]


def missing_for(operation: Operation, recording: Recording, detail: str) -> list[str] | None:
    """Return what brokers lack for an operation, according to the tables that a client received.

    Return None if the client received no table.

    What a broker has dropped again counts as missing too if the error names it and the client sent nothing of it: then
    it may be the client that is too old, and no recording shows that.
    """
    tables = [
        move.response
        for move in History(recording).moves
        if move.response is not None and move.response.kind is ResponseKind.TABLE
    ]
    if not tables:
        return None
    sent = {each.api_key for each in recording.requests}
    unused = {key for key in operation.needs if key not in sent}
    lacks = (each for table in tables for each in _missing(table, operation, unused, detail))
    return list(dict.fromkeys(lacks))


def _missing(table: ReadResponse, operation: Operation, unused: set[int], detail: str) -> Iterator[str]:
    yield from missing_in(table.ranges, operation.needs)
    for name, level in operation.features.items():
        if table.finalized_features.get(name, 0) < level:
            yield f"{name} {level}"
    for api_key in sorted(unused):
        lowest = min((low for low, _ in table.ranges.get(api_key, ())), default=0)
        if lowest > 0 and re.search(rf"(?<![A-Za-z]){label_of(api_key)}(?![a-z])", detail):
            yield f"{label_of(api_key)} v0 to v{lowest - 1}"
