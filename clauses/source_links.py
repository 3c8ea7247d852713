"""Where the sources of clauses stand on the web: proposals, issues and the protocol guide.

A link leads to the page, not to a section: the wiki derives its anchors from headings that change.
"""

from __future__ import annotations

import re

from proposals import proposals

REFERENCE = re.compile(r"\b(?:KIP-[0-9]+|KAFKA-[0-9]+)\b|Protocol guide")
"""A source as `location` names it: "KIP-35", "KAFKA-17011", "Protocol guide"."""
PROTOCOL_GUIDE = "https://kafka.apache.org/protocol"
_ISSUES = "https://issues.apache.org/jira/browse/"
_WIKI = "https://cwiki.apache.org/confluence/display/KAFKA/"
_PROPOSALS = {
    "KIP-35": "KIP-35+-+Retrieving+protocol+version",
    "KIP-97": "KIP-97%3A+Improved+Kafka+Client+RPC+Compatibility+Policy",
    "KIP-124": "KIP-124+-+Request+rate+quotas",
    "KIP-152": "KIP-152+-+Improve+diagnostics+for+SASL+authentication+failures",
    "KIP-219": "KIP-219+-+Improve+quota+communication",
    "KIP-482": "KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields",
    "KIP-511": "KIP-511%3A+Collect+and+Expose+Client%27s+Name+and+Version+in+the+Brokers",
    "KIP-584": "KIP-584%3A+Versioning+scheme+for+features",
    "KIP-778": "KIP-778%3A+KRaft+to+KRaft+Upgrades",
    "KIP-919": "KIP-919%3A+Allow+AdminClient+to+Talk+Directly+with+the+KRaft+Controller+Quorum+and+add+Controller+Registration",
    "KIP-1242": "KIP-1242%3A+Detection+and+handling+of+misrouted+connections",
}
_ALL_PROPOSALS = "Kafka+Improvement+Proposals"


def _pages() -> dict[str, str]:
    under_discussion = {each.source: each.wiki_page for each in proposals() if each.wiki_page}
    return {**_PROPOSALS, **under_discussion}


def source_url(reference: str) -> str:
    """Return the address of a source's page; for a proposal whose page is not known, that of the list of proposals.

    Args:
        reference: a text that `REFERENCE` matches.
    """
    if reference.startswith("KAFKA-"):
        return _ISSUES + reference
    if reference.startswith("KIP-"):
        return _WIKI + _pages().get(reference, _ALL_PROPOSALS)
    return PROTOCOL_GUIDE
