"""Requests and the reaction of each release line of Apache Kafka, as literals.

A row holds a name, the payload in hexadecimal (the frame without its size prefix) and, for the first line and
for each line that changes it, the reaction in the words of `release_lines.in_words`. Correlation id 7, client
id "a", client software "a" "1", the broker is node 1 of cluster "me".

Source: the code of the releases and what their running brokers did.
"""

from __future__ import annotations

from collections.abc import Mapping

Row = tuple[str, str, Mapping[str, str]]

V0, V1, V2, V3, V4, V5, V6, V99 = (
    f"0012 {version} 00000007 0001 61" for version in ("0000", "0001", "0002", "0003", "0004", "0005", "0006", "0063")
)
V0_TO_CLIENT_ID = "0012 0000 00000007"
NAMES = "0261 0231"

CLOSED = {"0.10.0.1": "closed"}
SERVED_V0 = {"0.10.0.1": "0 v0 table"}
UNSUPPORTED = {"0.10.0.1": "35 v0", "2.4.1": "35 v0 itself"}


def v3(words: str) -> dict[str, str]:
    """Return the reactions: unsupported before 2.4, then as given."""
    return {"0.10.0.1": "35 v0", "2.4.1": words}


def v5(words: str) -> dict[str, str]:
    """Return the reactions: unsupported before 4.4, then as given."""
    return {**UNSUPPORTED, "4.4.0": words}


SERVED_V3 = v3("0 v3 table")
UNTIL_4_3 = {**SERVED_V3, "4.4.0": "closed"}

VERSIONS: tuple[Row, ...] = (
    ("v0", V0, SERVED_V0),
    ("v1", V1, {"0.10.0.1": "35 v0", "0.11.0.3": "0 v1 table"}),
    ("v2", V2, {"0.10.0.1": "35 v0", "2.0.1": "0 v2 table"}),
    ("v3", f"{V3} 00 {NAMES} 00", SERVED_V3),
    ("v4", f"{V4} 00 {NAMES} 00", {**UNSUPPORTED, "3.9.2": "0 v4 table"}),
    ("v5", f"{V5} 00 {NAMES} 00 ffffffff 00", v5("0 v5 table")),
    ("v6", f"{V6} 00", UNSUPPORTED),
    ("v32767", "0012 7fff 00000007 0001 61 00", UNSUPPORTED),
    ("v-1", "0012 ffff 00000007 0001 61", UNSUPPORTED),
    ("v-32768", "0012 8000 00000007 0001 61", UNSUPPORTED),
    ("v99-with-any-body", f"{V99} 00 ffffffffffff", UNSUPPORTED),
    ("v99-with-header-v1", V99, v3("closed")),
    ("v-1-with-header-v2", "0012 ffff 00000007 0001 61 00", UNSUPPORTED),
    ("v3-with-header-v1", f"{V3} {NAMES} 00", v3("closed")),
    ("v0-with-header-v2", f"{V0} 00", SERVED_V0),
    ("v0-with-trailing-bytes", f"{V0} ffffffff", SERVED_V0),
    ("v2-with-trailing-bytes", f"{V2} {NAMES} 00", {"0.10.0.1": "35 v0", "2.0.1": "0 v2 table"}),
    ("v3-with-trailing-bytes", f"{V3} 00 {NAMES} 00 ff", SERVED_V3),
    ("v5-body-at-v3-null-cluster", f"{V3} 00 {NAMES} 00 ffffffff 00", SERVED_V3),
    ("v5-body-at-v3-with-cluster", f"{V3} 00 {NAMES} 03 6d65 00000001 00", v3("closed")),
    ("v4-body-at-v5", f"{V5} 00 {NAMES} 00", v5("closed")),
)

