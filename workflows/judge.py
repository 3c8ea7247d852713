"""The program that `action.yml` runs: it judges a broker or a client.

It runs in the workflow of the project that builds the broker or client.

The inputs are environment variables `INPUT_<NAME>`. Exactly one of those in `KINDS` chooses the target. The exit status
is the suite's.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from clauses.exit_statuses import USAGE_ERROR
from fixtures.registry.command_placeholders import OPERATION
from fixtures.registry.targets import BROKERS_FOLDER
from reports.command_line.distribution import COMMIT_VARIABLE
from reports.command_line.suite_command import SuiteCommand
from reports.plugin import RUN_FOLDER_FILE, run_folder_in
from workflows.github import write_outputs, write_summary

SUITE = Path(__file__).parent.parent / "conformance"
KINDS = ("bootstrap-server", "broker", "kafka-home", "image", "client", "client-command")
"""The inputs of which one chooses what is judged."""
BROKERS_OF_OPERATIONS = ("bootstrap-server", "broker")
"""Of these, those with which the operations of a command can be tried."""
IMAGE_TARGET = "given-image"
SECRET = "INPUT_COMMAND_CONFIG"
"""The variable with the properties of --command-config: its text has passwords, so it is neither shown nor passed
on."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""What Python makes of a byte of an environment variable that is not UTF-8."""
_COMMIT = re.compile("[0-9a-f]{40}")


class WrongInput(click.ClickException):
    """The inputs of the action are missing, invalid or contradictory."""

    exit_code = USAGE_ERROR


def given(environment: Mapping[str, str], name: str) -> str:
    """Return an input of the action; empty if it was not given."""
    return environment.get("INPUT_" + name.upper().replace("-", "_"), "").strip()


def target_options(environment: Mapping[str, str]) -> list[str]:
    """Return the suite's options that choose the target.

    Raises:
        WrongInput: none or more than one is given, but for a command with operations and a broker.
    """
    kinds = [kind for kind in KINDS if given(environment, kind)]
    command = given(environment, "client-command")
    if OPERATION in command and len(kinds) == 2 and kinds[0] in BROKERS_OF_OPERATIONS:
        return [*_options_of(kinds[0], environment), "--client-cmd", command]
    if len(kinds) != 1:
        raise WrongInput(f"give exactly one of the inputs {', '.join(KINDS)}; given: {kinds}")
    return _options_of(kinds[0], environment)


def _options_of(kind: str, environment: Mapping[str, str]) -> list[str]:
    if kind == "image":
        return ["--broker", IMAGE_TARGET, "--launcher", "container"]
    if kind == "kafka-home":
        return ["--kafka-home", str(_workspace(environment) / given(environment, kind))]
    if kind == "client-command":
        return ["--client-cmd", given(environment, kind)]
    return [option for id_ in given(environment, kind).split() for option in (f"--{kind}", id_)]


def _workspace(environment: Mapping[str, str]) -> Path:
    """Return the folder to which paths are relative.

    It is the folder of the workflow that uses the action, not the action's own.
    """
    return Path(environment.get("GITHUB_WORKSPACE") or Path.cwd())


def _is_true(environment: Mapping[str, str], name: str) -> bool:
    value = given(environment, name) or "false"
    if value not in ("true", "false"):
        raise WrongInput(f"the input {name} is {value!r}; it must be true or false")
    return value == "true"


def image_entry(environment: Mapping[str, str]) -> str:
    """Return the registry entry of an image, in TOML.

    Raises:
        WrongInput: an input about the image is invalid.
    """
    port = given(environment, "image-port") or "9092"
    if not port.isdecimal():
        raise WrongInput(f"the input image-port is {port!r}; it must be a number")
    lines = [
        'implementation = "unknown"',
        'release = "unknown"',
        'listeners = ["plaintext"]',
        "[container]",
        f"image = {_in_toml(given(environment, 'image'))}",
        f"port = {int(port)}",
    ]
    command = given(environment, "image-command").splitlines()
    if command:
        lines.append(f"command = {_in_toml(command)}")
    variables = given(environment, "image-environment").splitlines()
    lines += ["[container.environment]"] if variables else []
    for line in filter(None, map(str.strip, variables)):
        name, equals, value = line.partition("=")
        if not equals:
            raise WrongInput(f"the input image-environment has {line!r}; it must be NAME=VALUE")
        lines.append(f"{_in_toml(name)} = {_in_toml(value)}")
    return "\n".join(lines) + "\n"


