"""TLS without a socket: what is a record, and what a planted defect lets through."""

from __future__ import annotations

import argparse
import contextlib
import ssl
from pathlib import Path
from typing import Any

import pytest

from fixtures.client.running_broker import ClientCertificate, TlsFiles
from fixtures.client.tls_stream import cut
from fixtures.client.transport import client_hello, tls_context
from fixtures.kafka_setup.certificates import client_files, write_certificates
from fixtures.launchers.built_in import certificate_options
from reference_model.server import _contexts
from reference_model.state_machine import TlsOpening
from reference_model.tls import TlsLayer, TlsRefused, tls_records_size, unfinished_record

HELLO = client_hello("TLSv1_2")
PLAIN = bytes.fromhex("00000004 00120000")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the certificates of a broker and its clients."""
    path = tmp_path_factory.mktemp("certificates")
    write_certificates(path, "127.0.0.1")
    certificate_options(path)
    return path


def layer(folder: Path, **decisions: Any) -> TlsLayer:
    """Return the server's side of a connection, with the decisions of a planted defect."""
    options = argparse.Namespace(
        tls_authority=folder / "authority.pem",
        tls_foreign_authority=folder / "foreign-authority.pem",
        tls_certificate=folder / "server.pem",
        tls_key=folder / "server.key",
    )
    opening = TlsOpening(listener="ssl", first_bytes=HELLO, **decisions)
    return TlsLayer(opening, _contexts(options)(opening))


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"", 0),
        (HELLO, len(HELLO)),
        (HELLO[:20], 20),
        (HELLO + PLAIN, len(HELLO)),
        (HELLO + b"\x15\x03\x03\x00\x02\x02\x28", len(HELLO) + 7),
        (PLAIN, 0),
    ],
    # The first bytes of a handshake are random.
    ids=["nothing", "one", "incomplete", "then-plain", "two", "plain"],
)
def test_records_end_where_other_bytes_begin(data: bytes, size: int) -> None:
    """Complete records and an incomplete last one are TLS; the rest is not."""
    assert tls_records_size(data) == size


@pytest.mark.parametrize("kept", [0, 1, 4, 5, 20, len(HELLO) - 1])
@pytest.mark.parametrize("earlier", [b"", HELLO], ids=["alone", "after-another"])
def test_unfinished_record_is_what_follows_the_complete_ones(earlier: bytes, kept: int) -> None:
    """The beginning of a record is unfinished, down to one byte of its header; a complete one is not."""
    assert unfinished_record(earlier + HELLO[:kept]) == HELLO[:kept]


@pytest.mark.parametrize("pieces", [[HELLO + PLAIN], [HELLO, PLAIN]], ids=["at-once", "one-by-one"])
def test_plaintext_during_the_handshake_is_refused(folder: Path, pieces: list[bytes]) -> None:
    """Bytes that are not TLS end the connection; with a planted defect they are served."""
    correct, defective = layer(folder), layer(folder, plaintext_after_hello=True)
    *earlier, last = pieces
    assert b"".join(map(correct.receive_data, earlier)) == b""
    with pytest.raises(TlsRefused):
        correct.receive_data(last)
    assert [defective.receive_data(piece) for piece in pieces][-1] == PLAIN
    defective.data_to_send()
    defective.encrypt(PLAIN)
    assert defective.data_to_send() == PLAIN


