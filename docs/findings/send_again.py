#!/usr/bin/env python3
"""Sends the requests of a stored failure of a broker again, and compares the responses with the recorded ones.

Usage: python send_again.py FOLDER HOST:PORT [LISTENER=HOST:PORT ...] [certificate=FILE.pem] [ca=FILE.pem]

The first address is that of the listener on which the failure was seen; if the failure needs further listeners of the
target, the script names them.
If credentials were given for the run, they are not in the folder: the script reads them from the variables KAFKA_USERNAME
and KAFKA_PASSWORD. Only then the server's certificate is checked, because it gets the password: by the authority in
ca=FILE.pem, or by those of the machine. certificate=FILE.pem contains a client certificate with its key, for a target that
requires one.
Exit status: 1 if the target does again what was recorded; 2 if this script cannot say: the responses differ from the
recorded ones, and whether they are right is not decided here, or they do not show this failure, which was seen elsewhere, for
example in a metric; 3 if there is no connection, or for wrong usage.
`kafka-conformance replay` with FOLDER judges again, and ends with 0 if the target keeps the clause.
Needs only Python's standard library and failure.json in FOLDER, which contains the bytes.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
import socket
import ssl
import sys
import time
from pathlib import Path

SILENCE_S = 2
PAUSE_S = 0.02  # between pieces, so that the target reads each by itself
MAX_FRAME = 16 * 1024 * 1024

# connection: counted from 0, opened by its first step to the listener, over TLS or not.
# pieces: what is written, in hexadecimal, write by write; a step without any, without an answer, a pause and
#   end_of_stream closes the connection.
# pause_s: for how many seconds nothing is sent on the connection; other connections are used meanwhile.
# end_of_stream: our side of the stream ends after the pieces.
# sentinel: correlation id of a plain request, the last of the pieces, whose response shows whether the
#   connection is alive; empty if there is none.
# recorded: the response to each request; for the sentinel only whether it was answered, or answered first; after end_of_stream
#   whether the target closed. A dot stands for a digit that may differ.
# stray: bytes that came after that and belong to no request.
# tokens: for a request whose token is hidden, what the script needs to make one: its mechanism, how its length is written, and
#   the bytes around it. The response to such a request is recorded as "a token".
if {"-h", "--help"} & set(sys.argv[1:]):
    print(__doc__)
    sys.exit(0)
try:
    FOLDER = Path(sys.argv.pop(1))
    FACTS = json.loads((FOLDER / "failure.json").read_text())
    LISTENER, STEPS = FACTS["listener"], FACTS["steps"]
    OTHER_LISTENERS = {step["listener"] for step in STEPS} - {LISTENER}
    HIDDEN = any(step.get("tokens") for step in STEPS)
except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
    print(f"{__doc__}\nno folder of a broker's failure was given, or its failure.json has no complete steps: {error}")
    sys.exit(3)


def is_frame(text):
    """Return whether a text is a response in hexadecimal, and no word."""
    return not text.strip("0123456789abcdef")


def read_varint(data):
    """Return the unsigned varint that bytes begin with, 0 if there are none, and what follows it."""
    number, shift = 0, 0
    while data:
        number |= (data[0] & 127) << shift
        shift, is_last, data = shift + 7, data[0] < 128, data[1:]
        if is_last:
            break
    return number, data


class Tokens:
    """Makes the tokens of one connection, one after the other.

    A token of PLAIN is the password; one of SCRAM proves that it is known, and answers what the target has sent.
    """

    def __init__(self):
        self.first, self.challenge = "", b""

    def make(self, mechanism):
        """Return the next token."""
        user, password = os.environ["KAFKA_USERNAME"], os.environ["KAFKA_PASSWORD"].encode()
        if not mechanism.startswith("SCRAM-"):
            return b"\0".join((b"", user.encode(), password))
        if not self.first:
            name = user.replace("=", "=3D").replace(",", "=2C")
            self.first = f"n={name},r={secrets.token_hex(12)}"
            return f"n,,{self.first}".encode()
        digest = mechanism[len("SCRAM-"):].replace("-", "").lower()
        server = self.challenge.decode()
        attributes = dict(part.split("=", 1) for part in server.split(","))
        salted = hashlib.pbkdf2_hmac(digest, password, base64.b64decode(attributes["s"]), int(attributes["i"]))
        final = f"c=biws,r={attributes['r']}"
        key = hmac.digest(salted, b"Client Key", digest)
        signed = f"{self.first},{server},{final}".encode()
        self.first = ""
        signature = hmac.digest(hashlib.new(digest, key).digest(), signed, digest)
        proof = bytes(a ^ b for a, b in zip(key, signature))
        return f"{final},p={base64.b64encode(proof).decode()}".encode()

    def request(self, recorded, how):
        """Return a recorded request in hexadecimal, with a token in place of the one that is hidden."""
        if not how:
            return recorded
        try:
            token = self.make(how["mechanism"])
        except (ValueError, LookupError):
            print("the target's token cannot be read")
            token = b""
        size, varint = len(token) + 1, b""
        while size > 127:
            size, varint = size >> 7, varint + bytes([size & 127 | 128])
        written = {"bare": b"", "int32": len(token).to_bytes(4, "big"), "varint": varint + bytes([size])}
        payload = bytes.fromhex(how["head"]) + written[how["form"]] + token + bytes.fromhex(how["tail"])
        return (len(payload).to_bytes(4, "big") + payload).hex()

    def take(self, answer, how):
        """Keep the target's token, which follows the correlation id, the error code and a message unless it is bare.

        If its length is a varint, the response has tagged fields after the correlation id as well.
        """
        data = bytes.fromhex(answer)[4:] if is_frame(answer) else b""
        if how["form"] == "int32":
            message = max(int.from_bytes(data[6:8], "big", signed=True), 0)
            data = data[8 + message :]
            length = max(int.from_bytes(data[:4], "big", signed=True), 0)
            data = data[4 : 4 + length]
        elif how["form"] == "varint":
            count, data = read_varint(data[4:])
            for _ in range(min(count, len(data))):
                size, data = read_varint(read_varint(data)[1])
                data = data[size:]
            message, data = read_varint(data[2:])
            length, data = read_varint(data[max(message - 1, 0) :])
            data = data[: max(length - 1, 0)]
        self.challenge = data


def shown(now, then):
    """Return what came without what the recording hides: a token, or the password if the target repeats it."""
    if not HIDDEN:
        return now
    if then == "a token" and is_frame(now):
        return then
    password = os.environ["KAFKA_PASSWORD"].encode().hex()
    if len(now) != len(then):
        return now.replace(password, "." * len(password)) if password else now
    return "".join(b if b == "." else a for a, b in zip(now, then))


def receive(connection):
    """Return the next bytes, or the word for why none come."""
    try:
        return connection.recv(65536) or "closed"
    except TimeoutError:
        return "silent"
    except OSError:
        return "closed"


def read_frames(connection, count, stray_bytes):
    """Return up to count frames in hexadecimal, why no more came, and the bytes after them."""
    connection.settimeout(SILENCE_S)
    data, frames = b"", []
    while len(frames) < count or len(data) < stray_bytes:
        size = int.from_bytes(data[:4], "big", signed=True)
        if len(frames) < count and len(data) >= 4 and not 0 <= size <= MAX_FRAME:
            return frames, "no frame", data
        if len(frames) < count and 4 <= 4 + size <= len(data):
            frames.append(data[: 4 + size].hex())
            data = data[4 + size :]
            continue
        piece = receive(connection)
        if isinstance(piece, str):
            return frames, piece, data
        data += piece
    return frames, "", data


def play(connection, step):
    """Do one step; return what came, in the form of `recorded`, and whether the stray bytes came again."""
    try:
        for number, piece in enumerate(step["pieces"]):
            time.sleep(PAUSE_S if number else 0)
            connection.sendall(bytes.fromhex(piece))
        if step["end_of_stream"]:
            connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # closed while we wrote; earlier bytes can still be read
    # After an ignored request with a sentinel, a late response is waited for; other ignored requests get none.
    awaited = [each for each in step["recorded"] if step["sentinel"] or each != "ignored"]
    count, stray = len(awaited), step["stray"]
    frames, end, rest = read_frames(connection, count, len(stray) // 2)
    stray_again = matches(rest.hex()[: len(stray)], stray)
    if not step["sentinel"]:
        rest = iter(frames + [end] * (count - len(frames)))
        return ["ignored" if each == "ignored" else next(rest) for each in step["recorded"]], stray_again
    if frames and frames[0][8:16] == step["sentinel"]:
        if len(frames) == 2 and frames[1][8:16] != step["sentinel"]:
            return [frames[1], "answered first"], stray_again
        ignored = ["closed", "answered first"] if end == "closed" else ["ignored", "answered"]
        return ignored, stray_again
    after = "answered" if len(frames) == 2 else "unanswered"
    return [frames[0] if frames else end, after], stray_again


def matches(now, then):
    """Return whether what came is what was recorded."""
    if then == "a token":
        return is_frame(now)
    return len(now) == len(then) and all(b in (a, ".") for a, b in zip(now, then))


def open_connection(address, tls, certificate, ca):
    """Connect to HOST:PORT."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host.strip("[]"), int(port)), 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls:
        context = ssl.create_default_context(cafile=ca) if HIDDEN else ssl._create_unverified_context()
        if certificate:
            context.load_cert_chain(certificate)
        connection = context.wrap_socket(connection, server_hostname=host.strip("[]"))
    return connection


