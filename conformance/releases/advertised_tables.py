"""Records the version tables of running brokers for the reference model.

The tables hold what the brokers advertise and what they can parse.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from conformance.assertions.decoding import decode_answer
from conformance.assertions.items import consecutive_runs
from fixtures.artefacts.schema_jars import api_catalogue
from fixtures.errors import HarnessError
from fixtures.launchers import launch
from fixtures.registry.targets import Target, kafka_releases
from fixtures.under_test.broker import Broker
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT, SASL_PLAINTEXT
from reference_model.profiles.profile import (
    FOLDER,
    KIP_TEXT,
    NEWEST_RELEASE,
    line_of,
    profile_of,
    release_order,
)
from strategies.minimal_requests import minimal_request
from wire.api_keys import API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import ApiVersionsResponse
from wire.codec import encode
from wire.exchange import Outcome, probe_request
from wire.primitives import NO_TAGS
from wire.sasl import handshake_request

KEY_COLUMNS = ("release", "quorum", "listener")
TABLE_COLUMNS = (*KEY_COLUMNS, "api_key", "min_version", "max_version")
FEATURE_COLUMNS = (*KEY_COLUMNS, "level", "name", "min_version", "max_version", "finalized_level")

READABLE_COLUMNS = ("release", "api_key", "min_version", "max_version")

RECORDED_LISTENERS = (PLAINTEXT, CONTROLLER)
STEPS_OF_SASL = (API_VERSIONS_KEY, SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY)
"""Keys that the SASL authenticator handles itself, so that its response shows nothing about other APIs."""

RECORDED = Path(str(FOLDER))
"""Where the model reads the recorded tables; only a checkout can be recorded to."""

Row = Mapping[str, str | int]


COLUMNS = ("api_key", "api_version", "answer", "error_at")


def advertised(broker: Broker) -> ApiVersionsResponse:
    """Return a broker's response at the highest version that it serves."""
    version = broker.max_version
    exchange = broker.exchange(probe_request(version))
    return decode_answer(exchange, api_version=version, exactly=True)


def record_tables(target: Target, launcher: str, folder: Path = RECORDED) -> None:
    """Start a target and replace its rows in the three recorded CSV files.

    The files are `advertised.csv`, `features.csv` and `readable.csv`. Rows of a patch release of the same line that the
    registry no longer has are replaced too.

    All listeners of a broker share one table, recorded from the plaintext listener. A controller has its own table.
    What a release can parse is the same on every listener.

    Of a release at an older level only the features are recorded, because the rest is that of the release.

    Args:
        target: an Apache Kafka release of the registry.
        launcher: "auto", "process" or "container".
        folder: the folder of the three files.

    Raises:
        HarnessError: the target does not start, or at an older level it lists other versions than its release.
    """
    with launch(target, launcher) as running:
        answers = {
            listener: advertised(Broker(running, listener))
            for listener in RECORDED_LISTENERS
            if listener in running.addresses
        }
        readable = [] if target.level else readable_versions(Broker(running, SASL_PLAINTEXT))
    if not target.level:
        _replace_rows(folder / "readable.csv", READABLE_COLUMNS, {"release": target.release}, readable)
    for listener, answer in answers.items():
        key: Row = {
            "release": target.release,
            "quorum": target.quorum or "",
            "listener": listener,
        }
        if not target.level:
            _replace_rows(folder / "advertised.csv", TABLE_COLUMNS, key, _table_rows(answer))
        elif answer.api_keys != profile_of(target.release, quorum=target.quorum, listener=listener).api_keys:
            raise HarnessError(f"{target.id} lists other versions on {listener} than {target.release} does")
        at_level = {**key, "level": target.level}
        _replace_rows(folder / "features.csv", FEATURE_COLUMNS, at_level, _feature_rows(answer))


def readable_versions(broker: Broker) -> list[Row]:
    """Return the versions of other APIs that a release can parse, as ranges.

    After SaslHandshake v1 the broker refuses a request that it can read with ILLEGAL_SASL_STATE, and closes the
    connection without an answer otherwise. Releases before 1.0 do not have that version: no rows.
    """
    catalogue = api_catalogue()
    api_keys = sorted({api.api_key for api in catalogue} - set(STEPS_OF_SASL))
    rows: list[Row] = []
    for api_key in api_keys:
        read = [v for v in catalogue.versions_of(api_key) if _is_read(broker, api_key, v)]
        rows += [{"api_key": api_key, "min_version": run[0], "max_version": run[-1]} for run in consecutive_runs(read)]
    return rows


def _is_read(broker: Broker, api_key: int, api_version: int) -> bool:
    api = api_catalogue().find(api_key, api_version)
    assert api is not None
    with broker.connect(authenticate=False) as connection:
        (handshake,) = connection.converse([handshake_request(version=1)])
        if handshake.outcome is not Outcome.ANSWER:
            return False
        (exchange,) = connection.converse([minimal_request(api, api_version)])
    return exchange.outcome is Outcome.ANSWER


def _table_rows(answer: ApiVersionsResponse) -> list[Row]:
    return [
        {
            "api_key": entry.api_key,
            "min_version": entry.min_version,
            "max_version": entry.max_version,
        }
        for entry in answer.api_keys
    ]


def _feature_rows(answer: ApiVersionsResponse) -> list[Row]:
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    return [
        {
            "name": feature.name,
            "min_version": feature.min_version,
            "max_version": feature.max_version,
            "finalized_level": levels.get(feature.name, 0),
        }
        for feature in answer.supported_features
    ]


def _replace_rows(file: Path, columns: tuple[str, ...], key: Row, rows: Iterable[Row]) -> None:
    kept: list[Row] = []
    if file.exists():
        others = {each.release for each in kafka_releases()}
        with file.open(newline="") as lines:
            kept = [row for row in csv.DictReader(lines) if not _is_replaced(row, key, others)]
    last = columns[len(key)]
    new: list[Row] = [{**key, **row} for row in rows]
    everything = sorted((*kept, *new), key=lambda row: _order(row, tuple(key), last))
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(everything)


def _is_replaced(row: Row, key: Row, known: Collection[str]) -> bool:
    """Return whether new rows replace a row.

    They do if the row has the same key, or if it belongs to a patch release of the same line that is not among the
    known ones, those of the registry: the new one took its place.
    """
    release, other = str(key["release"]), str(row["release"])
    if release != other:
        return line_of(release) == line_of(other) and other not in known
    return all(row[column] == key[column] for column in key)


def _order(row: Row, key: tuple[str, ...], last: str) -> tuple[object, ...]:
    value = str(row[last])
    rank = int(value) if value.lstrip("-").isdigit() else 0
    parts = (row[column] for column in key if column not in ("release", "level"))
    level = str(row.get("level", ""))
    return release_order(str(row["release"])), *parts, release_order(level) if level else (), rank, value


def record_default_answers(folder: Path = RECORDED) -> None:
    """Write `default_answers.csv`: for each version of the newest release, what follows the correlation id."""
    served = sorted(set(_served()))
    with (folder / "default_answers.csv").open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*each, _default_answer(*each).hex(), _offset_of_error_code(*each)) for each in served)


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
    without, with_code = (_default_answer(api_key, api_version, error_code=code) for code in (0, 0x0101))
    offsets = (at for at, (a, b) in enumerate(zip(without, with_code, strict=False)) if a != b)
    return next(offsets, "")
