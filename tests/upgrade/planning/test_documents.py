"""An upgrade as JSON and as Markdown."""

from __future__ import annotations

import json
from pathlib import Path

from reports.document.markdown_form import markdown
from reports.release_changes.sections import upgrade_report
from reports.release_changes.upgrade import upgrade_between
from tests.reports.exports.grids import HOSTILE, TERMINAL_ESCAPES
from tests.reports.release_changes.grids import grid_of_two_releases
from upgrade.planning.json_document import upgrade_document
from upgrade.planning.release_names import ends_named


def test_json_has_what_is_listed_refused_and_served() -> None:
    document = json.loads(json.dumps(upgrade_document(upgrade_between(*ends_named("2.3.1", "4.4.0")))))
    requests = {each["name"]: each for each in document["requests"]}
    assert requests["Produce"]["kind"] == "listed, refused"
    assert requests["Produce"]["to"] == {"listed": [0, 13], "refused": [0, 2], "served": [3, 13]}
    assert requests["LeaderAndIsr"]["because_of_quorum"] is True
    assert document["from"] == {
        "release": "2.3.1",
        "quorum": "zookeeper",
        "target": "apache-kafka-2.3.1",
    }
    assert document["java_clients"]["supported_by_kafka"] == "of 2.1 and newer"
    assert (document["clients"], document["rules"]) == (None, None)


def test_names_of_others_are_no_markup(tmp_path: Path) -> None:
    """Clients and reasons come from runs."""
    grid = grid_of_two_releases(
        tmp_path,
        operations={f"{HOSTILE}.produce": ("conforms", "violates")},
        rules={f"A.{HOSTILE}": ("conforms", "violates")},
    )
    text = markdown(upgrade_report(upgrade_between(*ends_named("2.3.1", "4.4.0"), grid)))
    assert "<script>" not in text
    assert not any(escape in text for escape in TERMINAL_ESCAPES)
