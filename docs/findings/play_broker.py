#!/usr/bin/env python3
"""Plays the broker of a stored failure of a client.


Usage: python play_broker.py FOLDER [--port 9092] [--timeout SECONDS] [--run 'PROGRAM {bootstrap} {timeout}']

Start any build of the client against the printed address, or let --run start it. The script ends when the client has
gone, after --timeout, or with Ctrl-C.
Exit status: 1 if the client does again what was recorded, as far as the wire shows it; 2 if this script cannot say: the
client does something else, which may be right or wrong, or the wire alone does not show this failure; 3 if no client came,
or for wrong usage. `kafka-conformance replay` with FOLDER judges again, and ends with 0 if the client
keeps the clause.
Needs only Python's standard library and failure.json in FOLDER, which contains the script.
"""

import argparse
import json
import os
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

MAX_PRINTED = 60
GONE_S = 5  # a client without a connection for so long has gone
MAX_REQUEST = 1 << 20
NEWEST = 5  # version of ApiVersions
API_VERSIONS, METADATA, FIND_COORDINATOR, HANDSHAKE, AUTHENTICATE, DESCRIBE_CLUSTER = 18, 3, 10, 17, 36, 60
NAMES = {18: "ApiVersions", 3: "Metadata", 10: "FindCoordinator", 17: "SaslHandshake", 36: "SaslAuthenticate"}
NAMES[60] = "DescribeCluster"
MAX_ON_ONE_CONNECTION, MAX_IN_ALL = 20, 200

# tables: entries "api key:lowest-highest version" in the order in which they are written.
# nodes: for each broker what happens on the first connection to it, the second and so on; the last one repeats.
# unlisted: the brokers that Metadata does not list, such as a bootstrap server that is a load balancer.
# answers: what is done with the first ApiVersions request of a connection, the second and so on; the last one repeats.
#   "table" is an index of tables; what is not named is as a correct broker does it.
# unasked: what is sent before any request. older_table: the table for versions below an answer's "from_version".
# recorded: what the recorded client sent, in order: connection, api key, version, the range that was announced to it
#   for the API ("-": none), what it got, how often in a row.
try:
    FOLDER = Path(sys.argv.pop(1))
    FACTS = json.loads((FOLDER / "failure.json").read_text())
    DATA, LINES = FACTS["play"], FACTS["message"].split("\n")
except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
    print(f"{__doc__}\nno folder of a client's failure was given, or its failure.json has no complete play: {error}")
    sys.exit(3)
MESSAGE, SUMMARY = LINES[0], LINES[-1] if len(LINES) > 1 else ""


def int8(value):
    return struct.pack(">b", value)


def int16(value):
    return struct.pack(">h", value)


def int32(value):
    return struct.pack(">i", value)


def varint(value):
    value &= 0xFFFFFFFF
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def string(text, flexible):
    if text is None:
        return b"\0" if flexible else b"\xff\xff"
    data = text.encode()
    return (varint(len(data) + 1) if flexible else int16(len(data))) + data


def array(items, flexible, count=None):
    count = len(items) if count is None else count
    return (varint(count + 1) if flexible else int32(count)) + b"".join(items)


def tags(flexible):
    return b"\0" if flexible else b""


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def read_string(data, at, flexible=False):
    if flexible:
        size, at = read_varint(data, at)
        size -= 1
    else:
        size, at = struct.unpack_from(">h", data, at)[0], at + 2
    if size < 0:
        return "", at
    return data[at : at + size].decode("utf-8", "replace"), at + size


def skip_tags(data, at):
    count, at = read_varint(data, at)
    for _ in range(count):
        _, at = read_varint(data, at)
        size, at = read_varint(data, at)
        at += size
    return at


def entries_in(answer):
    """Return the entries of an answer's table as (key, lowest, highest)."""
    return answer["entries"] if "entries" in answer else entries_of(DATA["tables"][answer["table"]])


def entries_of(table):
    entries = []
    for entry in table.split():
        key, _, versions = entry.partition(":")
        low, _, high = versions.partition("..")
        entries.append((int(key), int(low), int(high)))
    return entries


def tag_section(fields):
    return varint(len(fields)) + b"".join(varint(tag) + varint(len(data)) + data for tag, data in fields)


