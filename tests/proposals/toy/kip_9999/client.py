"""The model client of the toy."""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.model_client import ModelClient
from tests.proposals.toy.kip_9999.messages import PING, PING_KEY
from wire.api_versions import ApiVersionsResponse


class PingingClient(ModelClient):
    """Pings brokers that list Ping."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        """Return the ranges that a table lists for the APIs that the client knows."""
        listed = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
        ping = {PING_KEY: listed[PING_KEY]} if PING_KEY in listed else {}
        return {**super().ranges_in(link, response), **ping}

    def after_metadata(self, link: Link) -> None:
        """Ping the broker."""
        super().after_metadata(link)
        if self.may_ping(link):
            self.exchange(link, PING_KEY, 0, b"\0", PING.request_header_version(0))

    def may_ping(self, link: Link) -> bool:
        """Return whether the broker lists Ping."""
        return link.table is not None and PING_KEY in link.table
