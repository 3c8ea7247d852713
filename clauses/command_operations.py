"""What a command does for each operation, prints, and leaves in the traffic.

A command of `--client-cmd` that has `{operation}` gets the name of an operation there, and the values of `TaskValues`
in its environment. It prints what it got, and its exit status says whether it succeeded. So the suite checks the
result, and not the command: what it printed is compared with what it was given, and with the bytes that its broker saw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from clauses.operations import METADATA
from wire.api_keys import (
    ALTER_CONFIGS_KEY,
    CONSUMER_GROUP_DESCRIBE_KEY,
    CREATE_TOPICS_KEY,
    DELETE_RECORDS_KEY,
    DESCRIBE_CLUSTER_KEY,
    DESCRIBE_CONFIGS_KEY,
    DESCRIBE_GROUPS_KEY,
    FETCH_KEY,
    INCREMENTAL_ALTER_CONFIGS_KEY,
    LIST_GROUPS_KEY,
    LIST_OFFSETS_KEY,
    METADATA_KEY,
    OFFSET_COMMIT_KEY,
    PRODUCE_KEY,
    SHARE_FETCH_KEY,
    SHARE_GROUP_HEARTBEAT_KEY,
)

NO_SUCH_OPERATION = 89
"""The exit status of a command that does not have the operation."""
REROUTED_WRITES = "rerouted-writes"

_RETENTION = "retention.ms"
_IN_PARTITIONS = tuple(f"RECORD-{partition}-{number}" for partition in range(2) for number in range(3))
_COMMITS = "reads it as the only member of GROUP, from the earliest offset, commits, and asks for the committed offset"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskValues:
    """The names and the record that a command is given for one trial; its tasks have `TOPIC`, `GROUP` and `RECORD`.

    Attributes:
        topic: a topic that does not exist yet.
        group: a group that does not exist yet.
        record: the value of the record.
    """

    topic: str
    group: str
    record: str

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that have them."""
        return {
            "CONFORMANCE_TOPIC": self.topic,
            "CONFORMANCE_GROUP": self.group,
            "CONFORMANCE_RECORD": self.record,
        }

    def fill(self, text: str) -> str:
        """Return a text of a task with these values."""
        return text.replace("TOPIC", self.topic).replace("GROUP", self.group).replace("RECORD", self.record)


@dataclass(frozen=True, slots=True)
class Trace:
    """What is in the traffic if an operation was done.

    Attributes:
        what: a text with `TOPIC`, `GROUP` or `RECORD`; empty if any bytes will do.
        api_keys: the APIs, of which one has it.
        is_in_response: whether a response has it; otherwise a request has.
    """

    what: str
    api_keys: tuple[int, ...]
    is_in_response: bool = False

    @property
    def is_record(self) -> bool:
        """Whether it is part of a record, which may be compressed."""
        return self.what.startswith("RECORD")


@dataclass(frozen=True, slots=True)
class CommandTask:
    """What a command does for one operation.

    Attributes:
        does: what it does, as the end of a sentence with `TOPIC`, `GROUP` and `RECORD`.
        prints: the lines that it prints then, in this order.
        is_list: whether its lines may come in any order, and among others that begin alike.
        traces: what its traffic has then.
    """

    does: str
    prints: tuple[str, ...] = ()
    is_list: bool = False
    traces: tuple[Trace, ...] = ()

    def is_result(self, line: str, values: TaskValues) -> bool:
        """Return whether a line of a command's output is about the result."""
        if self.is_list:
            return line in self._expected(values)
        return line.partition(" ")[0] in {each.partition(" ")[0] for each in self.prints}

    def wrong_lines(self, printed: Sequence[str], values: TaskValues) -> str:
        """Return how the lines about the result differ from what they have to be; empty if they do not."""
        expected = self._expected(values)
        if self.is_list:
            expected = [each for each in expected if each not in printed]
        elif list(printed) == expected:
            expected = []
        if not expected:
            return ""
        if self.is_list or not printed:
            return f"the command does not print {_quoted(expected)}"
        return f"the command prints {_quoted(printed)}, and not {_quoted(expected)}"

    def _expected(self, values: TaskValues) -> list[str]:
        return [values.fill(each) for each in self.prints]


def _quoted(lines: Iterable[str]) -> str:
    return ", ".join(f'"{each}"' for each in lines)


def _read(*records: str) -> tuple[Trace, ...]:
    return tuple(Trace(each, (FETCH_KEY,), is_in_response=True) for each in records)


_WRITES = Trace("RECORD", (PRODUCE_KEY,))
_IN_GROUP = (_WRITES, *_read("RECORD"), Trace("GROUP", (OFFSET_COMMIT_KEY,)))