def api_versions_body(answer, version):
    """Return the body of an ApiVersions response in the layout of a version."""
    if "body" in answer:
        return bytes.fromhex(answer["body"])
    version = min(max(answer.get("layout", version), 0), NEWEST)
    flexible = version >= 3
    entries = [
        int16(key) + int16(low) + int16(high) + tags(flexible)
        for key, low, high in entries_in(answer)
    ]
    body = int16(answer.get("error_code", 0))
    if flexible and "count_bytes" in answer:
        body += bytes.fromhex(answer["count_bytes"]) + b"".join(entries)
    else:
        body += array(entries, flexible, answer.get("claimed_count"))
    if version >= 1:
        body += int32(answer.get("throttle_time_ms", 0))
    if flexible:
        fields = [(tag, bytes.fromhex(data)) for tag, data in answer.get("unknown_tags", ())]
        for tag, name in ((0, "supported_features"), (2, "finalized_features")):
            levels = answer.get(name, ())
            if tag == 0 and version == 3:
                levels = [each for each in levels if each[1] != 0]
            if levels:
                keys = [string(each[0], True) + int16(each[1]) + int16(each[2]) + b"\0" for each in levels]
                fields.append((tag, array(keys, True)))
        if "finalized_features_epoch" in answer:
            fields.append((1, struct.pack(">q", answer["finalized_features_epoch"])))
        own = answer.get("tag_section")
        body += tag_section(sorted(fields)) if own is None else bytes.fromhex(own)
    return body


def api_versions_frame(answer, version, correlation_id):
    """Return the response to an ApiVersions request, as wrong as the script wants it."""
    if "raw" in answer:
        return bytes.fromhex(answer["raw"])
    body = api_versions_body(answer, version)
    if "cut_to" in answer:
        body = body[: answer["cut_to"]]
    number = (correlation_id + answer.get("correlation_shift", 0)) & 0xFFFFFFFF
    payload = struct.pack(">I", number) + (b"\0" if answer.get("flexible_header") else b"")
    payload += body + bytes.fromhex(answer.get("trailing", ""))
    frame = int32(answer.get("claimed_size", len(payload))) + payload
    return frame * answer.get("copies", 1) + bytes.fromhex(answer.get("appended", ""))


