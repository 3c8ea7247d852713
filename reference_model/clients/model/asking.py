"""How the model client asks a broker for its table, by KIP-35, KIP-511 and KIP-1242."""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import ClientConnections, Link, Range
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import encode
from wire.headers import request_header_version

WITHOUT_CLUSTER_CHECK = "without_cluster_check"
WITHOUT_REBOOTSTRAP = "without_rebootstrap"
OPTIONS = (WITHOUT_CLUSTER_CHECK, WITHOUT_REBOOTSTRAP)

SOFTWARE_NAME = "kafka-conformance-model"
SOFTWARE_VERSION = "1.0"

OWN_RANGES: Mapping[int, Range] = {
    API_VERSIONS_KEY: (0, NEWEST_VERSION),
    METADATA_KEY: (0, 13),
    SASL_HANDSHAKE_KEY: (1, 1),
    SASL_AUTHENTICATE_KEY: (0, 2),
}
"""The versions that the client can speak, by API key."""


class Asking(ClientConnections):
    """Writes requests for the table of a broker, and says which versions the client speaks."""

    def newest_version(self, link: Link) -> int:
        """Return the newest version of ApiVersions that a broker at this address can read the header of."""
        return NEWEST_VERSION

    def own_ranges(self, link: Link) -> Mapping[int, Range]:
        """Return the versions that the client speaks with the broker at the other end of a connection, by API key."""
        return OWN_RANGES

    def api_versions_response(self, link: Link, version: int) -> bytes:
        """Ask for the table in a version; return the response, header included."""
        header_version = self._header_of_api_versions(version)
        body = self.api_versions_body(link, version)
        return self.exchange(link, API_VERSIONS_KEY, version, body, header_version)

    def _header_of_api_versions(self, version: int) -> int:
        """Return the header version of a request for the table."""
        return request_header_version(API_VERSIONS_KEY, version)

    def api_versions_body(self, link: Link, version: int) -> bytes:
        """Return the body of an ApiVersions request."""
        name, software_version = self.software(link)
        cluster_id, node_id = self.expected_ids(link)
        request = ApiVersionsRequest(
            client_software_name=name,
            client_software_version=software_version,
            cluster_id=cluster_id,
            node_id=node_id,
        )
        return encode(request, version=version)

    def software(self, link: Link) -> tuple[str, str]:
        """Return the name and the version with which the client introduces itself."""
        return SOFTWARE_NAME, SOFTWARE_VERSION

    def expected_ids(self, link: Link) -> tuple[str | None, int]:
        """Return the cluster id and the node id that the broker has to have; None and -1 where neither is known."""
        if self.options & set(OPTIONS) or link.node is None or self.cluster.cluster_id is None:
            return None, -1
        return self.cluster.cluster_id, link.node.node_id
