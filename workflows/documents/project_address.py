"""Writes the project's address into documents, from its only home.

That is `[project.urls]` of pyproject.toml. Its owner is `OWNER` as long as the project is not published.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PLACEHOLDER = "OWNER"
NAME = "kafka-conformance"
_GITHUB = "https://github.com/"
_IN_WORKFLOWS = re.compile(rf"(?P<before>(?:uses: |repository: |--repo |{_GITHUB}))[\w.-]+/{NAME}\b")
_PAGES = re.compile(rf"https://[\w.-]+\.github\.io/{NAME}\b")


def project_repository() -> str:
    """Return the owner and name of the project's repository at GitHub, with a slash between them."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address: str = project["urls"]["Repository"]
    return address.removeprefix(_GITHUB)


def with_address(text: str, repository: str) -> str:
    """Return a document in which every address of the project is that of a repository.

    It finds the address of the repository in a workflow, in a command and in a link, and that of its pages.
    """
    owner, _, name = repository.partition("/")
    text = _IN_WORKFLOWS.sub(lambda found: f"{found['before']}{repository}", text)
    return _PAGES.sub(f"https://{owner.lower() if owner != PLACEHOLDER else owner}.github.io/{name}", text)


def addressed_documents() -> Iterator[Path]:
    """Yield the documents that people read in the repository, without those that are generated of runs."""
    for folder in ("", "docs", "vectors", "proposals/*"):
        yield from sorted(REPOSITORY.glob(f"{folder}/*.md" if folder else "*.md"))
