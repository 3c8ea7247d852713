"""Control for targets that serve only requests with a related correlation id.

Such a target serves a request only if its id follows the one before it in some way.

Correlation ids are the client's own. But the suite's requests do not count them up, so a target that expects that
answers the first request of a connection and few others, whatever they ask for.
"""

from __future__ import annotations

from conformance.assertions.errors import MalformedAnswer, ResponseFault
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from wire.exchange import Outcome

THE_NEXT, LARGER = "the next", "a larger"
PAIRS = {THE_NEXT: (1, 2), LARGER: (1, 9), "the same": (9, 9), "a smaller": (9, 1)}
"""The correlation ids of two requests on a connection, by how the second one follows."""


def restricted_ids(broker: Broker) -> MalformedAnswer | None:
    """Return how a second plain request on a connection is not answered for its correlation id alone.

    None if the id makes no difference: all are answered, or none is, which another clause judges. None as well if no
    connection can be had, for example without credentials. The requests are sent once in a run.
    """
    try:
        return _restricted_ids(broker)
    except HarnessError:
        return None


def _restricted_ids(broker: Broker) -> MalformedAnswer | None:
    version = broker.readable_version
    answered: list[str] = []
    lost: list[str] = []
    fate = None
    for relation, ids in PAIRS.items():
        exchanges = broker.in_turn_apart([build_request(version=version, correlation_id=each) for each in ids])
        if len(exchanges) < len(ids):
            return None
        if exchanges[-1].outcome is not Outcome.ANSWER:
            # One that was lost by chance says nothing about ids.
            again = broker.apart().converse_in_turn([each.request for each in exchanges])
            exchanges = again if len(again) == len(ids) else exchanges
        if exchanges[-1].outcome is Outcome.ANSWER:
            answered.append(relation)
        else:
            lost.append(relation)
            fate = fate or exchanges[-1]
    if not answered or fate is None:
        return None
    return MalformedAnswer(fate, in_words(answered, lost), fault=ResponseFault.NO_ANSWER)


def in_words(answered: list[str], lost: list[str]) -> str:
    """Return the sentence about the relations of ids that are answered, and those that are not."""
    second = "a second request on a connection is answered"
    if answered == [THE_NEXT]:
        return f"{second} only if correlation ids count up by one"
    if answered == [THE_NEXT, LARGER]:
        return f"{second} only if correlation ids grow"
    return f"{second} with {' or '.join(answered)} correlation id, and not with {' or '.join(lost)} one"
