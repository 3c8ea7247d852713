"""Words are sent once, and responses are remembered by their beginnings.

Unstable or silent targets end learning early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from conformance.learning import learner
from conformance.learning.differences import shortest_difference
from conformance.learning.learner import learn_listener
from conformance.learning.querying import CostlyLetter, Listening
from fixtures.client.access import SaslAccess
from fixtures.client.connection import Connection
from fixtures.errors import BrokerGone
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.rules.reaction import Listing
from reports.machines.learned import Learned
from reports.machines.machine import ENDED
from tests.conformance.learning.stateful_defects import STATEFUL_DEFECTS
from tests.conformance.learning.subjects_in_memory import few_letters, listening, model_machine
from wire.api_keys import LIST_GROUPS_KEY
from wire.exchange import Outcome

FEW = ("v0", "v3", "newest+1", "ListGroups", "negative size")


def _listening(act: Callable[[RequestContext], None] | None = None) -> Listening:
    tampering = None if act is None else Tampering(stage=Stage.REACTION, act=act)
    return few_letters(listening(tampering=tampering), FEW)


def _group_lists_are_silent(context: RequestContext) -> None:
    if context.header is not None and context.header.api_key == LIST_GROUPS_KEY:
        context.reaction = replace(context.reaction, outcome=Outcome.SILENT)


def _learned(subject: Listening) -> Learned:
    return learn_listener(subject, model_machine().restricted_to(FEW), extra_states=1)


def test_known_words_are_not_sent_again() -> None:
    """A word whose outputs are known, or that goes on after the end of the connection, costs no connection."""
    subject = _listening()
    assert subject.ask(("v0", "negative size")) == ("NONE v0 full", "closed")
    assert subject.ask(("v0",)) == ("NONE v0 full",)
    assert subject.ask(("v0", "negative size", "v3", "v0"))[2:] == ("closed", "closed")
    assert (subject.queries, subject.steps) == (1, 2)
    assert subject.received["v0",][8:10] == b"\0\0"
    assert subject.sent()["negative size"] == ["ffffffff"]


def test_tokens_of_given_credentials_are_not_shown() -> None:
    """The bytes of a letter that carries a user's own token are left out."""
    subject = listening()
    access = SaslAccess(username="u", password="p", mechanisms=("PLAIN",), is_given=True)
    subject.broker.running = replace(subject.broker.running, sasl=access)
    assert subject.sent()["token"] == []
    assert subject.sent()["v0"] != []


def test_unstable_words_are_measured() -> None:
    """A word that got two answers is sent several times more, and its rate is known."""
    attempts, begun = count(), [False]

    def every_third_table_is_short(context: RequestContext) -> None:
        is_table = context.reaction.listing is Listing.EVERYTHING
        if is_table and begun[0] and next(attempts) % 3 == 2:
            context.reaction = replace(context.reaction, listing=Listing.ITSELF)

    subject = _listening(every_third_table_is_short)
    begun[0] = True
    for letter in FEW * 3:
        subject.ask(("v0", letter))
    unstable = subject.unstable["v0",]
    assert set(unstable.seen) == {"NONE v0 full", "NONE v0 itself"}
    assert 0 < unstable.rate < 0.5
    assert subject.ask(("v0",)) == ("NONE v0 full",)


def test_a_silencing_letter_is_left_out() -> None:
    """A letter that silences the target is a difference, costs a few silence bounds, and the rest is learned."""
    subject = _listening(_group_lists_are_silent)
    learned = _learned(subject)
    assert learned.difference is not None
    assert (learned.difference.word, learned.difference.seen) == (("ListGroups",), ("silent",))
    assert learned.left_out == ("ListGroups: no response and no close",)
    left = tuple(letter for letter in FEW if letter != "ListGroups")
    assert learned.machine == model_machine().restricted_to(left)
    subject = _listening(_group_lists_are_silent)
    for first in FEW[:3]:
        subject.ask((first, "v0", "ListGroups"))
    with pytest.raises(CostlyLetter, match="ListGroups"):
        subject.ask((FEW[3], "v0", "ListGroups"))


