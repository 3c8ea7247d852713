"""Scripts of brokers that clients are judged with.

The brokers are old or new, have other tables, or have several connections and nodes.

Each strategy varies what one clause is about and fixes everything else. The simplest example of each is the plainest
script of its kind. A play in which the client works ends with that success, so it may take long; one in which it cannot
work ends by the client's own timeout, which is short; one in which the client keeps asking ends after some responses.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    Range,
    Script,
    Table,
    all_connections,
    healthy_ranges,
    one_node,
)
from reference_model.profiles.listeners import PLAINTEXT
from strategies.weights import one_branch
from wire.api_keys import API_VERSIONS_KEY, FIRST_PRIVATE_KEY, METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.error_codes import ErrorCode
from wire.primitives import INT16_MAX, INT16_MIN

SUCCESS_MS = 8000
FAILURE_MS = 3000
"""On a busy machine Java takes half of it to start."""
ENOUGH_RESPONSES = 5
"""How many responses a client gets if it is of interest what it does after its first success."""

MAX_DELAY_MS = 1000
"""How long a correct but slow broker takes for a response at most."""

NEWEST_METADATA = next(high for key, _, high in healthy_ranges() if key == METADATA_KEY)
_KNOWN_KEYS = frozenset(key for key, _, _ in healthy_ranges())


_REFUSED_BASES = ("empty", "healthy", "2.8.2")


def metadata_ranges(low: int, high: int) -> Table:
    """Return the healthy table with another range of Metadata."""
    return Table(changed=((METADATA_KEY, low, high),))


def refusal(*ranges: tuple[int, int]) -> Answer:
    """Return UNSUPPORTED_VERSION in the layout of v0, with these ranges of ApiVersions and nothing else."""
    entries = tuple((API_VERSIONS_KEY, low, high) for low, high in ranges)
    return _refusal_with(Table(base="empty", after=entries))


def _refusal_with(table: Table) -> Answer:
    return Answer(error_code=int(ErrorCode.UNSUPPORTED_VERSION), table=table, layout=0)


REFUSAL_WITHOUT_RANGE = refusal()
"""What brokers before KIP-511 answer."""


# Old brokers: the versions of ApiVersions.


def broker_up_to(newest: int, refused_with: Answer | None = None, *, timeout_ms: int = SUCCESS_MS) -> Script:
    """Return a script of a broker that supports ApiVersions up to a version.

    Args:
        newest: the version.
        refused_with: what a newer version gets; None for the refusal that names the range.
        timeout_ms: `FAILURE_MS` if a client need not recover from the refusal.
    """
    connection = ConnectionScript(newest_version=newest, refusal=refused_with)
    return all_connections(connection, timeout_ms=timeout_ms)


def old_versions() -> st.SearchStrategy[int]:
    """Versions of ApiVersions before names were added to it."""
    return st.integers(0, FIRST_FLEXIBLE_VERSION - 1)


def brokers_that_name_their_range() -> st.SearchStrategy[Script]:
    """Brokers up to any version but the newest, which refuse a newer one with their range."""
    return st.integers(0, NEWEST_VERSION - 1).map(broker_up_to)


def brokers_that_name_flexible_versions() -> st.SearchStrategy[Script]:
    """Brokers that refuse the newest version and support an older one that has the client's name."""
    return st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION - 1).map(broker_up_to)


def brokers_before_named_ranges() -> st.SearchStrategy[Script]:
    """Brokers that refuse every version but v0, without a range; some are slow."""
    delays = st.integers(0, 150)
    return delays.map(lambda delay: broker_up_to(0, replace(REFUSAL_WITHOUT_RANGE, delay_ms=delay)))


def ranges_without_a_lower_version() -> st.SearchStrategy[tuple[tuple[int, int], ...]]:
    """Ranges of ApiVersions that name no version below a refused one: too high, reversed, negative, or none at all."""
    too_high = st.integers(NEWEST_VERSION + 1, 100).map(lambda low: ((low, low + 3),))
    reversed_ = st.integers(1, NEWEST_VERSION).map(lambda low: ((low, low - 1),))
    negative = st.integers(-100, -1).map(lambda high: ((high - 2, high),))
    extreme = st.sampled_from((((INT16_MAX, INT16_MAX),), ((INT16_MIN, -1),)))
    return st.just(()) | too_high | reversed_ | negative | extreme


def broker_that_refuses_what_it_named(named: int) -> Script:
    """Return a script of a broker that names a range of versions and then refuses its last version.

    The range ends with an old version. The second refusal is on the same connection and has no range.
    """
    first = replace(refusal((0, named)), from_version=FIRST_FLEXIBLE_VERSION)
    second = replace(REFUSAL_WITHOUT_RANGE, from_version=1)
    return one_node(first, second, Answer(), timeout_ms=FAILURE_MS)


def brokers_with_useless_ranges() -> st.SearchStrategy[Script]:
    """Brokers that support v0 alone and refuse other versions with an unusable range.

    The range names no lower version, or only an older version that the broker refuses as well.
    """
    refusals = ranges_without_a_lower_version().map(lambda ranges: refusal(*ranges))
    useless = refusals.map(lambda each: broker_up_to(0, each, timeout_ms=FAILURE_MS))
    return useless | old_versions().map(broker_that_refuses_what_it_named)


