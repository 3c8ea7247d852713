#!/usr/bin/env python3
"""Reproduces one failure: KIP-35.advertised-version-supported

No API and version in the table gets a response in that version's layout that contains UNSUPPORTED_VERSION.
Seen on kafka-cluster-4.4.0 (plaintext): StreamsGroupTopologyDescriptionUpdate v0: answered with UNSUPPORTED_VERSION, although the table lists it

Usage: python reproducer.py HOST:PORT
Exit status: 1 if the target does again what was recorded; 2 if this script cannot say: the responses differ from the
recorded ones, both are printed, but whether they are right is not decided here; 3 if there is no connection, or for wrong usage.
`kafka-conformance replay` with the folder of this script judges again, and ends with 0 if the target keeps the clause.
Needs only Python's standard library.
"""

import socket
import sys
import time

LISTENER = "plaintext"
SILENCE_S = 2
PAUSE_S = 0.02  # between pieces, so that the target reads each by itself
LARGEST_FRAME = 16 * 1024 * 1024

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
STEPS = [
    {
        "connection": 0,
        "listener": "plaintext",
        "tls": False,
        "pause_s": 0.0,
        "end_of_stream": False,
        "pieces": [
            "00000056005d00000000000700116b61666b612d636f6e666f726d616e636500196b61666b612d636f6e666f726d616e63652d616273656e74196b61666b612d636f6e666f726d616e63652d616273656e740000000001010000000000120012000005e471e1000873656e74696e656c",
        ],
        "sentinel": "05e471e1",
        "recorded": [
            "000000540000000700000000000023485468652062726f6b657220686173206e6f2073747265616d732067726f757020746f706f6c6f6779206465736372697074696f6e20706c7567696e20636f6e666967757265642e00",
            "answered",
        ],
        "stray": "",
    },
    {
        "connection": 0,
        "listener": "plaintext",
        "tls": False,
        "pause_s": 0.0,
        "end_of_stream": False,
        "pieces": [
        ],
        "sentinel": "",
        "recorded": [
        ],
        "stray": "",
    },
]


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
        if len(frames) < count and len(data) >= 4 and not 0 <= size <= LARGEST_FRAME:
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
    return len(now) == len(then) and all(b in (a, ".") for a, b in zip(now, then))


def open_connection(address, tls, certificate):
    """Connect to HOST:PORT."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host.strip("[]"), int(port)), 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    given = dict(argument.split("=", 1) for argument in sys.argv[2:] if "=" in argument)
    if len(sys.argv) < 2 or not given.keys() >= set([]):
        print(__doc__)
        return 3
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
                    address, step["tls"], given.get("certificate")
                )
            except OSError as error:
                print(f"no connection to {address}: {error}")
                return 3
        for piece in step["pieces"]:
            print(f"connection {number}  sent      {piece}")
        answers, stray_again = play(connections[number], step)
        last_used[number] = time.monotonic()
        same = same and stray_again
        for now, then in zip(answers, step["recorded"]):
            print(f"connection {number}  received  {now}")
            if not matches(now, then):
                print(f"connection {number}  recorded  {then}")
                same = False
    return conclude(same)


def conclude(same):
    """Say what the comparison shows; return the exit status."""
    if same:
        print("The failure appears again.")
        return 1
    print("The target does not do what was recorded. Whether it is right now, this script cannot say.")
    print(f"To judge it again: kafka-conformance replay {sys.argv[0]}")
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