TASKS: Mapping[str, CommandTask] = MappingProxyType(
    {
        METADATA: CommandTask(
            "fetches metadata; with `{again}` again and again until its time is over",
            traces=(Trace("", (METADATA_KEY, DESCRIBE_CLUSTER_KEY), is_in_response=True),),
        ),
        "list-topics": CommandTask(
            "writes RECORD to TOPIC, and lists the topics",
            ("topic TOPIC",),
            is_list=True,
            traces=(_WRITES, Trace("TOPIC", (METADATA_KEY,), is_in_response=True)),
        ),
        "create-topic": CommandTask(
            "creates TOPIC with 2 partitions and 1 replica, and asks how many it has",
            ("partitions 2",),
            traces=(Trace("TOPIC", (CREATE_TOPICS_KEY,)),),
        ),
        "produce": CommandTask(
            "writes RECORD to partition 0 of TOPIC, with a producer that is not idempotent if it can choose",
            ("offset 0",),
            traces=(_WRITES,),
        ),
        "compressed-produce": CommandTask(
            "writes RECORD, which is long, to partition 0 of TOPIC, compressed with gzip",
            ("offset 0",),
            traces=(_WRITES,),
        ),
        "consume": CommandTask(
            "writes RECORD to partition 0 of TOPIC, and reads it without a group",
            ("record RECORD",),
            traces=(_WRITES, *_read("RECORD")),
        ),
        "consume-partitions": CommandTask(
            "creates TOPIC with 2 partitions and writes 3 records to each in turn, RECORD-0-0, RECORD-1-0, RECORD-0-1 and "
            "so on: the partition, and which one it is; reads those of partition 0, then those of partition 1",
            tuple(f"record {each}" for each in _IN_PARTITIONS),
            traces=(Trace("TOPIC", (CREATE_TOPICS_KEY,)), *_read(*_IN_PARTITIONS)),
        ),
        "offsets-for-times": CommandTask(
            "writes RECORD to partition 0 of TOPIC three times, at least 10 ms apart, and asks for the offset of the first "
            "record since the time of each",
            ("offset 0", "offset 1", "offset 2"),
            traces=(_WRITES, Trace("TOPIC", (LIST_OFFSETS_KEY,), is_in_response=True)),
        ),
        "headers": CommandTask(
            "writes RECORD to partition 0 of TOPIC, with the header `key` whose value is RECORD-header, and reads both",
            ("record RECORD", "header RECORD-header"),
            traces=(_WRITES, *_read("RECORD", "RECORD-header")),
        ),
        "idempotent-produce": CommandTask(
            "writes RECORD to partition 0 of TOPIC with an idempotent producer", ("offset 0",), traces=(_WRITES,)
        ),
        "transactional-produce": CommandTask(
            "writes RECORD-aborted to partition 0 of TOPIC in a transaction and aborts it, writes RECORD in another one and "
            "commits it, and reads the first record with the isolation level read_committed",
            ("record RECORD",),
            traces=(Trace("RECORD-aborted", (PRODUCE_KEY,)), _WRITES, *_read("RECORD")),
        ),
        "consume-in-group": CommandTask(
            f"writes RECORD to partition 0 of TOPIC, {_COMMITS}", ("record RECORD", "committed 1"), traces=_IN_GROUP
        ),
        "list-groups": CommandTask(
            "does what `consume-in-group` does, stays a member, and lists the groups",
            ("group GROUP",),
            is_list=True,
            traces=(*_IN_GROUP, Trace("GROUP", (LIST_GROUPS_KEY,), is_in_response=True)),
        ),
        "describe-groups": CommandTask(
            "does what `consume-in-group` does, stays a member, and asks how many members GROUP has",
            ("members 1",),
            traces=(
                *_IN_GROUP,
                Trace("GROUP", (DESCRIBE_GROUPS_KEY, CONSUMER_GROUP_DESCRIBE_KEY), is_in_response=True),
            ),
        ),
        "describe-configs": CommandTask(
            f"creates TOPIC, and asks for its {_RETENTION}",
            (f"{_RETENTION} 604800000",),
            traces=(Trace("TOPIC", (DESCRIBE_CONFIGS_KEY,), is_in_response=True),),
        ),
        "alter-configs": CommandTask(
            f"creates TOPIC, replaces its configuration by {_RETENTION}=3600000, and asks for it",
            (f"{_RETENTION} 3600000",),
            traces=(
                Trace("TOPIC", (ALTER_CONFIGS_KEY, INCREMENTAL_ALTER_CONFIGS_KEY), is_in_response=True),
                Trace("3600000", (DESCRIBE_CONFIGS_KEY,), is_in_response=True),
            ),
        ),
        "incremental-alter-configs": CommandTask(
            f"creates TOPIC, sets {_RETENTION}=3600000 and leaves the rest of its configuration, and asks for it",
            (f"{_RETENTION} 3600000",),
            traces=(
                Trace("TOPIC", (INCREMENTAL_ALTER_CONFIGS_KEY,), is_in_response=True),
                Trace("3600000", (DESCRIBE_CONFIGS_KEY,), is_in_response=True),
            ),
        ),
        "delete-records": CommandTask(
            "writes RECORD to partition 0 of TOPIC, and deletes the records before offset 1, which is the new beginning of "
            "the log",
            ("offset 1",),
            traces=(_WRITES, Trace("TOPIC", (DELETE_RECORDS_KEY,), is_in_response=True)),
        ),
        "consumer-group-protocol": CommandTask(
            f"writes RECORD to partition 0 of TOPIC, and with the protocol of KIP-848 {_COMMITS}",
            ("record RECORD", "committed 1"),
            traces=_IN_GROUP,
        ),
        "share-group": CommandTask(
            "joins the share group GROUP, and writes RECORD to TOPIC again and again until it has read one",
            ("record RECORD",),
            traces=(
                Trace("GROUP", (SHARE_GROUP_HEARTBEAT_KEY,)),
                Trace("RECORD", (SHARE_FETCH_KEY,), is_in_response=True),
            ),
        ),
        REROUTED_WRITES: CommandTask(
            "only with `{again}`: writes RECORD to partition 0 of TOPIC, which exists, again and again with one producer "
            "until its time is over"
        ),
    }
)
"""What a command is asked for, by the name of the operation, in the order of the grid."""
