"""Nox sessions for developers and CI.

`nox -l` lists them. CI runs the same sessions by name.

Every session has its own environment, built from the pinned and hashed requirements.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests", "lint", "types", "layers"]

DEVELOPMENT = "requirements/dev.txt"
OF_PROPOSALS = sorted(map(str, Path("proposals").glob("*/tests")))
"""The folders of the tests of proposals."""
TESTS = ("tests", *OF_PROPOSALS)


def install(session: nox.Session) -> None:
    """Install the pinned requirements and the project itself; with --no-venv they are already there."""
    if not session.virtualenv.is_sandboxed:
        return
    session.install("--no-deps", "--require-hashes", "-r", DEVELOPMENT)
    session.install("--no-deps", "--no-build-isolation", "-e", ".")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the project's own tests, in random order."""
    install(session)
    session.run(
        "pytest",
        *TESTS,
        *("-p", "randomly", "-n", "auto", "--dist", "loadfile"),
        *session.posargs,
    )


@nox.session
def coverage(session: nox.Session) -> None:
    """Check that the tests of the pure core reach every branch of it."""
    install(session)
    session.run(
        "pytest",
        *("tests/wire", "tests/clauses", "tests/reference_model", "tests/proposals", *OF_PROPOSALS),
        *("-n", "auto", "--dist", "loadfile", "--cov"),
        *session.posargs,
    )


@nox.session
def slow(session: nox.Session) -> None:
    """Run the project's own tests that are marked as slow, except for those of a night."""
    install(session)
    run_slow_tests(session, "slow and not nightly")


@nox.session
def nightly(session: nox.Session) -> None:
    """Run the project's own tests that are marked for the night."""
    install(session)
    run_slow_tests(session, "nightly")


def run_slow_tests(session: nox.Session, which: str) -> None:
    """Run those tests of the project that a mark expression chooses."""
    chosen = ("-m", which, "-p", "randomly", "-n", "auto", "--dist", "loadfile")
    session.run("pytest", *TESTS, *chosen, *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """Judge the newest Apache Kafka release, or the targets that the arguments choose."""
    install(session)
    session.run("pytest", "conformance", *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Run the suite against every planted defect and print the mutation score."""
    install(session)
    session.run("kafka-conformance", "mutation", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run the benchmarks and report results as ratios within one run.

    They measure hostile targets, clients and folders, a busy machine, far targets, the roll-up and `watch`.

    `benchmarks.one_release` compares two commits, which have to be named. Without `-- --quick` this takes hours.
    """
    install(session)
    names = "hostile_targets hostile_clients busy_machine hostile_folders far_targets roll_up watch"
    for name in names.split():
        session.run("python", "-m", f"benchmarks.{name}", *session.posargs)


@nox.session
def screenshots(session: nox.Session) -> None:
    """Take the pictures of the documents again, from the folder of a site that `kafka-conformance grid` has made."""
    install(session)
    session.run("python", "-m", "workflows.documents.screenshots", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    install(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    install(session)
    session.run("mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Check which layers import which."""
    install(session)
    session.run("lint-imports")
