"""Whether a target claims KIP-1313, a proposal, is asked again after an error."""

from __future__ import annotations

from typing import cast

import pytest

from conformance.assertions import instance_ids, other_apis
from conformance.assertions.instance_ids import carriers, claims_instance_ids
from conformance.assertions.other_apis import NoTableReadable, advertised_table
from fixtures.errors import BrokerGone
from fixtures.under_test.broker import Broker
from wire.api_keys import API_VERSIONS_KEY, OFFSET_DELETE_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersion

CLAIMING = (
    ApiVersion(api_key=API_VERSIONS_KEY, min_version=0, max_version=NEWEST_VERSION + 1),
    ApiVersion(api_key=OFFSET_DELETE_KEY, min_version=0, max_version=1),
)


class Turning:
    """A target whose table cannot be requested at first."""

    described_version = readable_version = NEWEST_VERSION

    def __init__(self, error: Exception) -> None:
        self._errors = [error]

    def table(self, api_version: int) -> tuple[ApiVersion, ...]:
        """Return its table, except the first time."""
        if self._errors:
            raise self._errors.pop()
        return CLAIMING


@pytest.fixture
def turning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask targets of this module, and not connections, for their tables."""
    monkeypatch.setattr(other_apis, "_table", lambda broker, version: broker.table(version))


@pytest.mark.usefixtures("turning")
def test_error_is_not_kept() -> None:
    """After a connection that failed once, the next property finds the claim, and what can be requested."""
    broker = cast(Broker, Turning(BrokerGone("it has ended")))
    with pytest.raises(BrokerGone):
        claims_instance_ids(broker)
    assert claims_instance_ids(broker)
    assert {each.api_key for each in carriers(broker)} == {OFFSET_DELETE_KEY, API_VERSIONS_KEY}


@pytest.mark.usefixtures("turning")
def test_table_that_does_not_decode_claims_nothing() -> None:
    """A target of which no version decodes claims no proposal, until one does."""
    broker = cast(Broker, Turning(NoTableReadable("garbage")))
    assert not claims_instance_ids(broker)
    assert claims_instance_ids(broker)
    assert instance_ids.newest_api_versions(broker) == NEWEST_VERSION + 1
    assert advertised_table(broker) == CLAIMING
