"""Scripts of clusters whose finalized features decide what a transaction may use.

Source: KIP-584 and KIP-890.

The client does one transaction after the other. No level 0 is listed, because another clause is about that.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from reference_model.clients.rules.transaction_versions import FIRST_LEVEL_OF_V2, TRANSACTION_VERSION
from reference_model.clients.scripts.script import TRANSACTIONS, Answer, ConnectionScript, Script, Table, one_node
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from strategies.broker_scripts import FAILURE_MS
from strategies.cluster_scripts import kept_asking
from wire.api_keys import GET_TELEMETRY_SUBSCRIPTIONS_KEY, PUSH_TELEMETRY_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.primitives import INT16_MAX

ENOUGH_FOR_TRANSACTIONS = 24
"""How many responses two or three transactions take, with what comes before them.

Each takes five below level 2, and six if its client is a member of a group that sends a heartbeat before the end."""
FIRST_TRANSACTION_IS_OVER = 9
"""After how many responses a connection closes on which a client may do all of its first transaction."""
TRANSACTIONS_MS = 15_000
"""On a busy machine a JVM takes half of it for its first transaction; other clients have seen enough after 2 s."""
EPOCH = 7
MAX_EPOCH = 2**40
_MIN_EPOCH = -(2**63)
TABLE = Table(removed=(GET_TELEMETRY_SUBSCRIPTIONS_KEY, PUSH_TELEMETRY_KEY))
"""The healthy table without telemetry, which no scripted broker answers, and which producers send by themselves."""
WITHOUT_FEATURES = Answer(table=TABLE)
LOOK_ALIKES = ("x.transaction.version", "transaction.version.x", "Transaction.Version", "transaction_version")
_OTHER_FEATURES = {
    each.name: each.max_version
    for each in profile_of(NEWEST_RELEASE).supported_features
    if each.name != TRANSACTION_VERSION
}
"""Kafka's other features, with the highest level of each."""

Level = tuple[str, int]
"""The name of a feature, and its level."""


def finalized(*levels: Level, epoch: int = EPOCH, highest: int = 1) -> Answer:
    """Return a healthy response with features that are finalized.

    Args:
        levels: the features, in this order.
        epoch: their epoch.
        highest: the highest level that the broker supports of each, if it is above that of the cluster.
    """
    return Answer(
        table=TABLE,
        supported_features=tuple((name, 1, max(level, highest)) for name, level in levels),
        finalized_features=tuple((name, level, level) for name, level in levels),
        finalized_features_epoch=epoch,
    )


def at_level(level: int, *, epoch: int = EPOCH, highest: int = FIRST_LEVEL_OF_V2) -> Answer:
    """Return a healthy response with a level of transaction.version."""
    return finalized((TRANSACTION_VERSION, level), epoch=epoch, highest=highest)


def only_supported(*levels: Level, epoch: int = -1) -> Answer:
    """Return a healthy response with features of which the broker supports levels, and the cluster has none.

    With an epoch that is Kafka's level 0, which no broker lists.
    """
    return Answer(
        table=TABLE,
        supported_features=tuple((name, 1, level) for name, level in levels),
        finalized_features_epoch=epoch,
    )


def at_level_0(epoch: int) -> Answer:
    """Return a healthy response of a cluster at level 0 of transaction.version."""
    return only_supported((TRANSACTION_VERSION, FIRST_LEVEL_OF_V2), epoch=epoch)


AT_LEVEL_1 = at_level(1)
AT_LEVEL_2 = at_level(2)


def transacting(*nodes: tuple[ConnectionScript, ...]) -> Script:
    """Return a script of nodes, each with scripts of its connections; the client does some transactions.

    The first node is the coordinator, the last one leads every partition.
    """
    asking = kept_asking(*nodes, ends_after=ENOUGH_FOR_TRANSACTIONS, options=(TRANSACTIONS,))
    return replace(asking, timeout_ms=TRANSACTIONS_MS)


