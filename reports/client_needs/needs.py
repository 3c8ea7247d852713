"""What clients need of a broker's table, measured by taking versions away.

An operation of a client is tried again and again, each time with one API of which the lowest or the highest versions
are gone, or with an API that is gone completely. A **hidden need** is a version or an API that the client never sends
in the operation, and without which it gives something up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reference_model.profiles.known_apis import Range, label_of

SCRIPTED = "scripted broker"
"""Stands for the release where a scripted broker served the client."""


class ProbeOutcome(StrEnum):
    """What becomes of an operation when something is taken away."""

    WORKS = "works"
    GIVES_UP = "gives something up"
    SAYS = "says what is missing"
    BREAKS = "breaks"
    UNSTABLE = "unstable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What became of an operation without some versions.

    Attributes:
        removed: what was taken away, such as "JoinGroup 1+" (the versions that are left) or "no JoinGroup".
        outcome: what became of it.
        detail: what the client gave up, its error, or how it ended; with an unstable one, how often it worked.
    """

    removed: str
    outcome: ProbeOutcome
    detail: str = ""

    @property
    def works(self) -> bool:
        """Whether the operation is as before, or not known to be otherwise."""
        return self.outcome in (ProbeOutcome.WORKS, ProbeOutcome.UNSTABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """How far versions can be taken away from one end of a range.

    Attributes:
        version: the last minimum, or maximum, with which the operation works.
        failure: what became of it one version further; None if it works to the end of the range.
        is_monotone: whether it fails with everything that was tried beyond, and works with everything before.
    """

    version: int
    failure: Probe | None = None
    is_monotone: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiNeeds:
    """What an operation needs of one API.

    Attributes:
        api_key: the API.
        served: the versions that the broker serves.
        used: the versions that the client sent with nothing taken away; empty for an API that it never sends.
        minimum: how far the minimum can be raised; None for an API that it never sends, unless that matters.
        maximum: how far the maximum can be lowered; None for an API that it never sends.
        removed: what became of the operation without the API.
    """

    api_key: int
    served: Range
    used: tuple[int, ...]
    minimum: Edge | None = None
    maximum: Edge | None = None
    removed: Probe

    @property
    def name(self) -> str:
        """The name of the API."""
        return label_of(self.api_key)

    @property
    def hidden_version(self) -> int | None:
        """The version that the client needs although it sends only newer ones, or none; None if there is no such."""
        if self.minimum is None or self.minimum.failure is None:
            return None
        return self.minimum.version if self.minimum.version < max(self.used, default=self.served.highest) else None

    @property
    def is_needed(self) -> bool:
        """Whether the operation is not as before without the API."""
        return not self.removed.works

    @property
    def works_with(self) -> str:
        """The versions of which the broker has to serve one, in words: "v3 to v9", "v3 or newer"."""
        if self.minimum is None or self.maximum is None:
            return ""
        lowest, highest = self.maximum.version, self.minimum.version
        if self.minimum.failure is None:
            return f"v{lowest} or newer"
        if lowest > highest:
            return f"v{highest} and v{lowest}"
        return f"v{Range(lowest, highest).in_words(between=' to v')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenNeed:
    """A version or an API that a client needs without sending it.

    Attributes:
        operation: the operation.
        api_key: the API.
        version: the version; None if it is the API.
        used: the versions that the client sends; empty for an API that it never sends.
        probe: what becomes of the operation without it.
    """

    operation: str
    api_key: int
    version: int | None
    used: tuple[int, ...]
    probe: Probe

    @property
    def what(self) -> str:
        """What is needed: "JoinGroup v0"."""
        name = label_of(self.api_key)
        return name if self.version is None else f"{name} v{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationNeeds:
    """What one operation of a client needs.

    Attributes:
        operation: its name.
        inconclusive: why nothing can be said, such as "it works in 2 of 3 runs"; empty if something can.
        apis: the APIs that it uses, and those of which it has a hidden need, by key.
        unclear: what was tried without a stable result, or with one of which several APIs together are the cause;
            nothing is concluded from it.
    """

    operation: str
    inconclusive: str = ""
    apis: tuple[ApiNeeds, ...] = ()
    unclear: tuple[Probe, ...] = ()

    @property
    def hidden(self) -> Iterator[HiddenNeed]:
        """The hidden needs."""
        for each in self.apis:
            if each.hidden_version is not None and each.minimum is not None and each.minimum.failure is not None:
                yield self._hidden(each, each.hidden_version, each.minimum.failure)
            elif not each.used and not each.removed.works:
                yield self._hidden(each, None, each.removed)

    def _hidden(self, api: ApiNeeds, version: int | None, probe: Probe) -> HiddenNeed:
        return HiddenNeed(operation=self.operation, api_key=api.api_key, version=version, used=api.used, probe=probe)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientNeeds:
    """What a client needs.

    Attributes:
        client: its id in the registry, or the name of a command.
        name: library and version.
        software_name: what it calls itself in ApiVersions requests; empty if it does not.
        software_version: the version that it states there; empty if it states none.
        release: the id of the release whose table was cut, or `SCRIPTED`.
        operations: what each of its operations needs.
        measurements: how many measurements agree on that.
    """

    client: str
    name: str
    software_name: str = ""
    software_version: str = ""
    release: str
    operations: tuple[OperationNeeds, ...]
    measurements: int = 1

    @property
    def hidden(self) -> tuple[HiddenNeed, ...]:
        """The hidden needs of all operations."""
        return tuple(each for operation in self.operations for each in operation.hidden)