HEADERS: tuple[Row, ...] = (
    ("frame-of-0-bytes", "", {"0.10.0.1": "ignored", "1.0.2": "closed"}),
    ("frame-of-1-byte", "00", {"0.10.0.1": "ignored", "1.0.2": "closed"}),
    ("frame-of-2-bytes", "0012", CLOSED),
    ("frame-of-3-bytes", "0012 00", CLOSED),
    ("frame-of-7-bytes", "0012 0000 000000", CLOSED),
    ("no-client-id", V0_TO_CLIENT_ID, CLOSED),
    ("half-client-id-length", f"{V0_TO_CLIENT_ID} 00", CLOSED),
    ("correlation-id-minus-1", "0012 0000 ffffffff 0001 61", SERVED_V0),
    ("correlation-id-minimum", "0012 0000 80000000 0001 61", SERVED_V0),
    ("client-id-null", f"{V0_TO_CLIENT_ID} ffff", SERVED_V0),
    ("client-id-minus-2", f"{V0_TO_CLIENT_ID} fffe", SERVED_V0),
    ("client-id-minus-32768", f"{V0_TO_CLIENT_ID} 8000", SERVED_V0),
    ("client-id-empty", f"{V0_TO_CLIENT_ID} 0000", SERVED_V0),
    ("client-id-longest", f"{V0_TO_CLIENT_ID} 7fff {'61' * 32767}", SERVED_V0),
    ("client-id-beyond-the-frame", f"{V0_TO_CLIENT_ID} 0002 61", CLOSED),
    ("client-id-longest-missing", f"{V0_TO_CLIENT_ID} 7fff", CLOSED),
    ("client-id-no-utf-8", f"{V0_TO_CLIENT_ID} 0001 ff", SERVED_V0),
    ("client-id-overlong", f"{V0_TO_CLIENT_ID} 0002 c080", SERVED_V0),
    ("client-id-nul", f"{V0_TO_CLIENT_ID} 0001 00", SERVED_V0),
    ("client-id-null-at-v3", f"0012 0003 00000007 ffff 00 {NAMES} 00", SERVED_V3),
)

SILENT_ON_0_11 = {
    "0.10.0.1": "0 v0 table",
    "0.11.0.3": "silent or 0 v0 table",
    "1.0.2": "0 v0 table",
}
REFUSED_OR_SILENT_ON_0_11 = {
    "0.10.0.1": "35 v0",
    "0.11.0.3": "silent or 35 v0",
    "1.0.2": "35 v0",
    "2.4.1": "35 v0 itself",
}
CLIENT_IDS: tuple[Row, ...] = (
    *(
        (f"mark-{mark}", f"{V0_TO_CLIENT_ID} 0003 61{mark}61", SILENT_ON_0_11)
        for mark in ("0a", "22", "2a", "2c", "3a", "3d", "3f")
    ),
    *(
        (f"harmless-{mark}", f"{V0_TO_CLIENT_ID} 0003 61{mark}61", SERVED_V0)
        for mark in ("0d", "09", "20", "27", "2e", "2f", "3b", "3c", "5c")
    ),
    (
        "mark-at-v1",
        "0012 0001 00000007 0001 3a",
        {"0.10.0.1": "35 v0", "0.11.0.3": "silent or 0 v1 table", "1.0.2": "0 v1 table"},
    ),
    (
        "mark-at-v2-which-0.11-refuses",
        "0012 0002 00000007 0001 3a",
        {
            "0.10.0.1": "35 v0",
            "0.11.0.3": "silent or 35 v0",
            "1.0.2": "35 v0",
            "2.0.1": "0 v2 table",
        },
    ),
    ("mark-at-v99", "0012 0063 00000007 0001 3a 00", REFUSED_OR_SILENT_ON_0_11),
    ("mark-at-v-1", "0012 ffff 00000007 0001 3a", REFUSED_OR_SILENT_ON_0_11),
    ("mark-for-another-api", "03e7 0000 00000007 0001 3a", CLOSED),
)

OTHER_APIS: tuple[Row, ...] = (
    ("key-minus-1", "ffff 0000 00000007 0001 61", CLOSED),
    ("key-999", "03e7 0000 00000007 0001 61", CLOSED),
    ("key-1000", "03e8 0003 00000007 0001 61 00", CLOSED),
    ("key-32767", "7fff 0000 00000007 0001 61", CLOSED),
    ("metadata-v99", "0003 0063 00000007 0001 61", CLOSED),
    ("metadata-v-1", "0003 ffff 00000007 0001 61", CLOSED),
    ("vote-on-a-broker-listener", "0034 0000 00000007 0001 61 00", CLOSED),
    ("unknown-key-header-cut", "03e7 0000 00000007", CLOSED),
)

