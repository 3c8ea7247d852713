"""A dump in an issue has only the rows that explain a failure."""

from __future__ import annotations

from workflows.compatibility.finding_texts import shortened


def table_of(*keys: int) -> list[str]:
    """Return the rows of a table."""
    return [
        f"      {key}  00  api_keys[{index}].{name} = {key if name == 'api_key' else 9}"
        for index, key in enumerate(keys)
        for name in ("api_key", "min_version", "max_version")
    ]


def test_dump_keeps_the_rows_that_explain_it() -> None:
    """Those of APIs that were requested or are named, and lines with a mark."""
    dump = "\n".join(
        [
            "connection 0: answer",
            *table_of(0, 1, 3, 12, 60),
            ">  41  wrong",
            "connection 0: sent",
            "  4  00 03  request_api_key = 3",
        ]
    )
    assert shortened(dump, "Heartbeat v2 is listed").split("\n") == [
        "connection 0: answer",
        "... (2 other APIs)",
        *table_of(0, 1, 3, 12)[6:],
        "... (1 other API)",
        ">  41  wrong",
        "connection 0: sent",
        "  4  00 03  request_api_key = 3",
    ]


def test_long_dump_keeps_both_ends_and_what_is_named() -> None:
    """A client may send hundreds of requests, and the wrong one stands between them."""
    metadata = "  4  00 03  request_api_key = 3"
    parts = ["connection 0: sent\n  4  00 12  request_api_key = 18\n"] * 99
    parts[50] = f"connection 0: sent\n{metadata}\n"
    lines = shortened("".join(parts), "Metadata v2 was sent").split("\n")
    assert len(lines) == 122
    assert metadata in lines
    assert [line for line in lines if "more" in line] == [
        "... (42 more lines)",
        "... (36 more lines)",
    ]