@pytest.mark.parametrize(
    ("limit", "most", "stopped"),
    [
        ("MAX_STATES", 3, "the target has more than 3 states"),
        ("MAX_QUESTIONS", 9, "no machine was found that explains all its answers"),
    ],
)
def test_a_target_beyond_a_limit_is_not_learned(
    limit: str, most: int, stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learning ends if a target has more states than a connection can have reasons for, or is asked too often; the
    difference is kept."""
    monkeypatch.setattr(learner, limit, most)
    learned = _learned(_listening(STATEFUL_DEFECTS["the-third-v0-closes"].tampering.act))
    assert (learned.machine, learned.stopped) == (None, stopped)
    assert learned.difference is not None
    assert learned.difference.word == ("v0", "v0", "v0")


def test_a_letter_that_ends_the_target_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the last words the one that ends a fresh target too is a difference, though the target took another one
    after it."""
    subject = _listening()
    broker, ended = subject.broker, [False]

    def connect_unless_gone(*, authenticate: bool) -> Connection:
        words = list(subject.received)
        # It ends after one more word.
        if ("ListGroups",) in words[:-1] and not ended[0]:
            raise BrokerGone("exit status 2")
        return connect(authenticate=authenticate)

    def end_after_group_lists() -> None:
        if b"\0\x10" in broker.last_sent[-2].pieces[0][4:6]:
            raise BrokerGone("exit status 2")

    connect = broker.connect
    monkeypatch.setattr(broker, "connect", connect_unless_gone)
    monkeypatch.setattr(type(broker), "can_restart", True)
    monkeypatch.setattr(broker, "restart", lambda: ended.__setitem__(0, True))
    monkeypatch.setattr(broker, "await_end", end_after_group_lists)
    subject.ask(("ListGroups",))
    subject.ask(("v0",))
    learned = _learned(subject)
    assert learned.left_out == ("ListGroups: the target ends",)
    assert learned.difference is not None
    assert (learned.difference.word, learned.difference.seen) == (("ListGroups",), (ENDED,))
    left = tuple(letter for letter in FEW if letter != "ListGroups")
    assert learned.machine == model_machine().restricted_to(left)


def test_a_target_that_ends_for_another_reason_cannot_be_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If no word ends a fresh target, or it cannot be started again, learning ends."""
    subject = _listening()
    subject.ask(("v0",))
    starts: list[bool] = []

    def gone_at_first(*, authenticate: bool) -> Connection:
        if not starts:
            raise BrokerGone("exit status 2")
        return connect(authenticate=authenticate)

    connect = subject.broker.connect
    monkeypatch.setattr(subject.broker, "connect", gone_at_first)
    monkeypatch.setattr(subject.broker, "restart", lambda: starts.append(True))
    monkeypatch.setattr(subject.broker, "await_end", lambda: None)
    monkeypatch.setattr(type(subject.broker), "can_restart", True)
    with pytest.raises(BrokerGone):
        subject.ask(("v3",))
    assert starts == [True]
    assert subject.ask(("v3",)) == ("NONE v3 full",)


def test_a_target_that_is_gone_for_good_cannot_be_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that cannot be started again ends learning."""
    subject = _listening()

    def gone(**_: bool) -> Connection:
        raise BrokerGone("exit status 2")

    monkeypatch.setattr(subject.broker, "connect", gone)
    with pytest.raises(BrokerGone):
        subject.ask(("v0",))


def test_words_for_a_far_target_are_sent_at_the_same_time() -> None:
    """Each goes out once; what silences the target is left to be asked alone."""
    near, far = _listening(_group_lists_are_silent), _listening(_group_lists_are_silent)
    far.at_once = 4
    words = [(one, other) for one in FEW for other in FEW]
    far.send_ahead(words)
    silent = {("ListGroups",), *((letter, "ListGroups") for letter in FEW)}
    assert not silent.intersection(far.received)
    assert far.queries == len(words)
    sent_again = [word for word in words if word[0] == "v0" and "ListGroups" not in word]
    assert [far.ask(word) for word in sent_again] == [near.ask(word) for word in sent_again]
    assert far.queries == len(words)


def test_a_far_target_differs_in_the_same_word() -> None:
    """Words that are sent at the same time find the difference that words one by one find."""
    found = []
    for at_once in (1, 4):
        subject = _listening(STATEFUL_DEFECTS["the-third-v0-closes"].tampering.act)
        subject.at_once = at_once
        model = model_machine().restricted_to(FEW)
        found.append(shortest_difference(subject, model, extra_states=1))
    assert str(found[0]) == "v0 | v0 | v0: closed, and the model has NONE v0 full"
    assert found[1] == found[0]
