"""Writes the reference broker's responses to APIs other than ApiVersions: the smallest response of each schema."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from conformance.releases.advertised_tables import RECORDED
from fixtures.artefacts.message_schemas import api_catalogue
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import KIP_TEXT, NEWEST_RELEASE, profile_of
from wire.api_keys import API_VERSIONS_KEY
from wire.codec import encode

COLUMNS = ("api_key", "api_version", "answer", "error_at")
NO_TAGS = b"\0"


def record_default_answers(folder: Path = RECORDED) -> None:
    """Write `default_answers.csv`: for each version of the newest release, what follows the correlation id."""
    served = sorted(set(_served()))
    with (folder / "default_answers.csv").open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(
            (*each, _default_answer(*each).hex(), _offset_of_error_code(*each)) for each in served
        )


def _served() -> Iterator[tuple[int, int]]:
    for listener in (PLAINTEXT, CONTROLLER):
        profile = profile_of(NEWEST_RELEASE, listener=listener, follows=KIP_TEXT)
        for entry in (
            *profile.api_keys,
            *profile.traits.accepted_unlisted,
            *profile.readable_keys,
        ):
            if entry.api_key != API_VERSIONS_KEY:
                for api_version in range(entry.min_version, entry.max_version + 1):
                    yield entry.api_key, api_version


def _default_answer(api_key: int, api_version: int, **values: int) -> bytes:
    api = api_catalogue().find(api_key, api_version)
    assert api is not None, f"no message schema is known for API key {api_key} v{api_version}"
    header = NO_TAGS if api.response_header_version(api_version) else b""
    return header + encode(api.response(**values), version=api_version)


def _offset_of_error_code(api_key: int, api_version: int) -> int | str:
    """Return the offset of the top-level error code in the response; an empty string if it has none."""
    api = api_catalogue().find(api_key, api_version)
    assert api is not None
    if all(field.name != "error_code" for field in api.response.FIELDS):
        return ""
    without, with_code = (
        _default_answer(api_key, api_version, error_code=code) for code in (0, 0x0101)
    )
    offsets = (at for at, (a, b) in enumerate(zip(without, with_code, strict=False)) if a != b)
    return next(offsets, "")
