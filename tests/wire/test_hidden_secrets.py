"""Secrets that a target repeats are replaced by bytes of the same length."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.hidden_bytes import MARK
from wire.hidden_secrets import SecretHider

SECRET = "p+ss w\u00f6rd/?%".encode()
SCRAM_TOKEN = b"c=biws,r=nonce,p=proof"


def written(secret: bytes, before: bytes) -> list[bytes]:
    """Return a secret after other bytes, in each of the ways in which it may be written."""
    text = before + secret
    return [
        text,
        text.hex().encode(),
        text.hex().upper().encode(),
        base64.b64encode(text),
        base64.urlsafe_b64encode(text),
        quote(text, safe="").encode(),
        quote(text).lower().encode(),
        b"".join(b"%%%02X" % each for each in text),
    ]


@pytest.mark.parametrize("before", [b"", b"x", b"xy", b"xyz"])
def test_every_form_is_hidden(before: bytes) -> None:
    """Whatever stands before it and after it; the length stays."""
    hider = SecretHider((SECRET,))
    for form in written(SECRET, before)[:-2]:
        hidden = hider.hide(b"<" + form + b">")
        assert MARK[:6] in hidden, form
        assert len(hidden) == len(form) + 2
        assert not any(each in hidden for each in written(SECRET, before))


@given(before=st.binary(max_size=4), after=st.binary(max_size=4))
def test_no_digit_of_base64_is_left(before: bytes, after: bytes) -> None:
    """Of what stands next to the secret everything is left but the digits that both share."""
    written_out = base64.b64encode(before + SECRET + after)
    hidden = SecretHider((SECRET,)).hide(written_out)
    first, end = 8 * len(before) // 6, -(-8 * len(before + SECRET) // 6)
    assert hidden[:first] == written_out[:first]
    assert hidden[end:] == written_out[end:]
    assert hidden[first:end] == (MARK * 9)[: end - first]


def test_percent_encoding_in_any_mixture() -> None:
    """Each byte may be encoded or not, in capital or small letters."""
    hidden = SecretHider((SECRET,)).hide(b"user=a&password=p%2bss%20w%C3%b6rd%2F%3f%25&more")
    assert hidden.startswith(b"user=a&password=<token hidden>")
    assert hidden.endswith(b"&more")


@given(data=st.binary(max_size=50))
def test_other_bytes_stay(data: bytes) -> None:
    """Without a secret in them, they are what they were."""
    assert SecretHider((b"a long password",)).hide(data) == data


def test_short_secrets_stay() -> None:
    """Hiding them would break what only looks like them, and show them by their absence."""
    assert SecretHider((b"kafka",)).hide(b"kafka.version") == b"kafka.version"


def test_longest_secret_counts() -> None:
    """What contains another one is hidden as a whole, once."""
    hider = SecretHider((b"secret", b"\0user\0secret", b"secret"))
    assert hider.hide(b"[\0user\0secret]") == b"[<token hidde]"


def test_tokens_of_scram_are_learnt() -> None:
    hider = SecretHider(())
    assert hider.hide(SCRAM_TOKEN) == SCRAM_TOKEN
    hider.learn(bytes(8))
    hider.learn(SCRAM_TOKEN)
    assert hider.hide(b"refused: " + SCRAM_TOKEN) == b"refused: " + (MARK * 2)[: len(SCRAM_TOKEN)]
    assert hider.hide(bytes(9)) == bytes(9)
