"""Tokens and repeated secrets are replaced by bytes of the same length.

Tokens are in recorded steps. Targets may repeat secrets. Nothing else is replaced.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.codec import encode
from wire.described_messages import SASL_AUTHENTICATE
from wire.exchange import Exchange, Outcome, Request, Step
from wire.frames import encode_frame
from wire.hidden_secrets import MARK, SecretHider, TokenHider, filler, hidden_parts
from wire.sasl import authenticate_request, bare_token, handshake_request, plain_token

TOKEN = plain_token("alice", "hunter2")
CHALLENGE = b"r=nonce,s=c2FsdA==,i=4096"
HIDER = TokenHider("alice", "hunter2")


def response(version: int, token: bytes = CHALLENGE) -> bytes:
    """Return the payload of a response that carries the broker's token."""
    body = SASL_AUTHENTICATE.response(error_code=0, error_message=None, auth_bytes=token)
    header = (36).to_bytes(4) + (b"\0" if version > 1 else b"")
    return header + encode(body, version=version)


def step_of(request: Request, payload: bytes | None = None, **values: object) -> Step:
    """Return a step that sent one request and got a payload."""
    exchange = Exchange(request=request, outcome=Outcome.ANSWER, payload=payload, stray=b"stray")
    return replace(
        Step(connection=0, pieces=(request.data,), exchanges=(exchange,)),
        **values,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("version", [0, 1, 2])
def test_tokens_of_both_sides_are_hidden(version: int) -> None:
    """Everything around the tokens, and every length, stays."""
    sent = authenticate_request(TOKEN, version=version)
    hidden = HIDER.hide(step_of(sent, response(version), unread=b"rest", following=(b"more",)))
    (exchange,) = hidden.exchanges
    expected = authenticate_request(filler(len(TOKEN)), version=version).data
    assert hidden.pieces == (expected,)
    assert exchange.request.data == expected
    assert exchange.payload == response(version, filler(len(CHALLENGE)))
    assert (exchange.stray, hidden.unread, hidden.following) == (b"<toke", b"<tok", (b"<tok",))


def test_bare_tokens_are_hidden_whole() -> None:
    (exchange,) = HIDER.hide(step_of(bare_token(TOKEN), CHALLENGE)).exchanges
    assert exchange.request.data == encode_frame(filler(len(TOKEN)))
    assert exchange.payload == filler(len(CHALLENGE))
    assert exchange.request.data[4:].startswith(MARK)


def test_token_without_a_response_is_hidden() -> None:
    """Nothing has to come back."""
    (exchange,) = HIDER.hide(step_of(authenticate_request(TOKEN))).exchanges
    assert exchange.payload is None


def test_what_does_not_decode_is_hidden_from_its_start() -> None:
    """Of a request with an odd tag section only key, version and correlation id stay; of a response id and error."""
    sent = authenticate_request(TOKEN, version=2, tags=b"\x05")
    (exchange,) = HIDER.hide(step_of(sent, b"\0\0\0\x24\0\0odd")).exchanges
    assert exchange.request.data == sent.data[:12] + filler(len(sent.data) - 12)
    assert exchange.payload == b"\0\0\0\x24\0\0<to"


def test_pieces_keep_their_cuts() -> None:
    """A request that was written in pieces is hidden in each, and a sentinel after it stays."""
    sent, after = authenticate_request(TOKEN), handshake_request().data
    data = sent.data + after
    cuts = (data[:30], data[30:45], data[45:])
    hidden = HIDER.hide(step_of(sent, pieces=cuts))
    assert [len(piece) for piece in hidden.pieces] == [len(piece) for piece in cuts]
    assert b"".join(hidden.pieces) == authenticate_request(filler(len(TOKEN))).data + after


def test_plain_token_is_found_wherever_it_stands() -> None:
    """Bytes that are no request of the two APIs may contain it: a frame that was cut elsewhere, or a wrong password."""
    odd = replace(handshake_request(), data=b"\0\0\0\x20" + TOKEN + b"?")
    hidden = HIDER.hide(step_of(odd, b"answer"))
    assert hidden.pieces == (b"\0\0\0\x20" + filler(len(TOKEN)) + b"?",)
    assert hidden.exchanges[0].payload == b"answer"
    alone = HIDER.hide(Step(connection=0, pieces=(TOKEN,)))
    assert alone.pieces == (filler(len(TOKEN)),)


def test_step_without_a_token_stays_as_it_is() -> None:
    step = step_of(handshake_request(), b"answer", unread=b"rest", pieces=(b"\0",))
    assert HIDER.hide(step) == step


def test_hidden_parts_are_found() -> None:
    """Each from its beginning to its end, also at the ends of the data; a few bytes of the mark are none."""
    data = filler(20) + b"name" + filler(6) + b"<toke>" + filler(30)
    found = [(part.start, part.stop) for part in hidden_parts(data)]
    assert found == [(0, 20), (24, 30), (36, 66)]
    assert list(hidden_parts(b"<toke")) == []


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