def writes_of(frame, answer):
    """Return what is written, how long after the write before, and what happens to the connection then."""
    count = max(1, min(answer.get("pieces", 1), len(frame)))
    cuts = [len(frame) * index // count for index in range(count + 1)]
    then = ["stay"] * (count - 1) + [answer.get("then", "stay")]
    delay_ms = answer.get("delay_ms", 0)
    return [(frame[cuts[index] : cuts[index + 1]], delay_ms, then[index]) for index in range(count)]


NO_OPERATIONS = int32(-(2**31))


def address_of(node, flexible, *, rack=False, fenced=False):
    number, host, port = node
    data = int32(number) + string(host, flexible) + int32(port)
    return data + (string(None, flexible) if rack else b"") + (b"\0" if fenced else b"") + tags(flexible)


def topics_asked(version, request):
    """Yield name and id of each topic of a Metadata request; the bytes of the name are those of the response too."""
    flexible = version >= 9
    _, at = read_string(request, 8)
    if flexible:
        count, at = read_varint(request, skip_tags(request, at))
        count -= 1
    else:
        count, at = struct.unpack_from(">i", request, at)[0], at + 4
    for _ in range(count):
        id_, at = (request[at : at + 16], at + 16) if version >= 10 else (b"", at)
        _, end = read_string(request, at, flexible)
        yield request[at:end], id_
        at = skip_tags(request, end) if flexible else end


def metadata_body(version, nodes, cluster_id, request):
    flexible = version >= 9
    unknown = [
        int16(3) + name + id_ + (b"\0" if version >= 1 else b"") + array([], flexible)
        + (NO_OPERATIONS if version >= 8 else b"") + tags(flexible)
        for name, id_ in topics_asked(version, request)
    ]
    body = int32(0) if version >= 3 else b""
    body += array([address_of(node, flexible, rack=version >= 1) for node in nodes], flexible)
    body += string(cluster_id, flexible) if version >= 2 else b""
    body += int32(nodes[0][0]) if version >= 1 else b""
    body += array(unknown, flexible)
    body += NO_OPERATIONS if 8 <= version <= 10 else b""
    body += int16(0) if version >= 13 else b""
    return body + tags(flexible)


def describe_cluster_body(version, nodes, cluster_id):
    brokers = [address_of(node, True, rack=True, fenced=version >= 2) for node in nodes]
    body = int32(0) + int16(0) + string(None, True) + (int8(1) if version >= 1 else b"")
    return body + string(cluster_id, True) + int32(nodes[0][0]) + array(brokers, True) + NO_OPERATIONS + b"\0"


def find_coordinator_body(version, nodes, request):
    flexible = version >= 3
    _, at = read_string(request, 8)
    at = skip_tags(request, at) if flexible else at
    number, host, port = nodes[0]
    if version >= 4:
        count, at = read_varint(request, at + 1)
        coordinators = []
        for _ in range(count - 1):
            key, at = read_string(request, at, True)
            where = int32(number) + string(host, True) + int32(port)
            coordinators.append(string(key, True) + where + int16(0) + string(None, True) + b"\0")
        return int32(0) + array(coordinators, True) + b"\0"
    body = int32(0) + int16(0) + string(None, flexible) if version >= 1 else int16(0)
    return body + int32(number) + string(host, flexible) + int32(port) + tags(flexible)


def authenticate_body(version, error):
    flexible = version >= 2
    message = string("Authentication failed" if error else None, flexible)
    token = b"\1" if flexible else int32(0)
    lifetime = struct.pack(">q", 0) if version >= 1 else b""
    return int16(error) + message + token + lifetime + tags(flexible)


# The newest version of each API that can be answered, and its first version with a tag section in the header.
SERVED = {METADATA: (13, 9), FIND_COORDINATOR: (6, 3), DESCRIBE_CLUSTER: (2, 0), HANDSHAKE: (1, 99), AUTHENTICATE: (2, 2)}


def other_frame(key, version, correlation_id, nodes, cluster_id, request, error):
    """Return the response to another API, with an error if it is about Metadata or a step of SASL; None for an API that is not served."""
    newest, flexible_from = SERVED.get(key, (-1, 0))
    if not 0 <= version <= newest:
        return None
    if key == METADATA and version >= 13 and error:
        body = int32(0) + array([], True) + string(None, True) + int32(-1) + array([], True) + int16(error) + b"\0"
    elif key == METADATA:
        body = metadata_body(version, nodes, cluster_id, request)
    elif key == FIND_COORDINATOR:
        body = find_coordinator_body(version, nodes, request)
    elif key == DESCRIBE_CLUSTER:
        body = describe_cluster_body(version, nodes, cluster_id)
    elif key == HANDSHAKE:
        body = int16(error) + array([string("SCRAM-SHA-512" if error else "PLAIN", False)], False)
    else:
        body = authenticate_body(version, error)
    payload = int32(correlation_id) + tags(version >= flexible_from) + body
    return int32(len(payload)) + payload


HEALTHY = {"table": 0}
UNREADABLE = {
    "raw", "body", "cut_to", "trailing", "claimed_count", "flexible_header", "claimed_size", "correlation_shift", "layout"
}
UNREADABLE_IF_FLEXIBLE = {"count_bytes", "tag_section"}
SASL = (HANDSHAKE, AUTHENTICATE)
CLOSES = -1


def gives_table(answer):
    """Return whether an answer is a success with a well-formed array."""
    is_success = answer.get("action", "answer") == "answer" and not answer.get("error_code")
    return is_success and not {"claimed_count", "count_bytes"} & answer.keys()


class Connection:
    """What is known of one connection, without a socket."""

    def __init__(self, number, node, script, is_healthy=False):
        self.number = number
        self.is_healthy = is_healthy
        self.node = node
        self.script = script
        self.asked = self.others = 0
        self.ranges = None  # what the broker serves: the last table without an error; before it, the next one
        self.announced, self.is_refusal = None, False  # what the client was given, and whether by error 35
        # what comes next: "versions" (which SASL lets a client ask once), "handshake", "token", "bare token" or "anything"
        self.awaits = "versions" if DATA["sasl"] else "anything"
        self.is_silent = script.get("on_open") == "silence"
        self.held = []  # the writes of a response that comes after the next one

    def opening(self):
        """Return what is written before any request."""
        unasked = self.script.get("unasked")
        if unasked is None or self.script.get("on_open", "serve") != "serve":
            return []
        return writes_of(api_versions_frame(unasked, 0, 0), unasked)

    def answer_for(self, version, request):
        """Return what is done with an ApiVersions request."""
        if self.awaits == "handshake":
            return {"action": "close", "entries": []}
        refusal = self.refusal_of(version)
        if self.awaits == "token":
            layout = {"layout": 0} if refusal else {}
            return {"error_code": 34, "then": "close", "entries": [], **layout}
        if refusal:
            return refusal
        answer = self.next_answer()
        self.asked += 1
        if version < answer.get("from_version", 0):
            answer = {"table": self.script.get("older_table", 0)}
        error = self.error_of_ids(request) if version >= 5 and gives_table(answer) else 0
        return {"error_code": error, "entries": [], "delay_ms": 250} if error else answer

    def refusal_of(self, version):
        """Return what a version of ApiVersions gets that the broker does not support; None if it supports it."""
        newest = self.script.get("newest_version", NEWEST)
        if not 0 <= version <= newest:
            return self.script.get("refusal") or {"error_code": 35, "layout": 0, "entries": [(API_VERSIONS, 0, newest)]}
        own = [entry for entry in self.ranges or () if entry[0] == API_VERSIONS]
        if own and not any(low <= version <= high for _, low, high in own):
            return {"error_code": 35, "layout": 0, "entries": own}
        return None

    def next_answer(self):
        answers = self.script.get("answers", [HEALTHY])
        return answers[min(self.asked, len(answers) - 1)]

    def served(self):
        """Return the entries by which the broker serves other APIs; they do not depend on whether it was asked."""
        if self.ranges is not None:
            return self.ranges
        answer = self.next_answer()
        return entries_in(answer if gives_table(answer) else HEALTHY)

    def error_of_ids(self, request):
        """Return what the ids of an ApiVersions request v5 get: 0 if they are those of this broker or both missing."""
        _, at = read_string(request, 8)
        _, at = read_string(request, skip_tags(request, at), True)
        _, at = read_string(request, at, True)
        is_null = request[at] == 0
        cluster_id, at = read_string(request, at, True)
        node = struct.unpack_from(">i", request, at)[0]
        if is_null or node == -1:
            return 0 if is_null and node == -1 else 42
        own = (self.script.get("cluster_id", DATA["cluster_id"]), self.id_of(self.node))
        return 0 if (cluster_id, node) == own else 129

    def id_of(self, node):
        ids = self.script.get("node_ids")
        return ids[node] if ids else node + 1

    def announced_range(self, key):
        """Return the lowest and highest version that the client was given for an API; None if it was given nothing."""
        if self.announced is None or (self.is_refusal and key != API_VERSIONS):
            return None
        ranges = [entry[1:] for entry in self.announced if entry[0] == key]
        return (min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else (0, -1)

    def respond(self, request, addresses):
        """Return what is written after a request, as `writes_of` does, and the outcome of the request."""
        held, self.held = self.held, []
        writes, outcome, is_held = self.served_now(request, addresses)
        if is_held:
            self.held, writes = writes, []
        return writes + held, outcome

    def served_now(self, request, addresses):
        """Return the writes of a request, its outcome, and whether the writes are held back."""
        key, version, correlation_id = struct.unpack_from(">hhi", request.ljust(8, b"\0"))
        if self.is_silent:
            return [], "silent", False
        if self.awaits == "bare token":
            self.awaits = "anything"
            if self.script.get("refused_login"):
                return writes_of(b"", {"then": "close"}), "closed", False
            return writes_of(int32(0), {}), "answer", False
        if key == API_VERSIONS:
            return self.about_versions(version, correlation_id, request)
        is_listed = any(entry[0] == key and entry[1] <= version <= entry[2] for entry in self.served())
        frame = None
        if is_listed and self.is_next(key):
            nodes = [
                (self.id_of(node), *address)
                for node, address in enumerate(addresses)
                if node not in DATA.get("unlisted", ())
            ]
            cluster_id = self.script.get("cluster_id", DATA["cluster_id"])
            error = self.error_of(key)
            frame = None if error == CLOSES else other_frame(key, version, correlation_id, nodes, cluster_id, request, error)
        if frame is None:
            return writes_of(b"", {"then": "close"}), "closed", False
        if key == HANDSHAKE:
            self.awaits = "token" if version else "bare token"
        elif key == AUTHENTICATE:
            self.awaits = "anything"
        self.others += 1
        closes = self.others >= self.script.get("closes_after", self.others + 1) or (key in SASL and error)
        return writes_of(frame, {"then": "close"} if closes else {}), "answer", False

    def error_of(self, key):
        """Return the error that an API other than ApiVersions gets; CLOSES if the connection is closed in its place."""
        refused = self.script.get("refused_login")
        if key == HANDSHAKE and refused == "mechanism":
            return 33
        if key == AUTHENTICATE and refused:
            return CLOSES if refused == "close" else 58
        return self.script.get("metadata_error", 0) if key == METADATA else 0

    def is_next(self, key):
        """Return whether an API other than ApiVersions is served at this point."""
        if self.awaits == "anything":
            return key not in SASL
        return key == (AUTHENTICATE if self.awaits == "token" else HANDSHAKE)

    def about_versions(self, version, correlation_id, request):
        answer = self.answer_for(version, request)
        action, is_held = answer.get("action", "answer"), answer.get("held_back", False)
        if action == "silence":
            self.is_silent = True
            return [], "silent", False
        if action != "answer":
            ends = {"delay_ms": answer.get("delay_ms", 0), "then": action}
            return writes_of(b"", ends), "closed", is_held
        entries = entries_in(answer)
        if gives_table(answer):
            self.ranges = entries
            # Releases before 1.0, which list no SaslAuthenticate, answer again.
            if self.awaits == "versions" and any(entry[0] == AUTHENTICATE for entry in entries):
                self.awaits = "handshake"
        frame = api_versions_frame(answer, version, correlation_id)
        error = int.from_bytes(frame[8:10], "big", signed=True)
        self.is_refusal = error == 35
        unreadable = UNREADABLE - ({"layout"} if self.is_refusal else set())
        unreadable |= UNREADABLE_IF_FLEXIBLE if version >= 3 else set()
        is_readable = unreadable.isdisjoint(answer)
        self.announced = entries if is_readable and error in (0, 35) else None
        outcome = f"error {error}" if error else "answer"
        return writes_of(frame, answer), outcome, is_held


class Broker:
    """The scripted brokers: their sockets, and a log of what came."""

    def __init__(self, host, port, context):
        self.context = context
        self.lock = threading.Lock()
        self.started = self.last_seen = None
        self.recovered = False
        self.log, self.opened, self.open = [], 0, 0
        self.per_node = [0] * len(DATA["nodes"])
        self.sockets, self.nodes = [], []
        for number in range(len(DATA["nodes"])):
            listening = socket.create_server((host, port + number if port else 0))
            self.sockets.append(listening)
            self.nodes.append((host, listening.getsockname()[1]))

    def start(self):
        for node, listening in enumerate(self.sockets):
            threading.Thread(target=self.accept, args=(node, listening), daemon=True).start()

    def accept(self, node, listening):
        while True:
            try:
                opened, _ = listening.accept()
            except OSError:
                return
            with self.lock:
                now = time.monotonic()
                self.started = self.started or now
                heals = DATA["heals_after_ms"]
                scripts = DATA["nodes"][node]
                script = scripts[min(self.per_node[node], len(scripts) - 1)]
                is_late = heals is not None and (now - self.started) * 1000 >= heals
                is_healthy = is_late and self.per_node[node] >= DATA["heals_after_connections"]
                connection = Connection(self.opened, node, {} if is_healthy else script, is_healthy)
                self.opened += 1
                self.open += 1
                self.per_node[node] += 1
            threading.Thread(target=self.serve, args=(opened, connection), daemon=True).start()

    def serve(self, opened, connection):
        where = f"connection {connection.number} (node {connection.node + 1})"
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context is not None:
                opened = self.context.wrap_socket(opened, server_side=True)
            self.say(f"{where}: opened")
            stays = connection.script.get("on_open") != "close" and self.write(opened, connection.opening())
            ended_by = self.talk(opened, connection, where) if stays else "broker"
            self.say(f"{where}: {ended_by} closed")
        except OSError as error:
            self.say(f"{where}: ended: {error}")
        finally:
            opened.close()
            with self.lock:
                self.open -= 1
                self.last_seen = time.monotonic()

    def talk(self, opened, connection, where):
        data = b""
        while True:
            piece = opened.recv(65536)
            if not piece:
                return "client"
            data += piece
            while len(data) >= 4:
                size = int.from_bytes(data[:4], "big", signed=True)
                if not 0 <= size <= MAX_REQUEST:
                    self.say(f"{where}: no Kafka request: {data[:40].hex()}")
                    return "broker"
                if len(data) < 4 + size:
                    break
                request, data = data[4 : 4 + size], data[4 + size :]
                announced = self.announced_range(connection, request)
                writes, outcome = connection.respond(request, self.nodes)
                self.note(connection, request, outcome, where, announced)
                if not self.write(opened, writes):
                    return "broker"

    def announced_range(self, connection, request):
        return connection.announced_range(struct.unpack_from(">h", request.ljust(2, b"\0"))[0])

    def write(self, opened, writes):
        """Write a response in its pieces; return whether the connection stays."""
        for data, delay_ms, then in writes:
            time.sleep(delay_ms / 1000)
            opened.sendall(data)
            if then == "reset":
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if then != "stay":
                return False
        return True

    def note(self, connection, request, outcome, where, announced=None):
        """Keep a request in the log, and print it."""
        key, version, correlation_id = struct.unpack_from(">hhi", request.ljust(8, b"\0"))
        with self.lock:
            self.last_seen = time.monotonic()
            self.log.append((connection.number, key, version, announced, outcome))
            self.recovered = self.recovered or (connection.is_healthy and key == METADATA and outcome == "answer")
            count = len(self.log)
        if count > MAX_PRINTED:
            if count == MAX_PRINTED + 1:
                self.say("... further requests are counted, not printed")
            return
        name = NAMES.get(key, f"API {key}")
        self.say(f"{where}: {name} v{version}, correlation id {correlation_id}{software(key, version, request)}: {outcome}")

    def say(self, text):
        if len(self.log) <= MAX_PRINTED + 1:
            print(text, flush=True)

    def is_done(self, is_watched):
        """Return whether there is no more to learn: the client has gone, unless its process is watched, or it loops."""
        with self.lock:
            asked = [entry[0] for entry in self.log if entry[1] == API_VERSIONS]
            if loops_in(asked):
                return True
            if is_watched or self.open or self.last_seen is None:
                return False
            return time.monotonic() - self.last_seen > GONE_S


def software(key, version, request):
    """Return the client's id, and name and version of its software if the request has them."""
    try:
        client_id, at = read_string(request, 8)
        text = f", client id {client_id!r}"
        if key == API_VERSIONS and 3 <= version <= NEWEST:
            name, at = read_string(request, skip_tags(request, at), True)
            text += f", {name} {read_string(request, at, True)[0]}"
        return text
    except (IndexError, struct.error):
        return ", cut off"


def loops_in(connections):
    """Return whether ApiVersions requests, given by their connections, are more than any backoff explains."""
    return len(connections) > MAX_IN_ALL or any(
        connections.count(number) > MAX_ON_ONE_CONNECTION for number in set(connections)
    )


def misbehaviours(log):
    """Return what a client did wrong as far as the wire shows it, each in words."""
    found = set()
    if loops_in([entry[0] for entry in log if entry[1] == API_VERSIONS]):
        found.add(f"more than {MAX_ON_ONE_CONNECTION} ApiVersions requests on a connection, or {MAX_IN_ALL} in all")
    refused, asked = {}, {}
    for connection, key, version, announced, outcome in log:
        outside = announced is not None and not announced[0] <= version <= announced[1]
        before = refused.get(connection)
        if before in ("error 42", "error 129"):
            found.add(f"a request after {before} on the same connection")
        if key != API_VERSIONS and outside:
            found.add(f"{NAMES.get(key, key)} in a version outside the range that it was given")
        if key == API_VERSIONS and before == "error 35":
            if version > asked[connection]:
                found.add("a higher version of ApiVersions after error 35")
            elif announced is not None and announced[0] <= announced[1] and outside:
                found.add("a version of ApiVersions outside the range of error 35")
        if key == API_VERSIONS:
            refused[connection], asked[connection] = outcome, version
    return found


def outline(log):
    """Return the different requests and what they got, in the order of their first appearance."""
    return list(dict.fromkeys((NAMES.get(key, f"API {key}"), version, outcome) for _, key, version, _, outcome in log))


def recorded_log():
    """Return the recorded requests in the form of the log."""
    log = []
    for line in DATA["recorded"]:
        connection, key, version, announced, outcome, count = line.split(" ")
        low, _, high = announced.partition("..")
        entry = (int(connection), int(key), int(version), (int(low), int(high)) if high else None, outcome.replace("_", " "))
        log += [entry] * int(count)
    return log


NOT_RECOVERED = "no Metadata request after the broker healed"


def recorded_misbehaviours():
    """Return what the recorded client did wrong, as far as the wire shows it."""
    return misbehaviours(recorded_log()) | ({NOT_RECOVERED} if "; not recovered" in SUMMARY else set())


def can_show():
    """Return whether a client that does again what was recorded ends this script with 1."""
    return bool(recorded_misbehaviours()) or any(each.name in MESSAGE for each in signal.Signals)


def compare(log, exit_word, recovered):
    """Say whether the recorded misbehaviour occurred; return the exit status."""
    recorded = recorded_log()
    then, now = recorded_misbehaviours(), misbehaviours(log)
    if NOT_RECOVERED in then and not recovered:
        now.add(NOT_RECOVERED)
    if SUMMARY:
        print(f"recorded: {SUMMARY}")
    for text in sorted(now):
        print(f"now:      {text}{'' if text in then else ' (not recorded before)'}")
    if exit_word.startswith("SIG") and exit_word in MESSAGE:
        print(f"now:      {exit_word} ended the client, as recorded")
        return conclude(True)
    if then:
        for text in sorted(then - now):
            print(f"recorded, not seen now: {text}")
        return conclude(bool(then & now))
    print("The wire alone does not decide it. Each different request, and what it got:")
    for word, entries in (("recorded", recorded), ("now", log)):
        for name, version, outcome in outline(entries) or [("nothing", "", "")]:
            print(f"{word + ':':9} {name}{f' v{version}: {outcome}' if outcome else ''}")
    same = outline(recorded) == outline(log)
    print(f"The requests are {'' if same else 'not '}those that were recorded.")
    return conclude(False)


def conclude(reproduced):
    """Say what the comparison shows; return the exit status."""
    if reproduced:
        print("The client does what was recorded.")
        return 1
    print("Whether the client is right now, this script cannot say.")
    print(f"To judge it again: kafka-conformance replay {FOLDER}")
    return 2


def wait_for(broker, process, timeout_s):
    """Wait until the client has gone; return how its process ended."""
    end = time.monotonic() + timeout_s
    try:
        while time.monotonic() < end and not broker.is_done(process is not None):
            if process is not None and process.poll() is not None:
                time.sleep(0.3)
                break
            time.sleep(0.05)
    except KeyboardInterrupt:
        print()
    if process is None:
        return ""
    if process.poll() is None:
        process.kill()
        process.wait()
        print("the client was still running, and was ended")
        return "still running"
    code = process.returncode
    word = f"exit status {code}" if code >= 0 else f"signal {-code}"
    if -code in set(signal.Signals):
        word = signal.Signals(-code).name
    print(f"the client ended: {word}")
    return word


def complete(command, bootstrap):
    """Fill in the placeholders of a command; the arguments of options are to be written by hand."""
    values = {
        "bootstrap": bootstrap,
        "timeout": f"{DATA['timeout_s']:g}",
        "again": "--again" if DATA.get("keeps_asking") else "",
        "options": "",
    }
    for name, value in values.items():
        command = command.replace("{" + name + "}", value)
    return command


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9092, help="of the first broker; others get the next ports")
    parser.add_argument("--timeout", type=float, default=DATA['timeout_s'] + 15, help="seconds until the script ends")
    parser.add_argument("--run", help="command of the client, with {bootstrap}, {timeout} and {again}")
    try:
        given = parser.parse_args()
    except SystemExit as ended:
        return 3 if ended.code else 0
    context = None
    broker = Broker("127.0.0.1", given.port, context)
    broker.start()
    bootstrap = f"127.0.0.1:{broker.nodes[0][1]}"
    print(f"start your client against {bootstrap}", flush=True)
    process = None
    if given.run:
        process = subprocess.Popen(shlex.split(complete(given.run, bootstrap)))
    exit_word = wait_for(broker, process, given.timeout)
    with broker.lock:
        log, recovered = list(broker.log), broker.recovered
    if not broker.opened:
        print("No client came.")
        return 3
    return compare(log, exit_word, recovered)


if __name__ == "__main__":
    try:
        status = main()
    except Exception as error:  # Only what was seen may end with 1.
        print(f"the broker cannot be played, or the client not be started: {error!r}")
        status = 3
    sys.stdout.flush()
    # A connection's thread may still print, which aborts a usual exit.
    os._exit(status)