def main():
    unknown = [argument for argument in sys.argv[2:] if "=" not in argument]
    if unknown:
        print(f"wrong usage: one HOST:PORT, then NAME=VALUE; not {' '.join(unknown)}\n{__doc__}")
        return 3
    given = dict(argument.split("=", 1) for argument in sys.argv[2:])
    seen = f"{FACTS['clause']}: {FACTS['message']}".partition("\n")[0]
    print("".join(character if character.isprintable() else "?" for character in seen))
    missing = [f"{name}=HOST:PORT" for name in sorted(OTHER_LISTENERS - given.keys())]
    if len(sys.argv) < 2 or missing:
        print(f"{__doc__}\nthis failure needs the address of the listener {' '.join([LISTENER, *missing])}")
        return 3
    if HIDDEN and not {"KAFKA_USERNAME", "KAFKA_PASSWORD"} <= os.environ.keys():
        print("set the variables KAFKA_USERNAME and KAFKA_PASSWORD: the credentials are not in this script")
        return 3
    makers = {}
    addresses = {**given, LISTENER: sys.argv[1]}
    connections, last_used, same = {}, {}, True
    for step in STEPS:
        number = step["connection"]
        if step["pause_s"]:
            print(f"connection {number}  nothing sent for {step['pause_s']:g} s")
            time.sleep(max(last_used[number] + step["pause_s"] - time.monotonic(), 0))
            continue
        if not step["pieces"] and not step["end_of_stream"] and not step["recorded"]:
            if number in connections:
                connections.pop(number).close()
            continue
        if number not in connections:
            address = addresses[step["listener"]]
            try:
                connections[number] = open_connection(
                    address, step["tls"], given.get("certificate"), given.get("ca")
                )
            except OSError as error:
                print(f"no connection to {address}: {error}")
                return 3
        for piece in step["pieces"]:
            print(f"connection {number}  sent      {piece}")
        maker, hows = makers.setdefault(number, Tokens()), step.get("tokens", [])
        if hows:
            step = {**step, "pieces": [maker.request(*each) for each in zip(step["pieces"], hows)]}
        answers, stray_again = play(connections[number], step)
        for answer, how in zip(answers, hows):
            if how:
                maker.take(answer, how)
        last_used[number] = time.monotonic()
        same = same and stray_again
        for now, then in zip(answers, step["recorded"]):
            print(f"connection {number}  received  {shown(now, then)}")
            if not matches(now, then):
                print(f"connection {number}  recorded  {then}")
                same = False
    return conclude(same)


def conclude(same):
    """Say what the comparison shows; return the exit status."""
    if FACTS.get("seen_elsewhere"):
        print(f"The responses are {'' if same else 'not '}as recorded, but they do not show this failure: this script cannot say.")
    elif same:
        print("The failure appears again.")
        return 1
    else:
        print("The target does not do what was recorded. Whether it is right now, this script cannot say.")
    print(f"To judge it again: kafka-conformance replay {FOLDER}")
    return 2


if __name__ == "__main__":
    try:
        status = main()
    except ValueError as error:
        print(f"wrong usage: {error}")
        status = 3
    except Exception as error:  # Only what was seen may end with 1.
        print(f"the failure cannot be tried: {error!r}")
        status = 3
    sys.exit(status)