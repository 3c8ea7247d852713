"""What an upgrade changes as JSON."""

from __future__ import annotations

from typing import Any

from reference_model.profiles.known_apis import Range
from reference_model.profiles.release_tables import RecordedRelease
from reference_model.profiles.version_tables import Support
from reports.release_changes.levels import Levels
from reports.release_changes.request_lines import RequestLine
from reports.release_changes.upgrade import Upgrade

UPGRADE_SCHEMA_VERSION = 1
"""Version of the document's layout."""


def upgrade_document(upgrade: Upgrade) -> dict[str, Any]:
    """Return the report as one JSON object."""
    return {
        "upgrade_schema_version": UPGRADE_SCHEMA_VERSION,
        "from": _end(upgrade.before),
        "to": _end(upgrade.after),
        "in_short": upgrade.in_short,
        "notes": list(upgrade.notes),
        "requests": [
            _request(line, because_of_quorum=False) for lines in upgrade.requests.by_kind.values() for line in lines
        ]
        + [_request(line, because_of_quorum=True) for line in upgrade.requests.with_quorum],
        "features": [
            {"name": each.name, "from": each.before or None, "to": each.after or None} for each in upgrade.features
        ],
        "levels": None if upgrade.levels is None else _levels(upgrade.levels),
        "steps": [
            {
                "text": step.text,
                "source": step.source.link if step.source else None,
                "see": [each.short for each in step.ends] if step.ends else None,
            }
            for step in upgrade.steps
        ],
        "java_clients": {
            "supported_by_kafka": upgrade.served.stated,
            "oldest_by_tables": upgrade.served.oldest,
            "newest_by_tables": upgrade.served.newest,
            "not_supported_by_kafka": list(upgrade.served.beyond),
            "tried": [
                {"client": each.client, "result": each.text, "contradicts": each.contradicts}
                for each in upgrade.served.tried
            ],
        },
        "clients": None
        if upgrade.clients is None
        else [
            {
                "client": each.client,
                "from": each.before,
                "to": each.after,
                "lost": list(each.lost),
                "gained": list(each.gained),
                "unclear": list(each.unclear),
            }
            for each in upgrade.clients
        ],
        "rules": None if upgrade.rules is None else _rules(upgrade),
    }


def _end(release: RecordedRelease) -> dict[str, str]:
    return {"release": release.release, "quorum": release.quorum, "target": release.target}


def _request(line: RequestLine, *, because_of_quorum: bool) -> dict[str, Any]:
    return {
        "api_key": line.change.api_key,
        "name": line.name,
        "kind": line.kind,
        "from": _support(line.change.before),
        "to": _support(line.change.after),
        "sent_by_clients": line.is_for_clients,
        "because_of_quorum": because_of_quorum,
        "meaning": line.meaning,
    }


def _support(support: Support | None) -> dict[str, Any] | None:
    if support is None:
        return None
    return {
        "listed": _range(support.listed),
        "refused": _range(support.refused),
        "served": _range(support.served),
    }


def _range(range_: Range | None) -> list[int] | None:
    return None if range_ is None else [*range_]


def _levels(levels: Levels) -> dict[str, Any]:
    return {
        "unfinalized": levels.unfinalized.target,
        "rising": {name: {"from": old or None, "to": new} for name, (old, new) in levels.rising.items()},
        "refused_until_finalized": {name: list(names) for name, names in levels.refused.items()},
        "limits_transactions": levels.limits_transactions,
        "can_return_once_finalized": not levels.beyond,
    }


def _rules(upgrade: Upgrade) -> dict[str, Any]:
    rules = upgrade.rules
    assert rules is not None
    return {
        "compared": rules.compared,
        "unclear": rules.unclear,
        "absent": list(rules.absent),
        "changes": [
            {
                "clause": each.clause.clause,
                "level": each.clause.level,
                "kind": each.kind,
                "from": each.before,
                "to": each.after,
                "because_of_quorum": each in rules.with_quorum,
                "why": each.why,
            }
            for each in (*rules.changes, *rules.with_quorum)
        ],
    }
