"""The codecs in which a client writes records, as its Produce requests show."""

from __future__ import annotations

from collections.abc import Iterator

from fixtures.artefacts.schema_jars import api_catalogue
from reference_model.clients.scripts.recording import Recording, SeenRequest
from wire.api_keys import PRODUCE_KEY
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES
from wire.record_codecs import NO_CODEC, codec_of


def written_codecs(recording: Recording) -> frozenset[str]:
    """Return the codecs of the records in a recording; that of records that are not compressed is left out."""
    requests = (each for each in recording.requests if each.api_key == PRODUCE_KEY)
    return frozenset(codec for each in requests for codec in _codecs_in(each)) - {"", NO_CODEC}


def _codecs_in(request: SeenRequest) -> Iterator[str]:
    api = api_catalogue().find(PRODUCE_KEY, request.api_version)
    if api is None:
        return
    try:
        message = api.decode_request(request.data[SIZE_BYTES:], request.api_version)
    except DecodeError:
        return
    for topic in message.topic_data:
        for partition in topic.partition_data:
            yield codec_of(partition.records or b"")