FOUR_TAGS = "6400 6500 6600 6700"
SAME_TAG = "6400"
HEADER_TAGS: tuple[Row, ...] = tuple(
    (name, f"{V3} {section} {NAMES} 00", expected)
    for name, section, expected in (
        ("one-unknown", "01 64 01 ff", SERVED_V3),
        ("largest-number", "01 ffffffff0f 00", SERVED_V3),
        ("twice-the-same", "02 6400 6400", SERVED_V3),
        ("descending", "02 6500 6400", SERVED_V3),
        ("number-0", "01 00 00", SERVED_V3),
        ("count-0-in-two-bytes", "8000", SERVED_V3),
        ("count-4-in-five-bytes", f"8480808000 {FOUR_TAGS}", SERVED_V3),
        ("count-4-with-surplus-bits", f"8480808070 {FOUR_TAGS}", SERVED_V3),
        ("count-of-bit-33-is-0", "8080808010", SERVED_V3),
        ("size-in-two-bytes", "01 64 8100 ff", SERVED_V3),
        ("count-minus-1", "ffffffff0f", UNTIL_4_3),
        ("count-minimum", "8080808008", UNTIL_4_3),
        ("10000-tags", f"904e {SAME_TAG * 10000}", SERVED_V3),
        ("10001-tags", f"914e {SAME_TAG * 10001}", UNTIL_4_3),
        ("count-in-six-bytes", "808080808000", v3("closed")),
        ("number-in-six-bytes", "01 808080808000 00", v3("closed")),
        ("size-beyond-the-frame", "01 64 7f", v3("closed")),
        ("size-negative", "01 64 ffffffff0f", v3("closed")),
        ("size-minimum", "01 64 8080808008", v3("closed")),
    )
)
HEADER_TAGS_CUT: tuple[Row, ...] = tuple(
    (f"{name}-{section or 'missing'}", f"{header} {section}", expected)
    for name, header, expected in (
        ("v3", V3, v3("closed")),
        ("v99", V99, v3("closed")),
    )
    for section in ("", "80", "02 6400", "01", "01 64", "01 64 80", "01 64 02 00", "ffffffff07")
)
HEADER_TAGS_OF_AN_UNSUPPORTED_VERSION: tuple[Row, ...] = (
    ("one-unknown", f"{V99} 01 64 01 ff", UNSUPPORTED),
    ("count-minus-1", f"{V99} ffffffff0f", {**UNSUPPORTED, "4.4.0": "closed"}),
    ("10000-tags", f"{V99} 904e {SAME_TAG * 10000}", UNSUPPORTED),
    ("10001-tags", f"{V99} 914e {SAME_TAG * 10001}", {**UNSUPPORTED, "4.4.0": "closed"}),
    ("count-in-six-bytes", f"{V99} 808080808000", v3("closed")),
    ("size-beyond-the-frame", f"{V99} 01 64 7f", v3("closed")),
)

SINCE_2_8 = {**v3("closed"), "2.8.2": "0 v3 table"}
BODY_TAGS: tuple[Row, ...] = tuple(
    (name, f"{V3} 00 {NAMES} {section}", expected)
    for name, section, expected in (
        ("one-unknown", "01 64 01 ff", SERVED_V3),
        ("ascending", f"04 {FOUR_TAGS}", SERVED_V3),
        ("largest-positive-number", "01 ffffffff07 00", SERVED_V3),
        ("largest-number", "01 ffffffff0f 00", SINCE_2_8),
        ("number-negative-as-int32", "01 8080808008 00", SINCE_2_8),
        ("twice-the-same", "02 6400 6400", SINCE_2_8),
        ("descending", "02 6500 6400", SINCE_2_8),
        ("count-4-in-five-bytes", f"8480808000 {FOUR_TAGS}", SERVED_V3),
        ("count-4-with-surplus-bits", f"8480808070 {FOUR_TAGS}", SERVED_V3),
        ("count-minus-1", "ffffffff0f", UNTIL_4_3),
        ("count-minimum", "8080808008", UNTIL_4_3),
        ("count-in-six-bytes", "808080808000", v3("closed")),
        ("section-missing", "", v3("closed")),
        ("count-cut", "80", v3("closed")),
        ("count-beyond-the-tags", "02 6400", v3("closed")),
        ("largest-count", "ffffffff07", v3("closed")),
        ("size-beyond-the-frame", "01 64 01", v3("closed")),
        ("size-negative", "01 64 ffffffff0f", v3("closed")),
        ("10001-tags", f"914e {SAME_TAG * 10001}", {**SINCE_2_8, "4.4.0": "closed"}),
    )
)


def _name(text: str) -> str:
    raw = text.encode()
    return f"{len(raw) + 1:02x} {raw.hex()}"


