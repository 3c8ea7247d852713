"""Reads the handshake vectors with pytest, and kafka-python decodes the responses.

VECTORS names the folder of the vectors, and RESULTS a file for `kafka-conformance vectors check`.
"""

import json
import os
import re
from pathlib import Path

import pytest
from kafka.protocol.metadata import ApiVersionsResponse

VECTORS = Path(os.environ["VECTORS"])
VERSION = json.loads((VECTORS / "index.json").read_text())["version"]
HEADER_BYTES = 8  # size and correlation id: the header of an ApiVersions response has nothing else in any version
UNSUPPORTED_VERSION = 35


def vectors(kind):
    return json.loads((VECTORS / f"{kind}.json").read_text())["vectors"]


def unhex(text):
    """Read hexadecimal in which spaces mean nothing, and 61*300 stands for 300 times the byte 61."""
    data = b""
    for part in text.split():
        digits, _, times = part.partition("*")
        data += bytes.fromhex(digits) * int(times or 1)
    return data


@pytest.fixture
def record(request):
    """Write one line for `vectors check` when a test has ended."""
    lines = {}
    yield lines.update
    path = os.environ.get("RESULTS")
    if path and lines:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"version": VERSION, **lines}) + "\n")


def read(vector):
    """Return what the library makes of a response; raise an error if it refuses it."""
    frame = unhex(vector["bytes"])
    if len(frame) < HEADER_BYTES or int.from_bytes(frame[:4], "big") != len(frame) - 4:
        raise ValueError("the size is not that of the frame")
    if int.from_bytes(frame[4:8], "big", signed=True) != vector["correlation_id"]:
        raise ValueError("another correlation id")
    body = frame[HEADER_BYTES:]
    # A refusal is always in the layout of v0.
    version = 0 if int.from_bytes(body[:2], "big", signed=True) == UNSUPPORTED_VERSION else vector["request_version"]
    return ApiVersionsResponse.decode(body, version=version)


def ranges(entries):
    """Return the ranges by API key: the order of the keys means nothing."""
    found = {}
    for key, low, high in entries:
        found.setdefault(key, []).append((low, high))
    return found


@pytest.mark.parametrize("vector", [pytest.param(each, id=each["id"]) for each in vectors("responses")])
def test_response_is_read_as_the_vector_says(vector, record):
    if vector["request_version"] > ApiVersionsResponse.max_version:
        record({"id": vector["id"], "result": "skip"})
        pytest.skip("the library does not know this version, so it never gets such a response")
    record({"id": vector["id"], "result": "fail"})
    problem = None
    try:
        response = read(vector)
        listed = [(each.api_key, each.min_version, each.max_version) for each in response.api_keys or ()]
    except Exception as error:  # noqa: BLE001 - a library may raise what it likes, but must come to an end
        problem = error
    if vector["meaning"] == "malformed":
        # The library may read more than the schema allows; it must only come to an end.
        if problem is None and not vector["only_bytes_after_the_body"]:
            record({"note": f"{vector['problem']}, and it is read as a table of {len(listed)} entries"})
    elif vector["meaning"] != "error" or problem is None:
        assert problem is None, f"{vector['sentence']} {problem!r}"
        assert response.error_code == vector["error_code"]
        if vector["meaning"] != "error":
            assert ranges(listed) == ranges(vector["entries"])
    record({"id": vector["id"], "result": "pass"})


def choose(client, entries, api_key):
    """The rule in eight lines, as a client's author would write it: the newest common version, or None."""
    low, high = client
    common = [
        min(high, newest)
        for key, oldest, newest in entries
        if key == api_key and 0 <= oldest <= newest and max(low, oldest) <= min(high, newest)
    ]
    negative = [min(high, newest) for key, oldest, newest in entries if key == api_key and oldest < 0 <= newest]
    return max(common + negative, default=None)


@pytest.mark.parametrize(
    "vector", [pytest.param(each, id=each["id"]) for each in vectors("choices") if not each["in_transaction"]]
)
def test_choice_is_that_of_the_vector(vector):
    chosen = choose(vector["client"], vector["tables"][-1]["entries"], vector["api_key"])
    if vector["newest"] is None and vector["allowed"]:
        assert chosen in vector["allowed"]
    else:
        assert chosen == vector["newest"], vector["sentence"]
