"""Tokens of an authentication are hidden in both directions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wire.codec import encode
from wire.described_messages import SASL_AUTHENTICATE
from wire.exchange import Exchange, Outcome, Request, Step
from wire.frames import encode_frame
from wire.hidden_bytes import MARK, filler, hidden_parts
from wire.hidden_tokens import TokenHider
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