REFUSED_V3 = v3("42 v3")
NAME_FIELDS: tuple[Row, ...] = tuple(
    (f"{field}-{name}", f"{V3} 00 {payload} 00", expected)
    for name, text, expected in (
        ("empty", "01", REFUSED_V3),
        ("null", "00", v3("closed")),
        ("null-in-five-bytes", "8080808000", v3("closed")),
        ("length-minus-2", "ffffffff0f", v3("closed")),
        ("length-minimum", "8080808008", v3("closed")),
        ("length-in-two-bytes", "8200 61", SERVED_V3),
        ("longest", f"808002 {'61' * 32767}", SERVED_V3),
        ("one-byte-too-long", f"818002 {'61' * 32768}", v3("closed")),
        ("beyond-the-frame", "7f 61", v3("closed")),
        ("length-cut", "80", v3("closed")),
        ("no-utf-8", "02 ff", REFUSED_V3),
    )
    for field, payload in (("name", f"{text} 0231"), ("version", f"0261 {text}"))
    # If the name is cut here, the bytes after it would be read as the rest of it.
    if (field, name) != ("name", "length-cut")
)
NAMES_TAKEN = ("a", "9", "A9", "a.b", "a--b", "a..b", "apache-kafka-java", "4.4.0")
NAMES_REFUSED = (
    *("-a", "a-", ".a", "a.", "-", ".", "a b", " a", "a_b", "a/b", "a+b", "a@b"),
    *("a\n", "a\0", "\n", "é", "漢", "𝄞", "aé", "٣"),
)
NAME_TEXTS: tuple[Row, ...] = tuple(
    (f"{field}-{text!a}", f"{V3} 00 {payload} 00", expected)
    for texts, expected in ((NAMES_TAKEN, SERVED_V3), (NAMES_REFUSED, REFUSED_V3))
    for text in texts
    for field, payload in (("name", f"{_name(text)} 0231"), ("version", f"0261 {_name(text)}"))
)
EMPTY_BODY: tuple[Row, ...] = (
    ("v3", f"{V3} 00", v3("closed")),
    ("v4", f"{V4} 00", {**UNSUPPORTED, "3.9.2": "closed"}),
    ("v5", f"{V5} 00", v5("closed")),
    ("v3-name-only", f"{V3} 00 0261", v3("closed")),
)

CLUSTERS: tuple[Row, ...] = tuple(
    (name, f"{V5} 00 {names} {ids} 00", v5(words))
    for name, names, ids, words in (
        ("neither", NAMES, "00 ffffffff", "0 v5 table"),
        ("node-0-alone", NAMES, "00 00000000", "42 v5"),
        ("node-7-alone", NAMES, "00 00000007", "42 v5"),
        ("node-minus-2-alone", NAMES, "00 fffffffe", "42 v5"),
        ("own-node-alone", NAMES, "00 00000001", "42 v5"),
        ("empty-cluster-alone", NAMES, "01 ffffffff", "42 v5"),
        ("own-cluster-alone", NAMES, "03 6d65 ffffffff", "42 v5"),
        ("both-right", NAMES, "03 6d65 00000001", "0 v5 table"),
        ("both-right-long-varint", NAMES, "8300 6d65 00000001", "0 v5 table"),
        ("empty-cluster", NAMES, "01 00000001", "129 v5"),
        ("wrong-cluster", NAMES, "03 6d66 00000001", "129 v5"),
        ("cluster-in-capitals", NAMES, "03 4d45 00000001", "129 v5"),
        ("wrong-node", NAMES, "03 6d65 00000002", "129 v5"),
        ("node-minus-2", NAMES, "03 6d65 fffffffe", "129 v5"),
        ("cluster-no-utf-8", NAMES, "02 ff 00000001", "129 v5"),
        ("bad-name-and-wrong-ids", "02 5f 0231", "03 6d66 00000002", "42 v5"),
        ("bad-name-and-half-ids", "02 5f 0231", "00 00000001", "42 v5"),
        ("bad-name-and-right-ids", "02 5f 0231", "03 6d65 00000001", "42 v5"),
        ("null-name-and-wrong-ids", "00 0231", "03 6d66 00000002", "closed"),
        ("cluster-length-minus-2", NAMES, "ffffffff0f 00000001", "42 v5"),
        ("cluster-length-minimum-wraps-round", NAMES, "8080808008 ffffffff", "closed"),
        ("cluster-too-long", NAMES, f"818002 {'61' * 32768} 00000001", "closed"),
        ("cluster-beyond-the-frame", NAMES, "7f 6d65", "closed"),
        ("node-missing", NAMES, "03 6d65", "closed"),
    )
)


TABLES: Mapping[str, tuple[Row, ...]] = {
    "version": VERSIONS,
    "header": HEADERS,
    "client-id": CLIENT_IDS,
    "other-api": OTHER_APIS,
    "header-tags": HEADER_TAGS,
    "header-tags-cut": HEADER_TAGS_CUT,
    "header-tags-at-v99": HEADER_TAGS_OF_AN_UNSUPPORTED_VERSION,
    "body-tags": BODY_TAGS,
    "name-field": NAME_FIELDS,
    "name": NAME_TEXTS,
    "body-cut": EMPTY_BODY,
    "cluster": CLUSTERS,
}
"""Every table, by what is odd in its requests."""