def transactions_with(*answers: Answer, newest: int = NEWEST_VERSION) -> Script:
    """Return a script of nodes that always give one response each.

    Args:
        answers: the response of each node.
        newest: the newest version of ApiVersions that they support.
    """
    return transacting(*((ConnectionScript(newest_version=newest, answers=(each,)),) for each in answers))


def transactions_along(*answers: Answer) -> Script:
    """Return a script of one node: its first connection gives the first response, the second one the second, and so on.

    Each but the last one is closed when a first transaction may be over.
    """
    *others, last = answers
    closing = (ConnectionScript(answers=(each,), closes_after=FIRST_TRANSACTION_IS_OVER) for each in others)
    return transacting((*closing, ConnectionScript(answers=(last,))))


CONTROL = transactions_with(AT_LEVEL_2)
"""The script of a healthy cluster with transaction V2: it shows which versions a client uses there."""
AT_LEVEL_1_ALONE = transactions_with(AT_LEVEL_1)
"""The script of a cluster without it: it shows whether a client looks at the level."""


def levels_of_others() -> st.SearchStrategy[tuple[Level, ...]]:
    """Some of Kafka's other features, in any order, each at a level that the newest release supports."""
    names = st.lists(st.sampled_from(sorted(_OTHER_FEATURES)), unique=True)
    return names.flatmap(
        lambda drawn: st.tuples(*(st.tuples(st.just(name), st.integers(1, _OTHER_FEATURES[name])) for name in drawn))
    )


def _epochs() -> st.SearchStrategy[int]:
    return st.integers(0, MAX_EPOCH)


def _among(others: tuple[Level, ...], level: int, place: int) -> tuple[Level, ...]:
    """Return the levels of other features, with that of transaction.version among them."""
    return (*others[:place], (TRANSACTION_VERSION, level), *others[place:])


def clusters_below_level_2() -> st.SearchStrategy[Script]:
    """Clusters of one or two brokers without transaction V2, whatever they support and else have finalized."""
    at_a_level = st.builds(
        lambda others, level, place, **numbers: finalized(*_among(others, level, place), **numbers),
        levels_of_others(),
        st.integers(1, FIRST_LEVEL_OF_V2 - 1),
        st.integers(0, len(_OTHER_FEATURES)),
        epoch=_epochs(),
        highest=st.integers(1, 3),
    )
    without = st.builds(lambda others, epoch: finalized(*others, epoch=epoch), levels_of_others(), _epochs())
    unfinalized = st.builds(
        lambda highest, epoch: only_supported((TRANSACTION_VERSION, highest), epoch=epoch),
        st.integers(1, 3),
        st.integers(-1, MAX_EPOCH),
    )
    newest = st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION)
    flexible = st.builds(
        lambda answer, nodes, newest: transactions_with(*[answer] * nodes, newest=newest),
        at_a_level | without | unfinalized,
        st.integers(1, 2),
        newest,
    )
    return flexible | st.integers(0, FIRST_FLEXIBLE_VERSION - 1).map(
        lambda old: transactions_with(AT_LEVEL_2, newest=old)
    )


def clusters_with_transaction_v2() -> st.SearchStrategy[Script]:
    """Clusters at level 2 of transaction.version, or at a later one that no client knows, within what they support."""
    levels = st.integers(FIRST_LEVEL_OF_V2, INT16_MAX)
    return st.builds(
        lambda level, more, epoch: transactions_with(
            at_level(level, highest=min(level + more, INT16_MAX), epoch=epoch)
        ),
        levels,
        st.integers(0, 3),
        _epochs(),
    )


def clusters_with_unknown_features() -> st.SearchStrategy[Script]:
    """Clusters that have finalized features which no client knows, before and after transaction.version."""
    names = st.sampled_from((*LOOK_ALIKES, "x", "feature-" * 30))
    unknown = st.dictionaries(names, st.integers(1, INT16_MAX), min_size=1, max_size=4).map(
        lambda drawn: tuple(drawn.items())
    )
    return st.builds(
        lambda others, level, place: transactions_with(finalized(*_among(others, level, place))),
        unknown,
        st.integers(1, FIRST_LEVEL_OF_V2),
        st.integers(0, 4),
    )


