"""A sweep of every version goes in batches, on a fresh broker.

What fails is named, alone or with the versions that it fails after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import create_autospec

import pytest

from conformance.brokers import test_version_sweep
from conformance.brokers.test_version_sweep import BATCH, MAX_FAILED, ask_all
from conformance.engine.property_judge import PropertyJudge
from fixtures.cleanup.ending_signals import Interrupts
from fixtures.client.connection import Connection
from fixtures.launchers.built_in import reference_targets
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from wire.exchange import Exchange, Outcome, Request


class CountedBroker(InMemoryBroker):
    """The reference broker, which records how many steps preceded each restart.

    Attributes:
        used: number of steps before each restart.
        is_ours: whether it may be restarted.
    """

    def __init__(self, *, is_ours: bool) -> None:
        self.is_ours = is_ours
        self.used: list[int] = []
        super().__init__(in_memory_target(reference_targets()[0], None), "plaintext")

    @property
    def can_restart(self) -> bool:
        """Whether this suite started the broker."""
        return self.is_ours

    def restart(self) -> None:
        """Record the restart."""
        self.used.append(len(self.journal))


@pytest.mark.parametrize(("is_ours", "used"), [(True, [0]), (False, [])])
def test_sweep_has_a_fresh_broker_where_it_is_ours(is_ours: bool, used: list[int]) -> None:
    """A sweep restarts the target once at its beginning; a target that is not ours is never restarted."""
    broker = CountedBroker(is_ours=is_ours)
    judge = create_autospec(PropertyJudge, instance=True)
    ask_all(judge, broker, range(100, 100 + 2 * BATCH))
    assert broker.used == used
    assert judge.conforms.call_count == 2
    judge.raise_first.assert_called_once_with()


def _resets_at(*wrong: int) -> Tampering:
    """Close at some versions, and drop the answer."""

    def act(context: RequestContext) -> None:
        if context.header and context.header.api_version in wrong:
            context.answer = b""
            context.replace_reaction(outcome=Outcome.CLOSED)

    return Tampering(stage=Stage.REACTION, act=act)


class ResettingBroker(InMemoryBroker):
    """A broker whose latest answers on a connection are lost when it closes, as after a reset."""

    def connect(self, **how: Any) -> Connection:
        """Connect; a conversation that ends early returns no answers at all."""
        connection = super().connect(**how)
        converse = connection.converse

        def all_or_nothing(requests: Sequence[Request]) -> tuple[Exchange, ...]:
            exchanges = converse(requests)
            if exchanges[-1].outcome is Outcome.CLOSED:
                return tuple(Exchange(request=r, outcome=Outcome.CLOSED) for r in requests)
            return exchanges

        connection.converse = all_or_nothing  # type: ignore[assignment,method-assign]
        return connection


def _failures(
    tampering: Tampering, kind: type[InMemoryBroker] = InMemoryBroker
) -> tuple[list[tuple[str, Sequence[int]]], int]:
    """Sweep 1,024 versions; return each failure with its versions, and the bytes of the largest exchange."""
    broker = kind(in_memory_target(reference_targets()[0], tampering), "plaintext")
    judge = create_autospec(PropertyJudge, instance=True)
    ask_all(judge, broker, range(100, 100 + 2 * BATCH))
    reported = [call.args for call in judge.differs.call_args_list]
    largest = max(sum(len(piece) for step in args[1] for piece in step.pieces) for args in reported)
    return [(str(args[0]), args[2].values["versions"]) for args in reported], largest


@pytest.mark.parametrize("kind", [InMemoryBroker, ResettingBroker])
def test_what_fails_alone_is_named_and_nothing_else(kind: type[InMemoryBroker]) -> None:
    """Three of 1,024 versions close the connection: they are one failure, each with its own exchange."""
    failures, largest = _failures(_resets_at(150, 151, 1030), kind)
    (first_line,) = {message for message, _ in failures}
    assert first_line.startswith("no UNSUPPORTED_VERSION for v150-v151, v1030: ")
    assert [list(versions) for _, versions in failures] == [[1030], [151], [150]]
    assert largest < 100


def test_what_fails_only_together_is_named_together() -> None:
    """If a version closes only after another one, the failure names both and says so."""

    def act(context: RequestContext) -> None:
        assert context.header is not None
        version, memory = context.header.api_version, context.connection.memory
        if version == 300 and memory.get("last") == 299:
            context.replace_reaction(outcome=Outcome.CLOSED)
        memory["last"] = version

    ((message, versions),), _ = _failures(Tampering(stage=Stage.REACTION, act=act))
    assert message.startswith(
        "no UNSUPPORTED_VERSION for v299-v300, which fail only when sent together on one connection: "
    )
    assert list(versions) == [299, 300]


def test_a_target_that_always_fails_is_not_asked_for_ever() -> None:
    """After many failures the rest is skipped, and the cell says so."""
    broker = InMemoryBroker(in_memory_target(reference_targets()[0], _resets_at(*range(100, 2000))), "plaintext")
    judge = create_autospec(PropertyJudge, instance=True)
    ask_all(judge, broker, range(100, 2000))
    assert judge.differs.call_count == MAX_FAILED
    judge.leaves_out.assert_called_once_with(f"not requested after too many failures: v{100 + MAX_FAILED}-v1999")


@pytest.mark.parametrize(
    ("wrong", "interrupted_at"),
    [pytest.param((), 2, id="between-batches"), pytest.param((1030,), 5, id="finding-the-fewest")],
)
def test_interrupt_ends_a_sweep_before_its_next_connection(
    wrong: tuple[int, ...], interrupted_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupts = Interrupts()
    monkeypatch.setattr(test_version_sweep, "INTERRUPTS", interrupts)
    connections = 0

    class Interrupted(ResettingBroker):
        def connect(self, **how: Any) -> Connection:
            nonlocal connections
            connections += 1
            interrupts.came = connections == interrupted_at
            return super().connect(**how)

    broker = Interrupted(in_memory_target(reference_targets()[0], _resets_at(*wrong)), "plaintext")
    with pytest.raises(KeyboardInterrupt):
        ask_all(create_autospec(PropertyJudge, instance=True), broker, range(100, 100 + 8 * BATCH))
    assert connections == interrupted_at
