"""What an upgrade changes as Markdown."""

from __future__ import annotations

from reports.release_changes.sections import sections_of
from reports.release_changes.steps import SOURCES
from reports.release_changes.upgrade import Upgrade
from reports.wording.escaping import markdown_text


def upgrade_markdown(upgrade: Upgrade) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    lines = [f"## {markdown_text(upgrade.title)}", "", f"**{markdown_text(upgrade.in_short)}**"]
    for section in sections_of(upgrade):
        lines += ["", f"### {markdown_text(section.title)}", ""]
        lines += [f"- {markdown_text(str(line))}" for line in section.lines]
    links = ", ".join(f"[{each.title}]({each.link})" for each in SOURCES)
    return "\n".join([*lines, "", f"What Apache Kafka states: {links}."]) + "\n"