def clusters_without_an_epoch() -> st.SearchStrategy[Script]:
    """Clusters whose brokers have no epoch, all of them or some after others, with features or without."""
    alone = st.integers(FIRST_LEVEL_OF_V2, 3).map(lambda level: transactions_with(at_level(level, epoch=-1)))
    later = st.builds(
        lambda known, epoch, level, script: script(at_level(known, epoch=epoch), at_level(level, epoch=-1)),
        st.integers(1, FIRST_LEVEL_OF_V2),
        _epochs(),
        st.integers(1, FIRST_LEVEL_OF_V2),
        _CHANGES,
    )
    gone = _epochs().map(lambda epoch: transactions_along(at_level(FIRST_LEVEL_OF_V2, epoch=epoch), WITHOUT_FEATURES))
    return alone | later | gone


_CHANGES = st.sampled_from((transactions_with, transactions_along))
"""How a second response differs from the first: it is that of another broker, or of a later connection."""


def clusters_with_an_older_epoch() -> st.SearchStrategy[Script]:
    """Clusters in which an older epoch follows a newer one, with another level: one broker is not up to date."""
    return st.builds(
        lambda older, by, level, script: script(at_level(level, epoch=older + by), at_level(3 - level, epoch=older)),
        _epochs(),
        st.integers(1, 9),
        st.integers(1, FIRST_LEVEL_OF_V2),
        _CHANGES,
    )


def clusters_that_change_a_level() -> st.SearchStrategy[Script]:
    """Clusters in which a newer epoch follows an older one, with another level."""
    listed = st.builds(
        lambda older, by, level, script: script(at_level(level, epoch=older), at_level(3 - level, epoch=older + by)),
        _epochs(),
        st.integers(1, 9),
        st.integers(1, FIRST_LEVEL_OF_V2),
        _CHANGES,
    )
    down_to_0 = st.builds(
        lambda older, by: transactions_along(at_level(FIRST_LEVEL_OF_V2, epoch=older), at_level_0(older + by)),
        _epochs(),
        st.integers(1, 9),
    )
    return listed | down_to_0 | st.integers(1, FIRST_LEVEL_OF_V2).map(changed_level)


def changed_level(level: int) -> Script:
    """Return a script in which a level of transaction.version changes after a first transaction."""
    before = at_level(level, epoch=EPOCH)
    return transactions_along(before, before, at_level(3 - level, epoch=EPOCH + 1))


def levels_twice(first: int, second: int) -> Script:
    """Return a script of a broker that lists transaction.version twice, and a client that does one transaction."""
    return _one_transaction(finalized((TRANSACTION_VERSION, first), (TRANSACTION_VERSION, second)))


def invalid_epoch(level: int, epoch: int) -> Script:
    """Return a script of a broker whose features have an epoch below -1, the one that stands for an unknown one."""
    return _one_transaction(at_level(level, epoch=epoch))


def level_outside(level: int, lowest: int, highest: int) -> Script:
    """Return a script of a broker at a level of transaction.version outside the range that it supports."""
    return _one_transaction(
        Answer(
            table=TABLE,
            supported_features=((TRANSACTION_VERSION, lowest, highest),),
            finalized_features=((TRANSACTION_VERSION, level, level),),
            finalized_features_epoch=EPOCH,
        )
    )


def _one_transaction(answer: Answer) -> Script:
    return one_node(answer, options=(TRANSACTIONS,), timeout_ms=FAILURE_MS)


def nonsensical_features() -> st.SearchStrategy[Script]:
    """Brokers whose features make no sense: listed twice, at a level that they do not support, or of no valid epoch."""
    levels = st.integers(1, 3)
    numbers = st.integers(-1, 3)
    outside = st.tuples(st.integers(-2, 5), numbers, numbers).filter(lambda drawn: not drawn[1] <= drawn[0] <= drawn[2])
    return (
        st.builds(levels_twice, levels, levels)
        | outside.map(lambda drawn: level_outside(*drawn))
        | st.builds(invalid_epoch, st.integers(1, FIRST_LEVEL_OF_V2), st.integers(_MIN_EPOCH, -2))
    )
