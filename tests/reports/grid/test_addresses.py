"""Tests of the addresses of pages and files."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from reports.grid import addresses


def test_plain_names_stay() -> None:
    """Addresses contain the ids of clauses and targets unchanged."""
    assert addresses.clause_page("KIP-511.names-refused") == "clauses/KIP-511.names-refused.html"
    cell = addresses.cell_page("KIP-35.keys", "apache-kafka-4.4.0", "ssl")
    assert cell == "cells/KIP-35.keys/apache-kafka-4.4.0-ssl.html"
    assert addresses.root_of(cell) == "../../"


@given(name=st.text())
def test_any_name_is_one_safe_part_of_a_path(name: str) -> None:
    """The part has no separator and nothing that must be quoted, and is neither empty nor only dots."""
    part = addresses.file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", part)
    assert len(PurePosixPath(part).parts) == 1
    assert len(part) <= 120


@given(one=st.text(), other=st.text())
def test_different_names_have_different_addresses(one: str, other: str) -> None:
    """Names that lose characters are distinguished by a hash."""
    assert (addresses.file_name(one) == addresses.file_name(other)) == (one == other)
