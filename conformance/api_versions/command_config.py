"""Reads the file of `--command-config`: the properties with which Kafka's own tools reach a secured listener.

What does not concern the connection is ignored. A property of TLS or SASL that this tool does not understand is an error, because
without it the tool would reach the listener in another way than Kafka's tools do.
"""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import javaproperties
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12KeyAndCertificates,
    load_pkcs12,
)

from fixtures.client.cluster_client import Security
from fixtures.client.running_broker import SaslAccess
from fixtures.client.sasl_client import SUPPORTED_MECHANISMS

PROTOCOLS = {
    "PLAINTEXT": (False, False),
    "SSL": (True, False),
    "SASL_PLAINTEXT": (False, True),
    "SASL_SSL": (True, True),
}
"""Maps a value of `security.protocol` to whether it has TLS, and whether it has SASL."""
DEFAULT_TIMEOUT_MS = 10_000

_UNDERSTOOD = frozenset(
    {
        "sasl.mechanism",
        "sasl.jaas.config",
        "ssl.truststore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.certificates",
        "ssl.keystore.type",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
    }
)
_PEM = b"-----BEGIN"
_JKS = b"\xfe\xed\xfe\xed"
_JAAS_OPTION = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')


class InvalidCommandConfig(Exception):
    """The file cannot be used; the message names the property and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandConfig:
    """How the brokers are reached.

    Attributes:
        security: the protocol, with its certificates and credentials.
        timeout_s: the longest wait for each step.
    """

    security: Security = field(default_factory=Security)
    timeout_s: float = DEFAULT_TIMEOUT_MS / 1000


def read_command_config(path: Path) -> CommandConfig:
    """Read a file of properties.

    Raises:
        InvalidCommandConfig: it cannot be read, or asks for something that this tool does not do.
    """
    try:
        with path.open(encoding="utf-8") as file:
            properties = javaproperties.load(file)
    except (OSError, UnicodeDecodeError, javaproperties.InvalidUEscapeError) as error:
        raise InvalidCommandConfig(f"{path}: {error}") from error
    return command_config(properties)


def command_config(properties: Mapping[str, str]) -> CommandConfig:
    """Return how brokers are reached, by Kafka's names of properties.

    Raises:
        InvalidCommandConfig: a property asks for something that this tool does not do.
    """
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise InvalidCommandConfig(
            f"security.protocol={protocol}: expected one of {', '.join(PROTOCOLS)}"
        )
    has_tls, has_sasl = PROTOCOLS[protocol]
    prefixes = (*(("ssl.",) if has_tls else ()), *(("sasl.",) if has_sasl else ()))
    for name in properties:
        if name.startswith(prefixes) and prefixes and name not in _UNDERSTOOD:
            raise InvalidCommandConfig(
                f"{name} is not supported; use kafka-broker-api-versions.sh, or a listener that does not need it"
            )
    mechanism, access = _sasl(properties) if has_sasl else ("", None)
    return CommandConfig(
        security=Security(
            tls=_tls(properties) if has_tls else None, mechanism=mechanism, access=access
        ),
        timeout_s=_timeout_ms(properties) / 1000,
    )


def _timeout_ms(properties: Mapping[str, str]) -> int:
    given = properties.get("request.timeout.ms", str(DEFAULT_TIMEOUT_MS))
    with suppress(ValueError):
        if int(given) > 0:
            return int(given)
    raise InvalidCommandConfig(f"request.timeout.ms={given}: expected milliseconds above 0")


def _sasl(properties: Mapping[str, str]) -> tuple[str, SaslAccess]:
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    if mechanism not in SUPPORTED_MECHANISMS:
        raise InvalidCommandConfig(
            f"sasl.mechanism={mechanism} is not supported; supported are {', '.join(SUPPORTED_MECHANISMS)}"
        )
    options = dict(_JAAS_OPTION.findall(properties.get("sasl.jaas.config", "")))
    if not {"username", "password"} <= options.keys():
        raise InvalidCommandConfig(
            'sasl.jaas.config needs username="..." and password="...", as for Kafka\'s tools'
        )
    user, password = (re.sub(r"\\(.)", r"\1", options[name]) for name in ("username", "password"))
    return mechanism, SaslAccess(username=user, password=password, mechanisms=(mechanism,))


def _tls(properties: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https")
    if algorithm.lower() not in ("https", ""):
        raise InvalidCommandConfig(
            f"ssl.endpoint.identification.algorithm={algorithm}: expected https, or nothing for no check"
        )
    context.check_hostname = bool(algorithm)
    try:
        _trust(context, properties)
        _identify(context, properties)
    except (ssl.SSLError, ValueError) as error:
        raise InvalidCommandConfig(
            f"the certificates of ssl.truststore or ssl.keystore: {error}"
        ) from error
    return context


def _trust(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    """Trust the authorities of the trust store; those of this machine if there is none."""
    pem = properties.get("ssl.truststore.certificates")
    if pem is None and "ssl.truststore.location" in properties:
        store = _store(properties, "ssl.truststore")
        pem = store if isinstance(store, str) else _certificates_of(store)
    if pem is not None:
        context.load_verify_locations(cadata=pem)


def _identify(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    """Use the client's own certificate, if there is one."""
    password = properties.get("ssl.key.password")
    key = properties.get("ssl.keystore.key")
    if key is not None:
        pem = f"{key}\n{properties.get('ssl.keystore.certificate.chain', '')}\n"
    elif "ssl.keystore.location" in properties:
        store = _store(properties, "ssl.keystore")
        if not isinstance(store, str):
            password = password or properties.get("ssl.keystore.password")
        pem = store if isinstance(store, str) else _identity_in(store, password)
    else:
        return
    with tempfile.NamedTemporaryFile("w", prefix="kafka-conformance-", suffix=".pem") as file:
        # The module ssl reads keys only from files; this one is readable by its owner alone.
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=password)


def _store(properties: Mapping[str, str], prefix: str) -> str | PKCS12KeyAndCertificates:
    """Return the content of a store: PEM as text, or a decrypted PKCS#12."""
    location = Path(properties[f"{prefix}.location"])
    try:
        content = location.read_bytes()
    except OSError as error:
        raise InvalidCommandConfig(f"{prefix}.location={location}: {error}") from error
    if _PEM in content:
        return content.decode("utf-8", errors="replace")
    if content.startswith(_JKS):
        raise InvalidCommandConfig(
            f"{prefix}.location={location} is a JKS file; convert it: "
            f"keytool -importkeystore -srckeystore {location} -destkeystore {location.stem}.p12 -deststoretype PKCS12"
        )
    password = properties.get(f"{prefix}.password")
    try:
        return load_pkcs12(content, None if password is None else password.encode())
    except ValueError as error:
        raise InvalidCommandConfig(
            f"{prefix}.location={location} is neither PEM nor a PKCS#12 file that {prefix}.password opens: {error}"
        ) from error


def _certificates_of(store: PKCS12KeyAndCertificates) -> str:
    listed = [store.cert, *store.additional_certs]
    return "".join(
        each.certificate.public_bytes(Encoding.PEM).decode() for each in listed if each is not None
    )


def _identity_in(store: PKCS12KeyAndCertificates, password: str | None) -> str:
    if store.key is None:
        raise InvalidCommandConfig("ssl.keystore.location has no private key")
    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return key.decode() + _certificates_of(store)
