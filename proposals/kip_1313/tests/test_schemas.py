"""Tests of `schemas check`: files, folders, jars and the exit status."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fixtures.artefacts.schema_jars import clients_jar, read_schemas
from fixtures.errors import ArtefactUnavailable
from proposals.kip_1313.commands.schemas import schemas
from proposals.kip_1313.messages import OFFSET_DELETE_KEY
from proposals.kip_1313.tests.schemas import new_version
from wire.header_versions import REQUEST, RESPONSE, derived_header_version, kind_of

EXAMPLES = Path(__file__).parent / "vectors"
RIGHT = json.dumps(new_version(OFFSET_DELETE_KEY, REQUEST, 3))
WRONG = "// a comment\n" + json.dumps(new_version(OFFSET_DELETE_KEY, REQUEST, 2))


def check(*paths: Path) -> Result:
    """Run the command."""
    return CliRunner().invoke(schemas, ["check", *map(str, paths)])


def test_problem_is_shown_with_its_file_and_key(tmp_path: Path) -> None:
    """A folder's files are all checked; what is no request or response is not counted."""
    (tmp_path / "right.json").write_text(RIGHT)
    (tmp_path / "wrong.json").write_text(WRONG)
    (tmp_path / "header.json").write_text('{"type": "header", "name": "ResponseHeader"}')
    result = check(tmp_path)
    assert result.exit_code == 1
    assert f'{tmp_path}/wrong.json: headerVersions."1+": gives v1 header v2' in result.output
    assert result.output.endswith("2 schemas of requests and responses, 2 with headerVersions: 1 problem\n")
    assert check(tmp_path / "right.json").exit_code == 0


def test_examples_of_the_proposal_have_no_problem() -> None:
    """All eight, together as a folder, with the request header and one by one."""
    together = check(EXAMPLES)
    assert together.exit_code == 0
    assert together.output == (
        "8 schemas of requests and responses, 8 with headerVersions, and the request header: 0 problems\n"
    )
    files = sorted(EXAMPLES.glob("*.json"))
    assert len(files) == 9
    for file in files:
        assert check(file).exit_code == 0


def test_folder_with_header_v3_needs_it_everywhere(tmp_path: Path) -> None:
    """The same file alone, or in a folder of today, claims nothing and has no problem."""
    today = tmp_path / "today"
    today.mkdir()
    old = {**new_version(OFFSET_DELETE_KEY, REQUEST, 3), "validVersions": "0", "name": "OldRequest"}
    del old["headerVersions"]
    (today / "old.json").write_text(json.dumps(old))
    assert check(today).exit_code == 0
    shutil.copytree(EXAMPLES, tmp_path / "proposal")
    assert check(tmp_path / "proposal", today / "old.json").exit_code == 0
    shutil.copy(today / "old.json", tmp_path / "proposal")
    result = check(tmp_path / "proposal")
    assert result.exit_code == 1
    assert "old.json: validVersions: gives no version header v3" in result.output


HEADER = json.loads((EXAMPLES / "RequestHeader.json").read_text())
COMPACT_ID = {key: value for key, value in HEADER["fields"][3].items() if key != "flexibleVersions"}


@pytest.mark.parametrize(
    ("text", "status", "output"),
    [
        pytest.param(
            RIGHT.replace('"headerVersions": {', '"headerVersions": {"1+": "2", '),
            1,
            'x.json: headerVersions."1+": is there more than once',
            id="repeated-key",
        ),
        pytest.param(
            json.dumps({**HEADER, "fields": [*HEADER["fields"][:3], COMPACT_ID, HEADER["fields"][4]]}),
            1,
            "fields[3].flexibleVersions: ClientId has '2+', and not 'none'",
            id="request-header",
        ),
        pytest.param(
            json.dumps({**HEADER, "validVersions": "1-2", "fields": []}),
            0,
            "and the request header: 0 problems",
            id="request-header-of-today",
        ),
        pytest.param(
            RIGHT.replace('"1"', "1").replace('"3"', "3"),
            0,
            "1 schema with header versions as numbers",
            id="numbers-are-only-mentioned",
        ),
        # A file in the jar of 2.8.2 has one brace too many, and Kafka reads it.
        pytest.param(RIGHT + "\n}\n", 0, "1 with headerVersions: 0 problems", id="surplus-brace"),
    ],
)  # fmt: skip
def test_file_is_checked_alone(text: str, status: int, output: str, tmp_path: Path) -> None:
    """A problem ends the command with 1."""
    (tmp_path / "x.json").write_text(text)
    result = check(tmp_path / "x.json")
    assert result.exit_code == status
    assert output in result.output


def test_jar_is_read(tmp_path: Path) -> None:
    """Only the folder of message schemas."""
    with zipfile.ZipFile(tmp_path / "clients.jar", "w") as jar:
        jar.writestr("common/message/OffsetDeleteRequest.json", WRONG)
        jar.writestr("other/Thing.json", "{}")
    result = check(tmp_path / "clients.jar")
    assert result.exit_code == 1
    assert result.output.startswith("common/message/OffsetDeleteRequest.json: headerVersions")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"{", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[1]", "is no object"),
        (b'{"name": "SomeRequest"}', "has no apiKey"),
        (b"{}", "there is no schema"),
        (RIGHT.replace("0-1", "0 to 1", 1).encode(), "is not a range of versions"),
        (b"\xff\xfe", "no text in UTF-8"),
    ],
)
def test_other_file_is_an_error(content: bytes, what: str, tmp_path: Path) -> None:
    """Not a violation."""
    (tmp_path / "x.json").write_bytes(content)
    result = check(tmp_path / "x.json")
    assert result.exit_code == 4
    assert what in result.output


HEADERS = """
import org.apache.kafka.common.message.ApiMessageType;

public class Headers {
    public static void main(String[] arguments) {
        for (ApiMessageType type : ApiMessageType.values()) {
            for (short v = type.lowestSupportedVersion(); v <= type.highestSupportedVersion(true); v++) {
                System.out.println(type.apiKey() + " " + v + " " + type.requestHeaderVersion(v)
                    + " " + type.responseHeaderVersion(v));
            }
        }
    }
}
"""


@pytest.mark.slow  # It fetches a jar and starts Kafka's own code in a JVM
@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
def test_derived_headers_are_those_of_kafka(release: str, tmp_path: Path) -> None:
    """Of every version of every request and response."""
    java = shutil.which("java")
    if java is None:
        pytest.skip("there is no java; install a JDK")
    try:
        jar = clients_jar(release)
    except ArtefactUnavailable as error:
        pytest.skip(str(error))
    (tmp_path / "Headers.java").write_text(HEADERS)
    done = subprocess.run(
        [java, "-cp", str(jar), str(tmp_path / "Headers.java")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "compiler" in done.stderr:
        pytest.skip("this java has no compiler; install a JDK")
    assert done.returncode == 0, done.stderr
    by_kind = {
        kind: {each["apiKey"]: each for each in read_schemas(jar) if kind_of(each) == kind}
        for kind in (REQUEST, RESPONSE)
    }
    rows = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(rows) > 300
    for api_key, version, request, response in rows:
        assert derived_header_version(by_kind[REQUEST][api_key], version) == request
        assert derived_header_version(by_kind[RESPONSE][api_key], version) == response
