"""Subjects of learning: a target's listener, or its reference model in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conformance.assertions.model_agreement import model_of
from conformance.learning.alphabets import Alphabet, LetterFacts, alphabet_of
from conformance.learning.outputs import Abstraction
from conformance.learning.querying import Listening
from fixtures.client.access import SaslAccess
from fixtures.under_test.broker import Broker
from fixtures.under_test.in_memory import LAUNCHER, NOWHERE, InMemoryBroker, InMemoryTarget
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.oracle import NO_CREDENTIALS
from reference_model.broker.rules.sasl import Credentials, SaslConfiguration
from reference_model.judging.same_response import StablePart, stable_part_of_body
from reports.machines.machine import CLOSED, Machine, MachineMove, Word, ends_word, last_of, minimal
from wire.errors import DecodeError
from wire.headers import CORRELATION_ID_BYTES


def listening_to(broker: Broker, size: str, *, at_once: int = 1) -> Listening:
    """Return a listener of a target as a system under learning, with an alphabet of a size.

    Raises:
        HarnessError: the target's plain responses cannot be read.
    """
    return Listening(
        broker,
        alphabet_of(size, facts_of(broker)),
        abstraction_of(broker),
        at_once=at_once,
    )


def facts_of(broker: Broker) -> LetterFacts:
    """Return what the letters for a listener depend on."""
    access = broker.running.sasl
    facts = LetterFacts(
        newest=broker.described_version,
        highest=broker.max_version,
        identity=broker.identity,
        is_encrypted=broker.speaks_tls,
    )
    if access is None:
        return facts
    return replace(facts, username=access.username, password=access.password)


def abstraction_of(broker: Broker) -> Abstraction:
    """Return the abstraction for a listener, with its plain responses as they are on a new connection."""
    plain: dict[int, StablePart] = {}
    for version in range(broker.described_version + 1):
        payload = broker.plain_exchange(version).payload
        try:
            plain[version] = stable_part_of_body((payload or b"")[CORRELATION_ID_BYTES:], version)
        except DecodeError:
            continue
    return Abstraction(
        plain=plain,
        mechanisms=frozenset(broker.running.offered_mechanisms),
        knows_ids=None not in (broker.identity.cluster_id, broker.identity.node_id),
    )


def model_for(broker: Broker) -> Broker:
    """Return the reference model of a listener, in memory, with the ids and credentials of the target."""
    access = broker.running.sasl
    return InMemoryBroker(
        InMemoryTarget(
            target=broker.target,
            launcher=LAUNCHER,
            addresses={broker.listener: NOWHERE},
            cluster_id=broker.running.cluster_id,
            node_ids=broker.running.node_ids,
            sasl=access,
            mechanisms=broker.running.mechanisms,
            served={
                broker.listener: ReferenceBroker(
                    profile=model_of(broker),
                    identity=broker.identity,
                    authentication=_authentication(access, broker.running.offered_mechanisms),
                )
            },
        ),
        broker.listener,
    )


def _authentication(access: SaslAccess | None, offered: tuple[str, ...]) -> SaslConfiguration:
    if access is None:
        return SaslConfiguration(credentials=NO_CREDENTIALS.credentials, mechanisms=offered)
    return SaslConfiguration(
        credentials=Credentials(username=access.username, password=access.password),
        mechanisms=access.mechanisms,
    )


def machine_of_model(model: Broker, alphabet: Alphabet) -> Machine:
    """Return the machine of the reference model, state by state: it is exact, because the model's states are known.

    Args:
        model: the model in memory, without a defect.
        alphabet: the letters, those of the target that it is the model of.
    """
    listening = Listening(model, alphabet, abstraction_of(model))
    numbers: dict[object, int] = {}
    access: list[Word] = []
    moves: list[Mapping[str, MachineMove]] = []

    def number_of(word: Word) -> int:
        state = _state_after(model, listening, word)
        if state not in numbers:
            numbers[state] = len(numbers)
            access.append(word)
        return numbers[state]

    number_of(())
    while len(moves) < len(access):
        word = access[len(moves)]
        moves.append(
            {letter: MachineMove(listening.ask((*word, letter))[-1], number_of((*word, letter))) for letter in alphabet}
        )
    return minimal(tuple(alphabet), moves)


def _state_after(model: Broker, listening: Listening, word: Word) -> object:
    """Return what the model's behaviour after a word depends on."""
    outputs = listening.ask(word)
    if outputs and ends_word(outputs[-1]):
        return last_of(outputs[-1])
    assert isinstance(model.running, InMemoryTarget)
    served = model.running.served[model.listener]
    assert isinstance(served, ReferenceBroker)
    with model.connect(authenticate=False) as connection:
        for letter in word:
            listening.alphabet[letter].send(connection)
        # One that was closed after its last response is no longer among them.
        return tuple((each.state, each.unread) for each in served.connections) or CLOSED
