"""What is wrong with a bean of the metric of KIP-511, and what a bean with a wrong name counts for."""

from __future__ import annotations

import pytest

from conformance.assertions.client_software import (
    NO_PROCESSOR,
    OTHER_KEYS,
    OTHER_LISTENER,
    OTHER_TYPE,
    bean_problem,
)
from fixtures.kafka_setup.connection_metrics import ConnectionsBean, counts_of

SOFTWARE = "kafka.server:clientSoftwareName=a,clientSoftwareVersion=1"


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ("listener=SSL,networkProcessor=2,type=socket-server-metrics", ""),
        ("networkProcessor=2,type=socket-server-metrics", OTHER_KEYS),
        ("listener=SSL,type=socket-server-metrics", OTHER_KEYS),
        ("listener=SSL,networkProcessor=2", OTHER_KEYS),
        ("listener=SSL,networkProcessor=2,port=1,type=socket-server-metrics", OTHER_KEYS),
        ("listener=PLAINTEXT,networkProcessor=2,type=socket-server-metrics", OTHER_LISTENER),
        ("listener=SSL,networkProcessor=first,type=socket-server-metrics", NO_PROCESSOR),
        ("listener=SSL,networkProcessor=2,type=socket-metrics", OTHER_TYPE),
    ],
)
def test_bean_has_the_name_of_the_kip(rest: str, problem: str) -> None:
    """A bean with another name is a violation, which shows the name."""
    bean = f"{SOFTWARE},{rest}"
    found = bean_problem(ConnectionsBean(bean=bean, connections=1), "ssl")
    assert found == (f"{problem}\n{bean}" if problem else "")


def test_gauges_are_summed_over_network_threads() -> None:
    """A gauge without a listener in its name counts for the listener that is judged; zeros are left out."""
    names = ("listener=SSL,networkProcessor=1", "listener=SSL,networkProcessor=2", "type=x")
    gauges = [ConnectionsBean(bean=f"{SOFTWARE},{name}", connections=1) for name in names]
    unused = ConnectionsBean(bean=f"{SOFTWARE},listener=PLAINTEXT", connections=0)
    assert counts_of([*gauges, unused], listener="ssl") == {("ssl", "1"): 3}
