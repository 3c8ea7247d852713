"""What must hold of any ApiVersions response alone, whatever its table is.

Each rule returns what is wrong in a few words, or an empty text. Properties assert it, and vectors are judged by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_VERSION_WITH_ZERO_MINIMUM, ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.fields import Message

Rule = Callable[[ApiVersionsResponse, int], str]
"""Takes a response and the version in whose layout it was read."""

TAGGED_DEFAULTS = {
    field.tag: (field.name, field.default) for field in ApiVersionsResponse.FIELDS if field.tag is not None
}
"""Name and default of each tagged field of a response, by its tag."""


def unordered_ranges(response: ApiVersionsResponse, _version: int) -> str:
    """Entries need 0 <= min_version <= max_version."""
    wrong = [
        f"{entry.api_key}: v{entry.min_version} to v{entry.max_version}"
        for entry in response.api_keys
        if not 0 <= entry.min_version <= entry.max_version
    ]
    return f"ranges that are negative or in the wrong order: {', '.join(wrong)}" if wrong else ""


def repeated_keys(response: ApiVersionsResponse, _version: int) -> str:
    """No API key stands twice."""
    counts = Counter(entry.api_key for entry in response.api_keys)
    twice = [str(key) for key, count in counts.items() if count > 1]
    return f"API keys that are listed more than once: {', '.join(twice)}" if twice else ""


def unlisted_api_versions(response: ApiVersionsResponse, _version: int) -> str:
    """A success lists ApiVersions itself, from version 0 on."""
    own_range = response.range_of(API_VERSIONS_KEY)
    if own_range is None:
        return "ApiVersions is not listed"
    return "" if own_range.min_version == 0 else f"ApiVersions is listed from v{own_range.min_version}"


def tag_orders(response: ApiVersionsResponse) -> tuple[tuple[int, ...], ...]:
    """Return the tags of every tag section of a response, in wire order."""
    structs: tuple[Message, ...] = (
        response,
        *response.api_keys,
        *response.supported_features,
        *response.finalized_features,
    )
    return tuple(struct.tag_order for struct in structs)


def unordered_tags(response: ApiVersionsResponse, _version: int) -> str:
    """The tags of every tag section ascend, each at most once."""
    for tags in tag_orders(response):
        if tags != tuple(sorted(set(tags))):
            return f"the order of the tags is {', '.join(map(str, tags))}"
    return ""


def sent_defaults(response: ApiVersionsResponse, _version: int) -> str:
    """No known tagged field is sent with its default value."""
    names = [
        name
        for tag, (name, default) in TAGGED_DEFAULTS.items()
        if tag in response.tag_order and getattr(response, name) == default
    ]
    return f"fields at their default are sent: {', '.join(names)}" if names else ""


def negative_throttle_time(response: ApiVersionsResponse, _version: int) -> str:
    """The throttle time is not negative."""
    return f"the throttle time is {response.throttle_time_ms}" if response.throttle_time_ms < 0 else ""


def early_zero_minimums(response: ApiVersionsResponse, version: int) -> str:
    """Before v4 no supported feature has the lowest level 0."""
    if version >= FIRST_VERSION_WITH_ZERO_MINIMUM:
        return ""
    names = [feature.name for feature in response.supported_features if feature.min_version == 0]
    return f"v3 lists features whose minimum is 0: {', '.join(names)}" if names else ""


def unsound_features(response: ApiVersionsResponse, version: int) -> str:
    """Feature ranges are ordered, no name stands twice, and finalized levels lie within the supported range."""
    return next(_feature_faults(response, version), "")


def _feature_faults(response: ApiVersionsResponse, version: int) -> Iterator[str]:
    supported = {feature.name: feature for feature in response.supported_features}
    for features in (response.supported_features, response.finalized_features):
        for name, count in Counter(feature.name for feature in features).items():
            if count > 1:
                yield f"the feature {name} stands twice"
    for feature in response.supported_features:
        if not 0 <= feature.min_version <= feature.max_version:
            yield f"the feature {feature.name} has the range {feature.min_version} to {feature.max_version}"
    for level in response.finalized_features:
        lowest, highest = level.min_version_level, level.max_version_level
        own = supported.get(level.name)
        if not 0 <= lowest <= highest:
            yield f"the feature {level.name} is finalized with the levels {lowest} to {highest}"
        elif own is not None and not own.min_version <= lowest <= highest <= own.max_version:
            yield f"the feature {level.name} is finalized outside its range"
        elif own is None and version >= FIRST_VERSION_WITH_ZERO_MINIMUM:
            yield f"the feature {level.name} is finalized, but not listed as supported"


def missing_epoch(response: ApiVersionsResponse, _version: int) -> str:
    """Finalized features have an epoch."""
    is_missing = response.finalized_features and response.finalized_features_epoch < 0
    return "features are finalized, but the epoch is missing" if is_missing else ""


RULES_OF_RESPONSES: Mapping[str, Rule] = {
    "KIP-482.tags-ascending-in-answers": unordered_tags,
    "KIP-482.default-tags-omitted": sent_defaults,
    "KIP-35.throttle-time": negative_throttle_time,
    "FEATURES.epoch-monotone": missing_epoch,
}
"""Rules for every response that can be read, refusals included, by their clauses."""
RULES_OF_TABLES: Mapping[str, Rule] = {
    "KIP-35.table-lists-itself": unlisted_api_versions,
    "KIP-35.ranges-ordered": unordered_ranges,
    "KIP-35.keys-unique": repeated_keys,
    "FEATURES.min-zero-only-from-v4": early_zero_minimums,
    "FEATURES.ranges-ordered": unsound_features,
}
"""Rules for responses without an error, which have the complete table."""


def table_faults(response: ApiVersionsResponse, version: int) -> Iterator[tuple[str, str]]:
    """Yield the clause of each rule that a response breaks, and what is wrong.

    Args:
        response: the decoded response.
        version: the version in whose layout it was read.
    """
    rules = {**RULES_OF_RESPONSES, **(RULES_OF_TABLES if response.error_code is ErrorCode.NONE else {})}
    for clause, rule in rules.items():
        what = rule(response, version)
        if what:
            yield clause, what
