"""Changes that look like defects but are invisible from outside or forbidden by no clause, with the reasons.

They are not planted, so that the mutation score counts only what can be detected.
"""

from __future__ import annotations

from collections.abc import Mapping

EQUIVALENT_CHANGES: Mapping[str, str] = {
    "the table stands in another order": "no source fixes the order of the table; clients look keys up",
    "the features stand in another order": "as for the table",
    "an empty array of features is sent as its tag instead of left out": (
        "it is a tag at its default, which `a-default-tag-is-sent` stands for"
    ),
    "an answer is written in several segments": "TCP does not show where a stream was cut",
    "the client id is decoded otherwise (Latin-1, replacement characters)": (
        "it comes back nowhere; only the request log shows it, and no clause is about that"
    ),
    "the tag count of a header is not checked where the count is 0": "there is nothing to check",
    "negative client id lengths other than -1 count as 0": "null and empty client ids get the same answer",
    "the cluster check compares the node id first": "both mismatches get the same error",
    "tags of the request are parsed after the name is refused": "both ways end in the same refusal",
    "librdkafka's mock lists Heartbeat v5": (
        "that a range is known to other implementations is no rule of any source"
    ),
    "a proxy drops or keeps private keys (kroxylicious#441, #822, #3644; grepplabs/kafka-proxy#85, #185)": (
        "it is the table of another broker that is wrong then; seen from outside the proxy's own table is sound"
    ),
    "a proxy fails on an upstream that refuses with an empty table (kroxylicious#1110)": (
        "seen from outside it closes on a version that it does not serve, which"
        " `the-next-version-closes-the-connection` stands for"
    ),
    "the lowest Produce version is raised to 3 (KAFKA-18659)": (
        "a broker may retire versions; what clients make of it is the client role's matter"
    ),
}
"""Reasons by change."""
