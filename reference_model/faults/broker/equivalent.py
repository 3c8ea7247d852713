"""Changes that look like defects but break no clause visibly, with the reasons.

They are invisible from outside, or no clause forbids them.

They are not planted, so that the mutation score counts only what can be detected.
"""

from __future__ import annotations

from collections.abc import Mapping

EQUIVALENT_CHANGES: Mapping[str, str] = {
    "the table is in another order": "no source fixes the order of the table; clients look keys up",
    "the features are in another order": "no source fixes their order either",
    "an empty array of features is sent as a tag instead of being left out": (
        "this is a tag with its default value, which the defect a-default-tag-is-sent covers"
    ),
    "a response is written in several segments": "TCP does not show where a stream was cut",
    "the client id is decoded differently (Latin-1, replacement characters)": (
        "no response contains it; only the request log shows it, and no clause covers that"
    ),
    "the tag count of a header is not checked if the count is 0": "there is nothing to check",
    "negative client id lengths other than -1 count as 0": "null and empty client ids get the same response",
    "the cluster check compares the node id first": "both mismatches get the same error",
    "tags of the request are parsed after the name is refused": "the refusal is the same in both orders",
    "librdkafka's mock lists Heartbeat v5": ("no source requires that other implementations know a range"),
    "a proxy drops or keeps private keys (kroxylicious#441, #822, #3644; grepplabs/kafka-proxy#85, #185)": (
        "the table of another broker is wrong then; the proxy's own table is right"
    ),
    "a proxy fails on an upstream that refuses with an empty table (kroxylicious#1110)": (
        "a client sees only that it closes on a version that it does not serve, which the defect"
        " the-next-version-closes-the-connection covers"
    ),
    "the lowest Produce version is raised to 3 (KAFKA-18659)": (
        "a broker may retire versions; how clients react is judged by clauses of the role client"
    ),
}
"""Reasons by change."""
