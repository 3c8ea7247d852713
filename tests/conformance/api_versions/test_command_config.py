"""Kafka's properties for a secured listener."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509 import load_pem_x509_certificate

from conformance.api_versions.command_config import (
    DEFAULT_TIMEOUT_MS,
    InvalidCommandConfig,
    command_config,
    read_command_config,
)

AUTHORITY = trustme.CA()
IDENTITY = AUTHORITY.issue_cert("client.example")
KEY = IDENTITY.private_key_pem.bytes().decode()
CHAIN = "".join(part.bytes().decode() for part in IDENTITY.cert_chain_pems)
CA = AUTHORITY.cert_pem.bytes().decode()
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p\\"q";'
SSL = {"security.protocol": "SSL"}


def pkcs12(folder: Path, *, key: bool, password: str) -> str:
    """Write a PKCS#12 file with the authority's certificate and, if asked for, the client's key; return its name."""
    path = folder / "store.p12"
    path.write_bytes(
        serialize_key_and_certificates(
            b"client",
            load_pem_private_key(KEY.encode(), None) if key else None,  # type: ignore[arg-type]
            load_pem_x509_certificate(CHAIN.encode()) if key else None,
            [load_pem_x509_certificate(CA.encode())],
            BestAvailableEncryption(password.encode()),
        )
    )
    return str(path)


def context_for(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return the TLS context of properties."""
    context = command_config({**SSL, **properties}).security.tls
    assert context is not None
    return context


def test_nothing_is_plaintext() -> None:
    """As for Kafka's tools; other properties are ignored."""
    config = command_config({"bootstrap.servers": "a:1", "sasl.mechanism": "GSSAPI"})
    assert (config.security.tls, config.security.access) == (None, None)
    assert config.timeout_s == DEFAULT_TIMEOUT_MS / 1000


def test_file_follows_the_rules_of_java(tmp_path: Path) -> None:
    """Escapes, continued lines, and a colon instead of an equals sign."""
    path = tmp_path / "client.properties"
    path.write_text(
        "# a comment\nsecurity.protocol : sasl_plaintext\nsasl.mechanism=SCRAM-SHA-\\\n  512\n"
        'sasl.jaas.config=x required username="\\u00fc" password="p";\nrequest.timeout.ms=250\n'
    )
    config = read_command_config(path)
    assert config.security.mechanism == "SCRAM-SHA-512"
    assert config.security.access is not None
    assert config.security.access.username == "ü"
    assert config.timeout_s == 0.25


def test_quotes_in_a_password_are_unescaped() -> None:
    """As Java's login modules do."""
    config = command_config(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": JAAS,
        }
    )
    assert config.security.tls is not None
    assert config.security.access is not None
    assert config.security.access.password == 'p"q'


@pytest.mark.parametrize("kind", ["inline", "file", "pkcs12"])
def test_trust_store(kind: str, tmp_path: Path) -> None:
    """Its authorities are trusted, and hosts are checked."""
    (tmp_path / "ca.pem").write_text(CA)
    context = context_for(
        {
            "inline": {"ssl.truststore.certificates": CA},
            "file": {"ssl.truststore.location": str(tmp_path / "ca.pem")},
            "pkcs12": {
                "ssl.truststore.location": pkcs12(tmp_path, key=False, password="secret"),
                "ssl.truststore.password": "secret",
            },
        }[kind]
    )
    assert load_pem_x509_certificate(CA.encode()).serial_number in {
        int(str(each["serialNumber"]), 16) for each in context.get_ca_certs()
    }
    assert context.check_hostname
    assert not context_for({"ssl.endpoint.identification.algorithm": ""}).check_hostname


@pytest.mark.parametrize("kind", ["inline", "file", "pkcs12"])
def test_key_store(kind: str, tmp_path: Path) -> None:
    """The client's key and certificate are read; a wrong key would be an error."""
    (tmp_path / "client.pem").write_text(KEY + CHAIN)
    context_for(
        {
            "inline": {"ssl.keystore.key": KEY, "ssl.keystore.certificate.chain": CHAIN},
            "file": {"ssl.keystore.location": str(tmp_path / "client.pem")},
            "pkcs12": {
                "ssl.keystore.location": pkcs12(tmp_path, key=True, password="secret"),
                "ssl.keystore.password": "secret",
            },
        }[kind]
    )


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"security.protocol": "TLS"}, "security.protocol=TLS: expected one of PLAINTEXT, SSL"),
        ({**SSL, "ssl.provider": "x"}, "ssl.provider is not supported"),
        ({**SSL, "ssl.endpoint.identification.algorithm": "x"}, "expected https, or nothing"),
        ({**SSL, "ssl.truststore.certificates": "x"}, "the certificates of ssl.truststore"),
        ({**SSL, "ssl.keystore.key": "x"}, "ssl.keystore: "),
        ({**SSL, "ssl.truststore.location": "/no/such/file"}, "ssl.truststore.location=/no/such"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms=soon: expected milliseconds"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism=GSSAPI is not supported; supported"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
            "sasl.jaas.config needs username",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.login.class": "x"},
            "sasl.login.class is not supported",
        ),
    ],
)
def test_what_is_not_supported_is_named(properties: Mapping[str, str], message: str) -> None:
    """The message names the property and what to do."""
    with pytest.raises(InvalidCommandConfig, match=message):
        command_config(properties)


@pytest.mark.parametrize(
    ("content", "password", "message"),
    [
        (b"\xfe\xed\xfe\xed1234", "", "is a JKS file; convert it: keytool -importkeystore"),
        (b"1234", "x", "neither PEM nor a PKCS#12 file"),
    ],
)
def test_store_that_cannot_be_read(
    content: bytes, password: str, message: str, tmp_path: Path
) -> None:
    """The message has the command that converts it."""
    path = tmp_path / "store.jks"
    path.write_bytes(content)
    with pytest.raises(InvalidCommandConfig, match=message):
        command_config(
            {**SSL, "ssl.truststore.location": str(path), "ssl.truststore.password": password}
        )


def test_key_store_without_a_key(tmp_path: Path) -> None:
    """A trust store was given."""
    store = pkcs12(tmp_path, key=False, password="secret")
    with pytest.raises(InvalidCommandConfig, match="has no private key"):
        context_for({"ssl.keystore.location": store, "ssl.keystore.password": "secret"})


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    """The message names it."""
    path = tmp_path / "client.properties"
    path.write_bytes(b"a=\xff")
    with pytest.raises(InvalidCommandConfig, match=r"client\.properties: "):
        read_command_config(path)
