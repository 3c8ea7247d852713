"""Faults against the clauses of KIP-511."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import SOFTWARE_NAME, SOFTWARE_VERSION
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsResponse
from wire.codec import decode_prefix
from wire.error_codes import ErrorCode
from wire.headers import ResponseHeader

# KIP-511.client-uses-named-range


def _names_a_lower_version(refused: int, named: Range | None) -> bool:
    """Return whether a refusal names a range that the client can use."""
    return named is not None and 0 <= named[0] <= min(named[1], refused - 1)


@fault("KIP-511.client-uses-named-range")
class VersionsAreWalkedDownOneByOne(ModelClient):
    """Asks in the next older version, as rskafka does, although the broker names lower ones."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if _names_a_lower_version(refused, named):
            return refused - 1
        return super().version_after_refusal(link, refused, named)


@fault("KIP-511.client-uses-named-range")
class NamedVersionIsNotComparedWithTheRefusedOne(ModelClient):
    """Asks in the highest named version that it knows, even if that was just refused, as the Java client does."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if named is not None and named[0] <= refused <= named[1]:
            return refused
        return super().version_after_refusal(link, refused, named)


@fault("KIP-511.client-uses-named-range")
class SecondRefusalBeginsFromTheTop(ModelClient):
    """Asks in its newest version again if the named one is refused as well."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if refused < NEWEST_VERSION and _names_a_lower_version(refused, named):
            return NEWEST_VERSION
        return super().version_after_refusal(link, refused, named)


@fault("KIP-511.client-uses-named-range", "KIP-97.new-client-old-broker")
class RefusedVersionIsRepeatedAfterAuthentication(ModelClient):
    """Asks in the refused version again on connections with SASL."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if link.is_authenticated and _names_a_lower_version(refused, named):
            return refused
        return super().version_after_refusal(link, refused, named)


# KIP-511.client-uses-newest-named-version


@fault("KIP-511.client-uses-newest-named-version")
class NamedRangeIsNotRead(ModelClient):
    """Continues with v0 after every refusal, as clients did before KIP-511."""

    def named_range(self, link: Link, response: bytes) -> Range | None:
        return None


@fault("KIP-511.client-uses-newest-named-version")
class OldestVersionWithANameIsUsed(ModelClient):
    """Continues with v3 although the broker names v4."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        version = super().version_after_refusal(link, refused, named)
        return min(version, FIRST_FLEXIBLE_VERSION)


# KIP-511.client-ignores-table-of-35


def _taken_for_the_table(client: ModelClient, link: Link, version: int, response: bytes, *, is_so: bool) -> bool:
    if not is_so or client.named_range(link, response) is None:
        return False
    refusal = client.decoded_response(link, version, client.body_of(link, version, response))
    return refusal.range_of(METADATA_KEY) is not None


@fault("KIP-511.client-ignores-table-of-35")
class RefusalIsTakenForTheTable(ModelClient):
    """Does not look at the error code of a refusal that lists Metadata, as aiokafka never does."""

    def error_code_of(self, link: Link, version: int, response: bytes) -> int:
        error_code = super().error_code_of(link, version, response)
        is_refusal = error_code == ErrorCode.UNSUPPORTED_VERSION
        taken = _taken_for_the_table(self, link, version, response, is_so=is_refusal)
        return ErrorCode.NONE if taken else error_code


@fault("KIP-511.client-ignores-table-of-35")
class RefusalOfANodeIsTakenForTheTable(ModelClient):
    """Does the same on connections to discovered nodes alone."""

    def error_code_of(self, link: Link, version: int, response: bytes) -> int:
        error_code = super().error_code_of(link, version, response)
        is_refusal = error_code == ErrorCode.UNSUPPORTED_VERSION and link.node is not None
        taken = _taken_for_the_table(self, link, version, response, is_so=is_refusal)
        return ErrorCode.NONE if taken else error_code


