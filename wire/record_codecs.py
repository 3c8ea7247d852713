"""How the records of a Produce request are compressed.

Record batches (magic 2, KIP-98) and the message sets before them (magic 0 and 1, KIP-32) have the codec in the lowest
three bits of their attributes. Nothing else of them is read here.
"""

from __future__ import annotations

MAGIC_AT = 16
"""Where the magic byte is in both: after an offset, a length, and a leader epoch or checksum."""
FIRST_MAGIC_OF_BATCHES = 2
ATTRIBUTES_OF_MESSAGES_AT = 17
ATTRIBUTES_OF_BATCHES_AT = 21
MIN_BYTES = ATTRIBUTES_OF_BATCHES_AT + 2
"""What comes before the attributes of a batch, and these; the smallest message is longer."""
CODEC_BITS = 0b111
NO_CODEC = "none"
CODECS = (NO_CODEC, "gzip", "snappy", "lz4", "zstd")
"""The codecs by their numbers; zstd is from KIP-110."""


def codec_of(records: bytes) -> str:
    """Return the codec of the first batch or message of some records: an element of `CODECS`.

    Return an empty text if the records end before it, or if no such codec exists.
    """
    if len(records) < MIN_BYTES:
        return ""
    is_batch = records[MAGIC_AT] >= FIRST_MAGIC_OF_BATCHES
    # The attributes of a batch have two bytes, of which the second one has the codec.
    at = ATTRIBUTES_OF_BATCHES_AT + 1 if is_batch else ATTRIBUTES_OF_MESSAGES_AT
    number = records[at] & CODEC_BITS
    return CODECS[number] if number < len(CODECS) else ""
