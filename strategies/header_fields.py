"""Strategies for the fields of request headers, and for unknown tagged fields of headers and bodies."""

from __future__ import annotations

from hypothesis import strategies as st

from wire.primitives import INT16_MAX, INT32_MAX, INT32_MIN, UINT32_MAX, TaggedField

FIRST_TAG_NOBODY_KNOWS = 100
"""Larger than every tag of ApiVersions and of headers, in all known versions."""


SHORT_VALUE_BYTES = 40
SHORT_CLIENT_ID_BYTES = 40
FEW_BYTES = 300
"""Longer client ids are drawn half as often, because they take time."""
FIRST_TWO_BYTE_SIZE = 128
"""The smallest value size, in bytes, that takes a varint of two bytes."""


def correlation_ids(
    *, min_value: int = INT32_MIN, max_value: int = INT32_MAX
) -> st.SearchStrategy[int]:
    """Correlation ids: any int32 unless bounded."""
    return st.integers(min_value, max_value)


def client_ids(*, max_bytes: int = INT16_MAX) -> st.SearchStrategy[str | None]:
    """Client ids: null, empty, short with any characters, or long with up to `max_bytes` bytes of UTF-8."""
    short = st.text(st.characters(codec="utf-8"), max_size=min(20, max_bytes // 4))
    long = st.builds(
        lambda character, count: character * (count // len(character.encode())),
        st.sampled_from("aé漢𝄞"),
        st.integers(4, max_bytes),
    )
    return st.one_of(st.none(), st.just(""), short, long)


def plain_client_ids(*, max_size: int = INT16_MAX) -> st.SearchStrategy[str | None]:
    """Client ids that every release handles: null, and all of `named_client_ids`."""
    return st.none() | named_client_ids(max_size=max_size)


def named_client_ids(*, max_size: int = INT16_MAX) -> st.SearchStrategy[str]:
    """Client ids that are empty or letters, digits, dots and hyphens; null is judged by PROTOCOL.client-id-free."""
    letters = st.sampled_from("abcXYZ019.-")
    short = st.text(letters, max_size=min(SHORT_CLIENT_ID_BYTES, max_size))
    sizes = st.integers(1, min(FEW_BYTES, max_size)) | st.integers(1, max_size)
    return short | st.builds(lambda letter, count: letter * count, letters, sizes)


def unknown_tagged_fields(
    *, max_fields: int = 4, max_bytes: int = 1000, max_tag: int = UINT32_MAX >> 1
) -> st.SearchStrategy[tuple[TaggedField, ...]]:
    """Tagged fields that are in no schema, with ascending, distinct tags.

    Tags above the default of `max_tag` are legal too, but some releases refuse them. One property covers that.
    """
    values = st.binary(max_size=min(SHORT_VALUE_BYTES, max_bytes))
    if max_bytes >= FIRST_TWO_BYTE_SIZE:
        values |= st.integers(FIRST_TWO_BYTE_SIZE, max_bytes).map(bytes)
    field = st.builds(
        TaggedField,
        st.one_of(
            st.integers(FIRST_TAG_NOBODY_KNOWS, 300),
            st.integers(FIRST_TAG_NOBODY_KNOWS, max_tag),
        ),
        values,
    )
    fields = st.lists(field, min_size=1, max_size=max_fields, unique_by=lambda field: field.tag)
    return fields.map(lambda drawn: tuple(sorted(drawn)))