def _in_toml(value: str | list[str]) -> str:
    """Return a text or a list of texts in TOML, which is their JSON but for pairs of surrogates and the character DEL.

    Raises:
        WrongInput: a text was not given in UTF-8.
    """
    written = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if _HALF_CHARACTER.search(written):
        raise WrongInput(f"an input about the image is not UTF-8: {written!a}")
    return written


def suite_options(environment: Mapping[str, str]) -> list[str]:
    """Return the suite's command line options.

    Raises:
        WrongInput: the inputs are invalid or contradictory.
    """
    options = target_options(environment)
    for name in ("tier", "listener", "like", "bootstrap-controller", "clauses"):
        if given(environment, name):
            options += [f"--{name}", given(environment, name)]
    for name in ("read-only", "strict-should", "client-unconfined"):
        options += [f"--{name}"] if _is_true(environment, name) else []
    workspace = _workspace(environment)
    for operation in given(environment, "client-falls-back").split():
        options += ["--client-falls-back", operation]
    for name in ("expectations", "baseline"):
        if given(environment, name):
            options += [f"--{name}", str(workspace / given(environment, name))]
    runs = workspace / (given(environment, "runs") or "kafka-conformance-runs")
    return [*options, "--runs", str(runs)]


def suite_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the suite's environment: with its own commit if the action is pinned by one, and without secrets."""
    commit = environment.get("GITHUB_ACTION_REF", "")
    own = {name: value for name, value in environment.items() if name != SECRET}
    return {**own, **({COMMIT_VARIABLE: commit} if _COMMIT.fullmatch(commit) else {})}


def command_config(environment: Mapping[str, str], folder: Path) -> list[str]:
    """Write a workflow's properties to a file, and return the option that names it.

    Only this user can read the file. Without properties nothing is written and no option is returned.
    """
    if not environment.get(SECRET, "").strip():
        return []
    file = folder / "client.properties"
    file.touch(mode=0o600)
    file.write_text(environment[SECRET], encoding="utf-8")
    return ["--command-config", str(file)]


def judge(environment: Mapping[str, str]) -> tuple[int, Path | None]:
    """Run the suite, show its output, and return its exit status and its run folder."""
    options = suite_options(environment)
    entry = BROKERS_FOLDER / f"{IMAGE_TARGET}.toml"
    if IMAGE_TARGET in options:
        entry.write_text(image_entry(environment), encoding="utf-8")
    # Safe: no module of the workspace, where it runs, comes before one of the suite's.
    command = [sys.executable, "-P", "-m", "pytest", str(SUITE), "-q", "-p", "no:cacheprovider"]
    try:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "run_folder"
            options += command_config(environment, Path(folder))
            status = _show([*command, RUN_FOLDER_FILE, str(file), *options], environment)
            return status, run_folder_in(file)
    finally:
        entry.unlink(missing_ok=True)


def _show(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the suite in the workspace, show its output, and return its exit status.

    A client's command is in the workspace. The output is shown as it comes.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=suite_environment(environment),
        cwd=_workspace(environment),
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            click.echo(line.decode(errors="replace"), nl=False)
    return process.returncode


def write_run_summary(folder: Path | None, status: int) -> Path | None:
    """Write a run's summary to the job's page and to a file next to the run folder."""
    if folder is None:
        write_summary(f"The suite judged nothing; its exit status is {status}. The log says why.")
        return None
    summary = written_beside(folder, "markdown", "md")
    if summary is None:
        write_summary(f"The run did not end; its exit status is {status}. The log says why.")
        return None
    write_summary(f"{summary.read_text(encoding='utf-8')}\nExit status: {status}")
    return summary


def written_beside(folder: Path, form: str, suffix: str) -> Path | None:
    """Write what `summary` prints of a run in one of its forms next to the run folder; None if the run did not end."""
    command = [sys.executable, "-m", "conformance", "summary", str(folder), "--format", form]
    printed = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=SUITE.parent, check=False
    )
    if printed.returncode != 0:
        return None
    path = folder.with_name(f"{folder.name}.{suffix}")
    path.write_text(printed.stdout, encoding="utf-8")
    return path


@click.command(cls=SuiteCommand, name="workflows.judge")
def main() -> None:
    """Judge one broker, configured by the action's inputs."""
    status, folder = judge(os.environ)
    summary = write_run_summary(folder, status)
    # This program's own log carries out no command: a further step shows the annotations.
    further = {
        name: str((folder and summary and written_beside(folder, form, suffix)) or "")
        for name, form, suffix in (("annotations", "annotations", "annotations"), ("junit", "junit", "xml"))
    }
    write_outputs({"status": str(status), "run": str(folder or ""), "summary": str(summary or ""), **further})
    raise SystemExit(status)


if __name__ == "__main__":
    main()
