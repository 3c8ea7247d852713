"""Hypothesis strategies for requests: plain, unusual, odd and broken ones.

Other projects may import the modules in `__all__`; docs/use-as-a-library.md shows how. The other modules are inside:
they serve this suite alone, and may change at any time. Most of those draw scripts for the suite's scripted broker.
"""

__all__ = [
    "any_requests",
    "api_versions",
    "broken_requests",
    "cluster_ids",
    "field_values",
    "minimal_requests",
    "odd_frames",
    "odd_requests",
    "other_apis",
    "refused_requests",
]
