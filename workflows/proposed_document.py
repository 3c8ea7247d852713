"""Proposes a night's docs/COMPATIBILITY.md as a pull request.

The pull request is updated every night until it is merged.

    python -m workflows.proposed_document SITE --repository OWNER/NAME --base main

Runs in a checkout of the base branch. It proposes nothing if only what the data was made from differs: date, commits,
tiers and counts of runs.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from reports.command_line.suite_command import CannotWork, SuiteCommand
from workflows.compatibility.__main__ import write_documents
from workflows.compatibility.changes import changes_between
from workflows.compatibility.data import DATA_FILE, read_data
from workflows.findings_by_vector.__main__ import write_table
from workflows.github import gh, gh_json, write_summary

BRANCH = "nightly/compatibility"
TITLE = "Update what the night found in COMPATIBILITY.md"
BODY = "Made from the site of a night. The tests of `tests/documents` check that the document follows from its data; close and reopen this pull request to start them. Read the scripts in `docs/findings`: a job runs them."
DOCS = "docs"
GITHUB = "https://github.com"
_AUTHOR = ("-c", "user.name=nightly", "-c", "user.email=nightly@users.noreply.github.com")


def propose(site: Path, repository: str, base: str, remote: str, checkout: Path = Path()) -> str:
    """Write the documents of a night and propose them; return what was done, in one line."""
    docs = checkout / DOCS
    before = read_data(docs / DATA_FILE)
    after = write_documents(site, docs, f"{GITHUB}/{repository}")
    if replace(after, made=before.made, project=before.project) == before:
        return "Nothing changes in COMPATIBILITY.md."
    body = "\n\n".join(filter(None, (BODY, changes_between(before, after))))
    write_table(docs)
    git = _git_in(checkout)
    git("switch", "--force-create", BRANCH)
    git("add", "--all", DOCS)
    git(*_AUTHOR, "commit", "--quiet", "--message", TITLE)
    git("push", "--quiet", "--force", remote, f"HEAD:refs/heads/{BRANCH}")
    open_ones = gh_json(
        *("pr", "list", "--repo", repository, "--head", BRANCH, "--state", "open"),
        *("--json", "url"),
    )
    if open_ones:
        url = open_ones[0]["url"]
        gh("pr", "edit", url, "--body", body)
        return f"Updated the proposal {url}"
    url = gh(
        *("pr", "create", "--repo", repository, "--head", BRANCH, "--base", base),
        *("--title", TITLE, "--body", body),
    )
    return f"Proposed {url.strip()}"


def _git_in(checkout: Path) -> Callable[..., None]:
    def git(*arguments: str) -> None:
        done = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            # The arguments are not shown: the address of the remote may have a token in it.
            raise CannotWork(f"git could not propose the document: {done.stderr.strip()}")

    return git


@click.command(cls=SuiteCommand, name="workflows.proposed_document")
@click.argument("site", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--repository", required=True, metavar="OWNER/NAME")
@click.option("--base", required=True, metavar="BRANCH")
@click.option("--remote", default="origin", show_default=True, help="where the branch is pushed to")
def main(site: Path, repository: str, base: str, remote: str) -> None:
    """Propose the document of a night."""
    done = propose(site, repository, base, remote)
    write_summary(done)
    click.echo(done)


if __name__ == "__main__":
    main()