@fault("KIP-511.client-ignores-table-of-35")
class RefusalReplacesEntriesOfTheTable(ModelClient):
    """Uses the range of Metadata in a refusal instead of that in the table that comes after it."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        response = super().decoded_response(link, version, body)
        if response.error_code is ErrorCode.UNSUPPORTED_VERSION:
            self.notes[link.number] = response.range_of(METADATA_KEY)
        refused = self.notes.get(link.number)
        if response.error_code is not ErrorCode.NONE or refused is None:
            return response
        return dataclasses.replace(response, api_keys=(*response.api_keys, refused))


# KIP-511.client-errors-on-42


@fault("KIP-511.client-errors-on-42")
class InvalidRequestIsAskedAgainWithoutEnd(ModelClient):
    """Asks in v0 on the same connection after INVALID_REQUEST, again and again, as librdkafka does."""

    def error_code_of(self, link: Link, version: int, response: bytes) -> int:
        error_code = super().error_code_of(link, version, response)
        while error_code == ErrorCode.INVALID_REQUEST:
            error_code = super().error_code_of(link, 0, self.api_versions_response(link, 0))
        return error_code


@fault("KIP-511.client-errors-on-42")
class InvalidRequestIsAskedAgainOnce(ModelClient):
    """Tries v0 once on the same connection before it reports INVALID_REQUEST."""

    def raise_error(self, link: Link, error_code: int) -> None:
        if error_code == ErrorCode.INVALID_REQUEST:
            self.api_versions_response(link, 0)
        super().raise_error(link, error_code)


@fault("KIP-511.client-errors-on-42")
class InvalidRequestIsOverlooked(ModelClient):
    """Goes on after INVALID_REQUEST, and sends Metadata v0."""

    def raise_error(self, link: Link, error_code: int) -> None:
        if error_code == ErrorCode.INVALID_REQUEST:
            self.metadata_in(link, 0)
        super().raise_error(link, error_code)


@fault("KIP-511.client-errors-on-42")
class InvalidRequestAfterAuthenticationIsOverlooked(ModelClient):
    """Goes on after INVALID_REQUEST on a connection with SASL, because authentication has succeeded."""

    def raise_error(self, link: Link, error_code: int) -> None:
        if error_code == ErrorCode.INVALID_REQUEST and link.is_authenticated:
            self.metadata_in(link, 0)
        super().raise_error(link, error_code)


# KIP-511.client-named-under-sasl


@fault("KIP-511.client-named-under-sasl")
class VersionsAreNotAskedForAfterAuthentication(ModelClient):
    """Keeps the table from before authentication, for which it asked without its name."""

    def table_to_keep(self, link: Link) -> Mapping[int, Range] | None:
        return link.table


@fault("KIP-511.client-named-under-sasl", "KIP-511.client-begins-with-newest")
class FirstVersionAfterAuthenticationIs0(ModelClient):
    """Asks in v0 after authentication as well."""

    def first_version(self, link: Link) -> int:
        return 0 if link.is_authenticated else super().first_version(link)


# KIP-511.client-name-valid


@fault("KIP-511.client-name-valid", "KIP-511.client-names-itself-truly")
class SoftwareNameHasASpace(ModelClient):
    """Introduces itself by a name with a space, as a console did."""

    def software(self, link: Link) -> tuple[str, str]:
        return "Conformance Model", SOFTWARE_VERSION


@fault("KIP-511.client-name-valid", "KIP-511.client-names-itself-truly")
class SoftwareVersionIsInParentheses(ModelClient):
    """Sends "(devel)" as its version, as sarama did in builds without a release."""

    def software(self, link: Link) -> tuple[str, str]:
        return SOFTWARE_NAME, "(devel)"


@fault("KIP-511.client-name-valid", "KIP-511.client-names-itself-truly")
class SoftwareVersionIsEmptyForNodes(ModelClient):
    """Sends an empty version on connections to discovered nodes."""

    def software(self, link: Link) -> tuple[str, str]:
        return SOFTWARE_NAME, SOFTWARE_VERSION if link.node is None else ""


# KIP-511.client-names-itself-truly


@fault("KIP-511.client-names-itself-truly")
class NodesAreToldAnotherName(ModelClient):
    """Introduces itself by another name on connections to discovered nodes."""

    def software(self, link: Link) -> tuple[str, str]:
        name, version = super().software(link)
        return name if link.node is None else f"{name}-node", version


@fault("KIP-511.client-names-itself-truly")
class VersionOfAnotherBuildIsNamed(ModelClient):
    """Sends a version that was written into its code once, and has not changed since."""

    def software(self, link: Link) -> tuple[str, str]:
        return SOFTWARE_NAME, "0.9-beta"


@fault("KIP-511.client-names-itself-truly")
class AnotherLibraryIsNamed(ModelClient):
    """Introduces itself as the library from which its code was copied."""

    def software(self, link: Link) -> tuple[str, str]:
        return "librdkafka", SOFTWARE_VERSION


@fault("KIP-511.client-names-itself-truly")
class OldNameIsKeptInAnOlderVersion(ModelClient):
    """Introduces itself in v3 by the name that it had when v3 was new."""

    def software(self, link: Link) -> tuple[str, str]:
        name, version = super().software(link)
        is_old = self.notes.get("asked") == FIRST_FLEXIBLE_VERSION
        return name.replace("model", "client") if is_old else name, version

    def api_versions_body(self, link: Link, version: int) -> bytes:
        self.notes["asked"] = version
        return super().api_versions_body(link, version)


@fault("KIP-511.client-names-itself-truly")
class NameOfTheBuildIsAppended(ModelClient):
    """Appends the name of the build to its own."""

    def software(self, link: Link) -> tuple[str, str]:
        return f"{SOFTWARE_NAME}.debug", SOFTWARE_VERSION


# KIP-511.client-reads-fixed-header


class _ReadsHeaderAsFlexible(ModelClient):
    """Reads tagged fields before the body of some responses to ApiVersions, as other flexible responses have them."""

    def is_misread(self, link: Link, version: int) -> bool:
        raise NotImplementedError

    def body_of(self, link: Link, version: int, response: bytes) -> bytes:
        if not self.is_misread(link, version):
            return super().body_of(link, version, response)
        _, end = decode_prefix(ResponseHeader, response, version=1)
        return response[end:]


misreads_header = fault(
    "KIP-511.client-reads-fixed-header",
    "KIP-1242.older-broker-unaffected",
    "KIP-97.new-client-old-broker",
    "KIP-97.mixed-cluster",
)


@misreads_header
class HeaderOfV3IsReadAsFlexible(_ReadsHeaderAsFlexible):
    """Reads tagged fields before the body of ApiVersions v3, as other flexible responses have them."""

    def is_misread(self, link: Link, version: int) -> bool:
        return version == 3


@misreads_header
class HeaderOfV4IsReadAsFlexible(_ReadsHeaderAsFlexible):
    """Reads tagged fields before the body of ApiVersions v4 alone."""

    def is_misread(self, link: Link, version: int) -> bool:
        return version == 4


@misreads_header
class HeaderOfOlderVersionsIsReadAsFlexibleForNodes(_ReadsHeaderAsFlexible):
    """Reads tagged fields before the body of ApiVersions v3 and v4 on connections to discovered nodes."""

    def is_misread(self, link: Link, version: int) -> bool:
        return link.node is not None and version in (3, 4)


# KIP-511.client-begins-with-newest


@fault("KIP-511.client-begins-with-newest")
class BootstrapBeginsWithAnOlderVersion(ModelClient):
    """Begins with the version before the newest one on its first connection."""

    def first_version(self, link: Link) -> int:
        return super().first_version(link) if link.number else NEWEST_VERSION - 1