def brokers_with_odd_ranges() -> st.SearchStrategy[Script]:
    """Brokers whose refusals name the refused version again, a duplicate range, or one version less each time."""
    again = st.integers(NEWEST_VERSION, 100).map(lambda high: refusal((0, high)))
    double = old_versions().map(lambda high: refusal((0, high), (0, high)))
    steps = st.integers(1, NEWEST_VERSION).map(descending_refusals)
    return (again | double).map(
        lambda each: broker_up_to(FIRST_FLEXIBLE_VERSION - 1, each, timeout_ms=FAILURE_MS)
    ) | steps


def always_answering(answer: Answer, *, listener: str = PLAINTEXT) -> Script:
    """Return a script of a broker that answers every ApiVersions request alike; a client need not work with it."""
    return one_node(answer, listener=listener, timeout_ms=FAILURE_MS)


def descending_refusals(newest: int) -> Script:
    """Return a script that refuses the first requests of each connection, with one version less each time."""
    steps = (refusal((0, high)) for high in range(newest, -1, -1))
    return one_node(*steps, Answer(), timeout_ms=FAILURE_MS)


def tables_in_refusals() -> st.SearchStrategy[Script]:
    """Brokers whose refusal also lists other APIs than ApiVersions, although it is not their table."""
    return st.builds(
        refusal_with_metadata,
        old_versions(),
        st.integers(0, 1),
        base=st.sampled_from(_REFUSED_BASES),
    )


def refusal_with_metadata(newest: int, metadata: int, *, base: str = "empty") -> Script:
    """Return a script of a broker up to a version, whose refusal lists Metadata too, with a low range.

    Args:
        newest: the newest version of ApiVersions.
        metadata: the highest version of Metadata that the refusal lists; the broker's table lists all.
        base: the base of the refusal's table.
    """
    entries: tuple[Range, ...] = (
        (METADATA_KEY, 0, metadata),
        (API_VERSIONS_KEY, 0, newest),
    )
    return broker_up_to(newest, _refusal_with(Table(base=base, changed=entries)))