def shake_hands(
    server: TlsLayer, files: TlsFiles, certificate: ClientCertificate, newest: str | None = None
) -> tuple[ssl.SSLObject, ssl.MemoryBIO]:
    """Complete a handshake, and return the client's side and the bytes that it sends."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = tls_context(files, certificate=certificate, newest=newest)
    client = context.wrap_bio(to_client, to_server)
    for _ in range(3):
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        server.receive_data(to_server.read())
        to_client.write(server.data_to_send())
    return client, to_server


def is_refused(server: TlsLayer, files: TlsFiles, certificate: ClientCertificate) -> bool:
    """Return whether a client that shows a certificate is refused."""
    try:
        shake_hands(server, files, certificate)
    except TlsRefused:
        return True
    return False


@pytest.mark.parametrize(
    ("certificate", "decision"),
    [
        (ClientCertificate.FOREIGN, "accepts_foreign"),
        (ClientCertificate.EXPIRED, "accepts_expired"),
    ],
)
def test_certificate_has_to_be_valid_and_of_the_own_authority(
    folder: Path, certificate: ClientCertificate, decision: str
) -> None:
    """Only the planted defect accepts the certificate; a trusted one is always accepted."""
    files = client_files(folder)
    required = {"certificate_required": True}
    assert is_refused(layer(folder, **required), files, certificate)
    assert not is_refused(layer(folder, **required), files, ClientCertificate.TRUSTED)
    assert not is_refused(layer(folder, **required, **{decision: True}), files, certificate)


def one_byte_records(
    server: TlsLayer, folder: Path, data: bytes, newest: str | None = None
) -> list[bytes]:
    """Complete a handshake, and return a record for each byte of the data."""
    trusted = ClientCertificate.TRUSTED
    client, to_server = shake_hands(server, client_files(folder), trusted, newest)
    records = []
    for byte in data:
        client.write(bytes([byte]))
        records.append(to_server.read())
    return records


@pytest.mark.parametrize("cut", [1, 4, 5, 9])
def test_record_is_read_however_it_is_cut(folder: Path, cut: int) -> None:
    """A record in two pieces is read when both are there; a planted defect refuses it if its header is cut."""
    correct, defective = layer(folder), layer(folder, header_must_be_whole=True)
    (record,) = one_byte_records(correct, folder, b"a")
    assert [correct.receive_data(record[:cut]), correct.receive_data(record[cut:])] == [b"", b"a"]
    (record,) = one_byte_records(defective, folder, b"a")
    if cut < 5:
        with pytest.raises(TlsRefused):
            defective.receive_data(record[:cut])
    else:
        assert defective.receive_data(record[:cut]) == b""


def test_record_may_come_in_any_number_of_pieces(folder: Path) -> None:
    """A record is read however many pieces there are; a planted defect accepts a limited number."""
    correct, defective = layer(folder), layer(folder, most_pieces=4)
    (record,) = one_byte_records(correct, folder, b"a")
    pieces = [record[place : place + 1] for place in range(len(record))]
    assert b"".join(map(correct.receive_data, pieces)) == b"a"
    *earlier, last = one_byte_records(defective, folder, b"abc")
    for record, byte in zip(earlier, (b"a", b"b"), strict=True):
        assert b"".join(map(defective.receive_data, cut(record, [1, 2, 3]))) == byte
    for piece in cut(last, [1, 2, 3])[:3]:
        assert defective.receive_data(piece) == b""
    with pytest.raises(TlsRefused):
        defective.receive_data(last[3:4])


def test_all_records_of_one_read_are_decrypted(folder: Path) -> None:
    """Records that come together are read together; with a planted defect some wait for further bytes."""
    correct, defective = layer(folder), layer(folder, most_tiny_records=2)
    assert correct.receive_data(b"".join(one_byte_records(correct, folder, b"abcd"))) == b"abcd"
    *earlier, last = one_byte_records(defective, folder, b"abcd")
    assert defective.receive_data(b"".join(earlier)) == b"ab"
    assert defective.receive_data(last) == b"cd"


def test_both_versions_of_tls_are_served(folder: Path) -> None:
    """TLS 1.2 and 1.3 carry the same bytes; a planted defect refuses the first that come in one of them."""
    for newest, refused in (("TLSv1_2", "TLSv1.2"), ("TLSv1_3", "TLSv1.3")):
        correct, defective = layer(folder), layer(folder, refused_version=refused)
        (record,) = one_byte_records(correct, folder, b"a", newest)
        assert correct.receive_data(record) == b"a"
        (record,) = one_byte_records(defective, folder, b"a", newest)
        with pytest.raises(TlsRefused):
            defective.receive_data(record)
