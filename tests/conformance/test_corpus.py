"""The corpus is read strictly, and formatting reverses reading.

What is stored is judged by the reactions that the model allows.

`corpus pin` replaces its file completely or not at all.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import zip_longest
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from conformance.commands.corpus import PINNED_FILE, corpus, is_storable, pinned_entries
from conformance.corpus.entries import (
    CORPUS_FOLDER,
    CorpusEntry,
    InvalidCorpus,
    add_entries,
    format_bytes,
    format_entry,
    load_corpus,
    load_file,
    parse_bytes,
)
from conformance.corpus.entry_replay import BATCH_BYTES, BATCH_FRAMES, AllowedEntry, NotAllowed, Replay, batches
from reference_model.broker.rules.reaction import Identity, NotModelled
from reference_model.broker.rules.responses import encode_body, response_for
from reference_model.judging.stored_inputs import StoredInputOracle
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from strategies.api_versions import build_request
from strategies.other_apis import build_bare_request
from wire.exchange import Exchange, Outcome, Request

GOOD = '[[entry]]\nname = "a"\norigin = "o"\nhex = "00 01"\n'


def test_own_corpus_is_whole() -> None:
    """The stored files follow the format, and hold more than the pinned examples."""
    entries = load_corpus()
    assert len(entries) > 200
    assert {path.name for path in CORPUS_FOLDER.glob("*.toml")} >= {
        *(PINNED_FILE, "request_shapes.toml", "broker_facts.toml", "found_failures.toml"),
    }


@pytest.mark.parametrize(
    ("api_key", "storable"),
    [(18, True), (-1, True), (2000, True), (9999, True), (3, False), (1999, False), (10000, False)],
)
def test_keys_that_somebody_may_have_are_not_stored(api_key: int, storable: bool) -> None:
    """Stored requests are ApiVersions requests, or have keys that neither Kafka nor a vendor uses."""
    assert is_storable(build_bare_request(api_key, 0).data) is storable


def test_pinned_examples_are_in_the_corpus() -> None:
    """The bytes of every pinned example are stored; `kafka-conformance corpus pin` rewrites them."""
    stored = {entry.data for entry in load_corpus()}
    missing = [entry.name for entry in pinned_entries() if entry.data not in stored]
    assert missing == []


@given(data=st.binary(min_size=1, max_size=300))
@example(data=b"a" * 70 + b"bc" + b"\0\1" * 40)
def test_bytes_come_back(data: bytes) -> None:
    """Formatted bytes are read back as the same bytes."""
    assert parse_bytes(format_bytes(data)) == data


def test_long_runs_are_short_to_read() -> None:
    """A long run of equal bytes is written in a few characters."""
    assert format_bytes(b"\x05\x00" * 5000) == "0500*5000"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[[entry", "is not TOML", id="no-toml"),
        pytest.param("a = " + "[" * 10_000, "is not TOML", id="nested"),
        pytest.param("", "has no entries", id="empty"),
        pytest.param(GOOD + "size = 2\n", "size is unknown", id="unknown-key"),
        pytest.param(GOOD.replace('origin = "o"\n', ""), "origin is missing", id="missing-key"),
        pytest.param(GOOD.replace('"o"', '""'), "origin is empty", id="empty-origin"),
        pytest.param(GOOD.replace('"a"', '"A b"'), "'A b' is not a valid name", id="name"),
        pytest.param(GOOD.replace("00 01", "00 0"), "a: '0' is neither", id="half-a-byte"),
        pytest.param(GOOD.replace("00 01", "00 xy"), "a: 'xy' is neither", id="no-hex"),
        pytest.param(GOOD.replace("00 01", "61*999999"), "more than 262144 bytes", id="too-long"),
    ],
)
def test_bad_entry_is_refused_by_name(text: str, message: str, tmp_path: Path) -> None:
    """A file with a wrong format is refused, and the message names the entry or the key."""
    path = tmp_path / "some.toml"
    path.write_text(text)
    with pytest.raises(InvalidCorpus, match=r"some\.toml") as refused:
        load_file(path)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param(GOOD.replace("00 01", "02"), "a is also the name of another entry", id="name"),
        pytest.param(GOOD.replace('"a"', '"b"'), "b has the bytes of a", id="bytes"),
    ],
)
def test_doubles_are_refused(other: str, message: str, tmp_path: Path) -> None:
    """No two entries, in any files, share a name or their bytes."""
    (tmp_path / "a.toml").write_text(GOOD)
    (tmp_path / "b.toml").write_text(other)
    with pytest.raises(InvalidCorpus, match=message):
        load_corpus(tmp_path)


def test_new_entries_are_added_once(tmp_path: Path) -> None:
    """Entries whose bytes are stored are left out, and a taken name gets a number."""
    path = tmp_path / "found.toml"
    path.write_text(GOOD)
    stored = CorpusEntry(name="x", origin="again", data=b"\0\1")
    new = CorpusEntry(name="a", origin='a "quoted"\nline', data=b"\xff" * 100)
    assert [entry.name for entry in add_entries(path, [stored, new, new])] == ["a-2"]
    assert [entry.data for entry in load_corpus(tmp_path)] == [b"\0\1", b"\xff" * 100]
    assert add_entries(path, [new]) == ()


def test_entry_reads_as_it_was_written(tmp_path: Path) -> None:
    """A file that holds only this entry is read back as the same entry."""
    entry = CorpusEntry(name="some-name", origin='é and \\ and "', data=bytes(range(100)))
    path = tmp_path / "some.toml"
    path.write_text(format_entry(entry))
    assert load_file(path) == (entry,)


def oracle(release: str = NEWEST_RELEASE) -> StoredInputOracle:
    """Return the model of a release."""
    return StoredInputOracle(profile_of(release), Identity())


def test_model_has_a_word_on_nearly_all_of_the_corpus() -> None:
    """Few stored inputs cannot be replayed."""
    left_out = []
    for entry in load_corpus():
        try:
            oracle().allowed_for(entry.data)
        except NotModelled:
            left_out.append(entry.name)
    assert len(left_out) < len(load_corpus()) / 20


def test_batches_are_bounded() -> None:
    """A write is bounded in frames and bytes, unless it is a single long entry."""
    stored = [AllowedEntry(entry=e, allowed=oracle().allowed_for(e.data)) for e in load_corpus()[:100]]
    grouped = list(batches(stored))
    assert [each for batch in grouped for each in batch] == stored
    for batch in grouped:
        assert len(batch) <= BATCH_FRAMES
        assert len(batch) == 1 or sum(len(each.entry.data) for each in batch) <= BATCH_BYTES


V0 = build_request(version=0)
UNFINISHED = V0.data[:-1]
REFUSED = b"\xff\xff\xff\xff"
(SERVED, *_) = oracle().reactions_to(V0)
ANSWER = V0.data[8:12] + encode_body(response_for(SERVED, oracle().profile), SERVED.response_version)


class Wire:
    """Replaces a broker and its connection: returns prepared exchanges, whatever is sent."""

    profile = profile_of(NEWEST_RELEASE)
    identity = Identity()

    def __init__(self, *payloads: bytes, last: Outcome) -> None:
        self._payloads, self._last = payloads, last

    def connect(self) -> AbstractContextManager[Wire]:
        """Connect."""
        return nullcontext(self)

    def exchange(self, request: Request) -> Exchange:
        """Return an answer, and keep or close the connection."""
        kept = self._last is not Outcome.CLOSED
        return Exchange(request=request, outcome=Outcome.ANSWER, payload=self._payloads[0], usable=kept)

    def converse(self, requests: Sequence[Request]) -> tuple[Exchange, ...]:
        """Return the prepared answers; further requests get the last outcome."""
        answers = zip_longest(requests, self._payloads)
        return tuple(
            Exchange(
                request=request,
                outcome=Outcome.ANSWER if payload else self._last,
                payload=payload,
            )
            for request, payload in answers
        )

    end_stream = converse


@pytest.mark.parametrize("rest", [UNFINISHED, REFUSED, b"\0\0\0\1\0"], ids=["unfinished", "refused", "malformed"])
def test_silence_after_the_frames_that_are_answered_is_not_allowed(rest: bytes) -> None:
    """An incomplete frame, a refused size and a malformed frame end the connection."""
    entry = CorpusEntry(name="x", data=V0.data + rest, origin="")
    Replay(Wire(ANSWER, last=Outcome.CLOSED)).check_alone(entry)  # type: ignore[arg-type]
    with pytest.raises(NotAllowed, match="silent"):
        Replay(Wire(ANSWER, last=Outcome.SILENT)).check_alone(entry)  # type: ignore[arg-type]


def test_a_served_request_keeps_the_connection() -> None:
    """The right answer is not enough if the connection closes."""
    entry = CorpusEntry(name="x", data=V0.data, origin="")
    Replay(Wire(ANSWER, last=Outcome.ANSWER)).check_alone(entry)  # type: ignore[arg-type]
    with pytest.raises(NotAllowed, match="the next request was not answered"):
        Replay(Wire(ANSWER, last=Outcome.CLOSED)).check_alone(entry)  # type: ignore[arg-type]


commands_corpus = sys.modules["conformance.commands.corpus"]
ENTRIES = tuple(CorpusEntry(name=name, origin="o", data=name.encode()) for name in ("a", "b"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a corpus with a pinned file; the source now pins two examples."""
    monkeypatch.setattr(commands_corpus, "CORPUS_FOLDER", tmp_path)
    monkeypatch.setattr(commands_corpus, "pinned_entries", lambda: ENTRIES)
    (tmp_path / PINNED_FILE).write_text(format_entry(CorpusEntry(name="old", origin="o", data=b"old")))
    return tmp_path


def test_pinned_examples_that_others_store_are_left_out(folder: Path) -> None:
    """Entries that are no longer pinned are removed, and bytes that another file has are not added."""
    (folder / "found.toml").write_text(format_entry(CorpusEntry(name="x", origin="o", data=b"a")))
    result = CliRunner().invoke(corpus, ["pin"])
    assert result.exit_code == 0, result.output
    assert [entry.name for entry in load_corpus(folder)] == ["x", "b"]
    assert {path.name for path in folder.iterdir()} == {"found.toml", PINNED_FILE}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("no TOML", id="broken"),
        pytest.param(format_entry(CorpusEntry(name="a", origin="o", data=b"other")), id="same-name"),
    ],
)
def test_wrong_corpus_keeps_its_pinned_file(folder: Path, other: str) -> None:
    """If another file is wrong, the pinned file is unchanged."""
    (folder / "found.toml").write_text(other)
    before = (folder / PINNED_FILE).read_bytes()
    result = CliRunner().invoke(corpus, ["pin"])
    assert result.exit_code == 4, result.output
    assert (folder / PINNED_FILE).read_bytes() == before