def flexible_brokers() -> st.SearchStrategy[Script]:
    """Brokers that support a flexible version at least; some are slow, or write in pieces."""
    answers = st.builds(
        lambda pieces, delay_ms: Answer(pieces=pieces, delay_ms=min(delay_ms, MAX_DELAY_MS // pieces)),
        st.integers(1, 5),
        st.integers(0, 500),
    )
    connections = st.builds(
        ConnectionScript,
        newest_version=st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
        answers=st.tuples(answers),
    )
    return connections.map(lambda each: all_connections(each, timeout_ms=SUCCESS_MS))


def flexible_versions() -> st.SearchStrategy[Script]:
    """Healthy brokers whose newest ApiVersions version is flexible.

    Nothing but the header of the response may disturb a client.
    """
    return st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION).map(broker_up_to)


def table_in_every_refusal(metadata: int) -> Script:
    """Return a script of a broker that refuses every version, with a table that lists Metadata from v1 to some version.

    v0 is not listed, because some clients send it blindly.
    """
    return always_answering(_refusal_with(metadata_ranges(1, metadata)))


def tables_in_every_refusal() -> st.SearchStrategy[Script]:
    """Brokers that refuse every version, each time with a complete table."""
    return st.integers(1, NEWEST_METADATA - 1).map(table_in_every_refusal)


# Tables.


def broker_with(table: Table, *, timeout_ms: int = SUCCESS_MS) -> Script:
    """Return a script of a broker with a table."""
    return one_node(Answer(table=table), timeout_ms=timeout_ms)


def _parts_of_metadata() -> st.SearchStrategy[tuple[int, int]]:
    """The lowest and the highest of some versions of Metadata that follow each other."""
    highs = st.integers(0, NEWEST_METADATA)
    return highs.flatmap(lambda high: st.tuples(st.integers(0, high), st.just(high)))


def brokers_with_metadata_ranges() -> st.SearchStrategy[Script]:
    """Brokers that support a part of the versions of Metadata."""
    return _parts_of_metadata().map(lambda ends: broker_with(metadata_ranges(*ends)))


def range_of_metadata(script: Script) -> tuple[int, int]:
    """Return the first range of Metadata in the tables of a script."""
    ranges = (each for answer in script.answers for each in answer.table.ranges_of(METADATA_KEY))
    return next(ranges)


def listed_versions(script: Script, api_key: int = METADATA_KEY) -> str:
    """Return what the first table of a script lists of an API, in words."""
    ranges = next(iter(script.answers)).table.ranges_of(api_key)
    return " and ".join(f"v{low} to v{high}" for low, high in ranges) or "no version of it"


def broker_with_older_apis(low: int, high: int, newest: int) -> Script:
    """Return a script of a broker that supports a range of Metadata, and other APIs up to a version.

    Args:
        low: the lowest version of Metadata.
        high: its highest version.
        newest: the highest version of every other API, if the healthy broker supports a higher one.
    """
    others = (
        (key, lowest, min(highest, max(lowest, newest)))
        for key, lowest, highest in healthy_ranges()
        if key not in (METADATA_KEY, API_VERSIONS_KEY)
    )
    return broker_with(Table(changed=((METADATA_KEY, low, high), *others)))


def brokers_with_older_apis() -> st.SearchStrategy[Script]:
    """Brokers that support a part of the versions of Metadata, from v0 or later on, and few versions of other APIs."""
    return st.builds(
        lambda ends, newest: broker_with_older_apis(ends[0], ends[1], newest),
        _parts_of_metadata(),
        st.integers(0, 8),
    )


def tables_without_overlap() -> st.SearchStrategy[Table]:
    """Tables with no version of Metadata that exists: too high, none, reversed or negative."""
    too_high = st.builds(metadata_ranges, st.integers(60, 1000), st.integers(1000, INT16_MAX))
    reversed_ = st.builds(metadata_ranges, st.integers(7, NEWEST_METADATA), st.integers(INT16_MIN, 6))
    negative = st.builds(metadata_ranges, st.integers(INT16_MIN, -3), st.integers(-3, -1))
    missing = st.just(Table(removed=(METADATA_KEY,)))
    return too_high | missing | one_branch(reversed_) | negative


def brokers_without_overlap() -> st.SearchStrategy[Script]:
    """Brokers with `tables_without_overlap`."""
    return tables_without_overlap().map(lambda table: broker_with(table, timeout_ms=FAILURE_MS))


def unknown_keys() -> st.SearchStrategy[int]:
    """API keys that no release has: newer ones, private ones, and negative ones."""
    newer = st.integers(max(_KNOWN_KEYS) + 1, FIRST_PRIVATE_KEY - 1)
    private = st.integers(FIRST_PRIVATE_KEY, INT16_MAX)
    return newer | private | st.integers(INT16_MIN, -1) | keys_like_known_ones()


def keys_like_known_ones() -> st.SearchStrategy[int]:
    """API keys that no release has, and whose low byte is the key of an API that exists."""
    highs = st.integers(1, INT16_MAX >> 8) | st.integers(INT16_MIN >> 8, -1)
    return st.builds(lambda key, high: key + (high << 8), st.sampled_from(sorted(_KNOWN_KEYS)), highs)


def broker_with_twins(high_byte: int, low: int, high: int, *, where: str = "after") -> Script:
    """Return a script of a broker that lists, for each API, another one whose key has the same low byte.

    Args:
        high_byte: the high byte of these keys; negative for negative keys.
        low: their lowest version.
        high: their highest version.
        where: the attribute of `Table` that says where they stand.
    """
    keys = sorted(_KNOWN_KEYS)
    entries = tuple((key + (high_byte << 8), low, high) for key in keys)
    return broker_with(Table(**{where: entries}))  # type: ignore[arg-type]


def unknown_tags() -> st.SearchStrategy[tuple[tuple[int, bytes], ...]]:
    """Up to three tagged fields that no client knows, by ascending tag."""
    values = st.binary(max_size=20) | st.just(bytes(300))
    fields = st.dictionaries(st.integers(10, 2**31 - 1), values, max_size=3)
    return fields.map(lambda drawn: tuple(sorted(drawn.items())))


def features() -> st.SearchStrategy[tuple[tuple[str, int, int], ...]]:
    """Up to three features with ordered ranges above level 0, which another clause is about."""
    names = st.sampled_from(("metadata.version", "kraft.version", "x", "feature-" * 30))
    levels = st.integers(1, INT16_MAX)
    ranges = st.tuples(levels, levels).map(sorted)
    return st.dictionaries(names, ranges, max_size=3).map(
        lambda drawn: tuple((name, low, high) for name, (low, high) in drawn.items())
    )


def tables_with_unknown_keys() -> st.SearchStrategy[Table]:
    """The healthy table and a few or up to 40 entries that no client knows, in their place or at either end."""
    few = st.dictionaries(unknown_keys(), st.integers(0, 20), max_size=5)
    many = st.dictionaries(unknown_keys(), st.integers(0, 20), min_size=20, max_size=40)
    entries = (few | many).map(lambda drawn: tuple((key, 0, high) for key, high in drawn.items()))
    fields = st.sampled_from(("changed", "after", "before"))
    return st.builds(lambda where, ranges: Table(**{where: ranges}), fields, entries)


def brokers_of_the_future() -> st.SearchStrategy[Script]:
    """Healthy brokers with APIs, tagged fields and features that no client knows."""
    finalized = features().map(lambda drawn: tuple((name, high, low) for name, low, high in drawn))
    answers = st.builds(
        Answer,
        table=tables_with_unknown_keys(),
        unknown_tags=unknown_tags(),
        supported_features=features(),
        finalized_features=finalized,
        finalized_features_epoch=st.just(-1) | st.integers(0, 2**40),
    )
    return answers.map(lambda answer: one_node(answer, timeout_ms=SUCCESS_MS))
