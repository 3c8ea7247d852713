"""Records what running brokers advertise in the reference model's tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from conformance.judging import decode_answer
from fixtures.broker import Broker, probe_request
from fixtures.launchers import choose_launcher, launch
from fixtures.targets import Target
from reference_model.listeners import CONTROLLER, PLAINTEXT
from reference_model.profile import FOLDER, release_order
from wire.api_versions import ApiVersionsResponse

KEY_COLUMNS = ("release", "quorum", "listener")
TABLE_COLUMNS = (*KEY_COLUMNS, "api_key", "min_version", "max_version")
FEATURE_COLUMNS = (*KEY_COLUMNS, "name", "min_version", "max_version", "finalized_level")

RECORDED_LISTENERS = (PLAINTEXT, CONTROLLER)

RECORDED = Path(str(FOLDER))
"""Where the model reads the recorded tables; only a checkout can be recorded to."""

Row = Mapping[str, str | int]


def advertised(broker: Broker) -> ApiVersionsResponse:
    """Return a broker's response at the highest version that it serves."""
    version = broker.max_version
    exchange = broker.exchange(probe_request(version))
    return decode_answer(exchange, api_version=version, exactly=True)


def record_tables(target: Target, launcher: str, folder: Path = RECORDED) -> None:
    """Start a target and replace its rows in `advertised.csv` and `features.csv`.

    All listeners of a broker share one table, recorded from the plaintext listener. A controller has its own table.

    Args:
        target: an Apache Kafka release of the registry.
        launcher: "auto", "process" or "container".
        folder: the folder of the two files.
    """
    chosen, _ = choose_launcher(target, launcher)
    with launch(target, chosen) as running:
        answers = {
            listener: advertised(Broker(running, listener))
            for listener in RECORDED_LISTENERS
            if listener in running.addresses
        }
    for listener, answer in answers.items():
        key: Row = {
            "release": target.release,
            "quorum": target.quorum or "",
            "listener": listener,
        }
        _replace_rows(folder / "advertised.csv", TABLE_COLUMNS, key, _table_rows(answer))
        _replace_rows(folder / "features.csv", FEATURE_COLUMNS, key, _feature_rows(answer))


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
        with file.open(newline="") as lines:
            kept = [
                row
                for row in csv.DictReader(lines)
                if any(row[column] != key[column] for column in KEY_COLUMNS)
            ]
    last = columns[len(KEY_COLUMNS)]
    new: list[Row] = [{**key, **row} for row in rows]
    everything = sorted((*kept, *new), key=lambda row: _order(row, last))
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(everything)


def _order(row: Row, last: str) -> tuple[object, ...]:
    value = str(row[last])
    rank = int(value) if value.lstrip("-").isdigit() else 0
    return release_order(str(row["release"])), row["quorum"], row["listener"], rank, value
