#!/usr/bin/env python3
"""Reproduces one failure: KIP-1242.on-every-listener

The ids are checked before SASL authentication as on any other listener of a broker.
Seen on apache-kafka-4.4.0 (sasl_plaintext): NONE (0) for the wrong cluster, but REBOOTSTRAP_REQUIRED (129) on plaintext

Usage: python reproducer.py HOST:PORT plaintext=HOST:PORT
The first address is the address of the listener sasl_plaintext.
Exit status: 1 if the target does again what was recorded; 2 if this script cannot say: the responses differ from the
recorded ones, both are printed, but whether they are right is not decided here; 3 if there is no connection, or for wrong usage.
`kafka-conformance replay` with the folder of this script judges again, and ends with 0 if the target keeps the clause.
Needs only Python's standard library.
"""

import socket
import sys
import time

LISTENER = "sasl_plaintext"
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
            "00000054001200050000000700116b61666b612d636f6e666f726d616e636500126b61666b612d636f6e666f726d616e636506302e312e301b6e6f742030755a4c6d486864524832383650534e7065645143510000000100000000120012000005e471e1000873656e74696e656c",
        ],
        "sentinel": "05e471e1",
        "recorded": [
            "0000000c00000007008101........00",
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
    {
        "connection": 1,
        "listener": "sasl_plaintext",
        "tls": False,
        "pause_s": 0.0,
        "end_of_stream": False,
        "pieces": [
            "00000054001200050000000700116b61666b612d636f6e666f726d616e636500126b61666b612d636f6e666f726d616e636506302e312e301b6e6f742030755a4c6d486864524832383650534e7065645143510000000100000000220011000005e471e100116b61666b612d636f6e666f726d616e63650005504c41494e",
        ],
        "sentinel": "05e471e1",
        "recorded": [
            "0000036c0000000700004e00000000000d000001000400120000020001000b0000030000000d0000080002000a0000090001000a00000a0000000600000b0000000900000c0000000400000d0000000500000e0000000500000f000000060000100000000500001100000001000012000000050000130002000700001400010006000015000000020000160000000500001700020004000018000000050000190000000400001a0000000500001b0001000200001c0000000600001d0001000300001e0001000300001f000100030000200001000400002100000002000022000100020000230001000500002400000002000025000000030000260001000300002700010002000028000100020000290001000300002a0000000300002b0000000200002c0000000100002d0000000100002e0000000000002f0000000000003000000001000031000000010000320000000000003300000000000037000000020000390000000200003c0000000200003d00000000000040000000000000410000000000004200000002000044000000010000450000000100004a0000000100004b0000000000004c0001000100004d0001000100004e0001000200004f0001000200005000000001000051000000000000530000000000005400000000000055000000010000560000000000005700000001000058000000010000590000000100005a0000000100005b0000000000005c0000000000005d0000000000005e0000000000........0300a401080e67726f75702e76657273696f6e00000001000e6b726166742e76657273696f6e0000000100116d657461646174612e76657273696f6e00070021000e73686172652e76657273696f6e00000002001073747265616d732e76657273696f6e0000000100147472616e73616374696f6e2e76657273696f6e000000020021656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e00000001000108................029101070e67726f75702e76657273696f6e00010001001073747265616d732e76657273696f6e0001000100147472616e73616374696f6e2e76657273696f6e000200020021656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e00010001000e73686172652e76657273696f6e0002000200116d657461646174612e76657273696f6e0021002100",
            "answered",
        ],
        "stray": "",
    },
    {
        "connection": 1,
        "listener": "sasl_plaintext",
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
    if len(sys.argv) < 2 or not given.keys() >= set(['plaintext']):
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
    sys.exit(status)