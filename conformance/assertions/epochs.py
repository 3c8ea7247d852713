"""Check that the epoch of the finalized features never falls during a run.

Any response of the run is compared with every later one.
"""

from __future__ import annotations

from fixtures.client.epoch_watch import Fall, NamedEpoch
from fixtures.under_test.broker import Broker
from wire.exchange import Step


class EpochFell(AssertionError):
    """A response names a lower epoch than one that had arrived before its request was sent.

    Attributes:
        steps: both exchanges, each as the only one on a connection of its own.
    """

    def __init__(self, fall: Fall, broker: Broker) -> None:
        before, after = fall
        super().__init__(
            f"the epoch falls from {before.epoch} to {after.epoch}\n"
            f"the higher one: {_in_words(before)}; {(after.seen_at - before.seen_at) / 1e6:.0f} ms later: {_in_words(after)}"
        )
        self.steps = tuple(
            Step(
                connection=number,
                listener=broker.listener,
                tls=broker.speaks_tls,
                pieces=(named.exchange.request.data,),
                exchanges=(named.exchange,),
            )
            for number, named in enumerate(fall)
        )


def _in_words(named: NamedEpoch) -> str:
    request = named.exchange.request
    return f"ApiVersions v{request.api_version}, correlation id {request.correlation_id}"


def assert_epoch_never_fell(broker: Broker) -> None:
    """Fail if the epoch fell since this was last asserted, in whatever example.

    Raises:
        EpochFell: it did.
    """
    fall = broker.epochs.take_fall()
    if fall is not None:
        raise EpochFell(fall, broker)
