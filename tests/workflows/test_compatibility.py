"""docs/COMPATIBILITY.md and finding texts report what a grid has, nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.assertions.client_moves import TOO_MUCH_MEMORY
from reports.grid.bugs import Evidence
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_table
from reports.tables.failure_rows import KeptFailure
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables
from workflows.compatibility.__main__ import main
from workflows.compatibility.collecting import Collected, collect, finding_id, step_between
from workflows.compatibility.data import Compatibility, Finding, counts_of, read_data, write_data
from workflows.compatibility.document import MAX_BYTES, document, step_sentence
from workflows.compatibility.finding_files import play_of, write_findings
from workflows.compatibility.finding_texts import finding_text, linked, shortened, without_folders

MUST, SHOULD, KNOWN = (
    "KIP-35.keys-unique",
    "KIP-35.outside-range-not-served",
    "KIP-35.trailing-bytes",
)
CLIENTS = "KIP-511.client-errors-on-42"
SHARE = "libone-1.0.share-group"
SILENT = "the target fell silent instead of answering"
LOOPS = "the client loops on one connection: {} ApiVersions requests\n1 request in 0.1 s"
PLAY = {"nodes": [], "recorded": [], "tables": [], "sasl": False}


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid: a broker that crashes, one with a declared violation and two versions of a client with the same bug."""
    example = {"example": "{'script': Script(nodes=(), timeout_ms=3000)}", "message": ""}
    return write_tables(
        tmp_path_factory.mktemp("compatibility") / "grid",
        cells=[
            cell_row(MUST, "mybroker-2.0", "violates", failures=["aa"]),
            cell_row(SHOULD, "mybroker-2.0", "violates", failures=["bb"]),
            cell_row(KNOWN, "mybroker-1.0", "known_violation", failures=["cc"], known_violation="On purpose. (https://example.org/1)"),
            cell_row(MUST, "mybroker-1.0"),
            cell_row(MUST, "fine-1.0"),
            cell_row(MUST, "absent-1.0", "inconclusive", reason="it cannot be installed"),
            cell_row(CLIENTS, "libone-1.0", "violates", failures=["dd"]),
            cell_row(CLIENTS, "libone-0.9", "violates", failures=["ee"]),
            cell_row(SHARE, "apache-kafka-2.3.1", "violates"),
            cell_row(SHARE, "apache-kafka-4.4.0"),
        ],
        targets=[
            *(target_row(each) for each in ("mybroker-2.0", "mybroker-1.0", "fine-1.0", "absent-1.0")),
            *(target_row(each, role="client", language="Python") for each in ("libone-1.0", "libone-0.9")),
            *(target_row(each, role="operation") for each in ("apache-kafka-2.3.1", "apache-kafka-4.4.0")),
        ],
        clauses=[
            clause_row(MUST),
            clause_row(SHOULD, 1, level="SHOULD"),
            clause_row(KNOWN, 2),
            clause_row(CLIENTS, 3, role="client"),
            clause_row(SHARE, 4, role="operation", source="libone-1.0"),
        ],
        failures=[
            failure_row("aa", MUST, "mybroker-2.0", kind="TargetEnded", message="this request crashes the target"),
            failure_row("bb", SHOULD, "mybroker-2.0", message=SILENT),
            failure_row("cc", KNOWN, "mybroker-1.0", message=SILENT),
            *(
                failure_row(
                    signature,
                    CLIENTS,
                    f"libone-{release}",
                    message=LOOPS.format(number),
                    facts=json.dumps({**example, "target": f"libone-{release}", "message": LOOPS.format(number), "play": PLAY}),
                )
                for signature, release, number in (("dd", "1.0", 20), ("ee", "0.9", 30))
            ),
        ],
    )  # fmt: skip


def collected_from(grid: Path) -> Collected:
    """Return what is collected from a grid's tables."""
    return collect(FoldedGrid(read_grid(grid)), read_history_table(grid, "failures") or ())


@pytest.fixture(scope="module")
def data(grid: Path) -> Compatibility:
    """The data of that grid."""
    return collected_from(grid).data


def test_failures_of_two_versions_with_one_cause_are_one_finding(data: Compatibility) -> None:
    (loop,) = (each for each in data.findings if "loops" in each.title)
    assert list(loop.broken) == ["libone-1.0", "libone-0.9"]
    assert "20 ApiVersions" in loop.title
    assert loop.target == "libone-1.0"
    assert loop.script == "../../play_broker.py"


def test_title_has_the_numbers_of_the_shown_failure(tmp_path: Path) -> None:
    always = json.dumps({"repeats": {"class": "deterministic"}})
    folder = write_tables(
        tmp_path / "grid",
        targets=[target_row("libone-1.0", role="client")],
        clauses=[clause_row(CLIENTS, role="client")],
        cells=[cell_row(CLIENTS, "libone-1.0", "violates", failures=["aa", "bb"])],
        failures=[
            failure_row("aa", CLIENTS, "libone-1.0", message=LOOPS.format(309), facts="{}"),
            failure_row("bb", CLIENTS, "libone-1.0", message=LOOPS.format(2179), facts=always),
        ],
    )
    collected = collected_from(folder)
    (finding,) = collected.data.findings
    shown = collected.evidence[finding.id]
    assert "2179 ApiVersions" in shown.message
    assert "2179 ApiVersions" in finding.title


def test_names_of_findings_have_no_numbers(data: Compatibility) -> None:
    """Numbers differ from night to night, and a folder keeps its name."""
    assert [each.id for each in data.findings] == [
        "mybroker/apiversions-request-crashes",
        "mybroker/apiversions-fell-silent",
        "mybroker/purpose",
        "libone/loops-one-connection-apiversions",
        "libone/what-libone-share-group-says",
    ]


def test_declared_violation_is_a_finding_but_no_bug(data: Compatibility) -> None:
    (declared,) = (each for each in data.findings if each.declared)
    assert (declared.title, declared.broken) == ("On purpose", {"mybroker-1.0": (KNOWN,)})
    assert not counts_of(data, frozenset({"mybroker-1.0"})).bugs


def test_counts_are_those_of_the_versions(data: Compatibility) -> None:
    """A crash comes first, and each rule counts once."""
    counts = counts_of(data, frozenset({"mybroker-2.0"}))
    assert (len(counts.bugs), counts.must, counts.should, counts.crashes) == (2, 1, 1, True)
    assert counts.bugs[0].crashes


def test_gravest_product_comes_first(data: Compatibility) -> None:
    """A product whose process ends stands above one that breaks as many rules."""
    rows = [line for line in document(data).splitlines() if line.startswith("| [")]
    assert [row.split("]")[0] for row in rows] == ["| [mybroker", "| [libone"]
    assert "**crashes**" in rows[0]
    assert "No bug was found in fine 1.0, apart from what is declared as known." in document(data)
    assert "No rule applied, or none could be judged: absent 1.0." in document(data)


def test_operations_are_read_off_by_release(data: Compatibility) -> None:
    """The sum of a client, and each operation that does not work everywhere."""
    text = document(data)
    assert "| client | 2.3.1 | 4.4.0 |" in text
    assert "| **libone-1.0** | ✓ 0 of 1 ✕ 1 | ✓ 1 of 1 |" in text
    assert "| share-group | ✕ | ✓ |" in text


def test_many_defects_have_short_titles(data: Compatibility) -> None:
    """The document keeps its size."""
    (first, *_) = data.findings
    title = f"{first.title} {'word ' * 30}"
    many = [replace(first, id=f"mybroker/{number}", title=title) for number in range(250)]
    text = document(replace(data, findings=tuple(many)))
    assert len(text.encode()) <= MAX_BYTES
    assert text.count("findings/mybroker/") == 250


def test_step_names_what_clients_lose() -> None:
    """The last line before 4.0 and 4.0 itself, by the recorded tables."""
    step = step_between("3.9.2", "4.0.2", None)
    assert "Fetch" in step.lost
    assert step.drops_old_clients
    assert step_sentence(step).startswith("**3.9 → 4.0**: Kafka supports no clients older than 2.1")


def test_data_is_read_as_it_was_written(data: Compatibility, tmp_path: Path) -> None:
    """The document follows from the file alone."""
    write_data(data, tmp_path / "data.json")
    assert read_data(tmp_path / "data.json") == data


def test_command_writes_document_data_and_folders(grid: Path, tmp_path: Path) -> None:
    """Each finding has a folder with its text, its facts and, for a broker, its script; what is gone is removed."""
    out = tmp_path / "docs"
    (out / "findings" / "old" / "one").mkdir(parents=True)
    result = CliRunner().invoke(main, [str(grid), "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert (out / "COMPATIBILITY.md").read_text() == document(read_data(out / "compatibility.json"))
    assert not (out / "findings" / "old").exists()
    crash, loop = (
        out / "findings/mybroker/apiversions-request-crashes",
        next(out.glob("findings/libone/loops*")),
    )
    assert "python3 reproducer.py localhost:9092" in (crash / "README.md").read_text()
    assert (crash / "reproducer.py").read_text() == "print('again')\n"
    assert json.loads((loop / "failure.json").read_text())["play"] == {**PLAY, "timeout_s": 3}


def test_common_script_explains_itself_without_a_folder(grid: Path, tmp_path: Path) -> None:
    CliRunner().invoke(main, [str(grid), "--out", str(tmp_path)], catch_exceptions=False)
    player = tmp_path / "findings" / "play_broker.py"
    ended = subprocess.run([sys.executable, "-I", player], capture_output=True, text=True, check=False)  # fmt: skip
    assert ended.returncode == 3
    assert "Usage: python play_broker.py FOLDER" in ended.stdout


def found_in(grid: Path, words: str) -> tuple[Collected, Finding, Evidence, KeptFailure]:
    """Return what is collected from a grid, and the finding whose title has some words, with what shows it."""
    collected = collected_from(grid)
    finding = next(each for each in collected.data.findings if words in each.title)
    evidence = collected.evidence[finding.id]
    assert evidence.failure is not None
    return collected, finding, evidence, evidence.failure


def test_play_is_read_from_a_script_that_contains_it(grid: Path) -> None:
    """Short plays are in the script, and long ones in the facts."""
    *_, failure = found_in(grid, "loops")
    inside = replace(failure, facts="{}", reproducer=f"import sys\nDATA = {PLAY!r}\n")
    assert play_of(inside) == PLAY
    with pytest.raises(ValueError, match="has no play"):
        play_of(replace(inside, reproducer=""))


def test_paths_of_a_machine_are_left_out() -> None:
    """The name of the file stays."""
    said = "panic at /root/go/pkg/mod/some@v1.0/client.go:128, see /tmp/x/out.txt"
    assert without_folders(said) == "panic at …/client.go:128, see …/out.txt"


def test_only_messages_lose_paths(grid: Path, tmp_path: Path) -> None:
    """Bytes and code of a script stay as they are; the message that it quotes does not."""
    collected, finding, evidence, failure = found_in(grid, "crashes")
    changed = replace(
        failure,
        message="it ended\nat /root/x/y.go:1",
        reproducer='"""It ended at /root/x/y.go:1"""\nDATA = "/tmp/a/b"\n',
        hex_dump="connection 0: sent\n   0  2f  path = '/tmp/a/b'",
        facts=json.dumps({"message": "at /root/x/y.go:1", "sent": [{"data": "/tmp/a/b"}]}),
    )
    shown = replace(evidence, failure=changed)
    write_findings(replace(collected, evidence={finding.id: shown}), tmp_path / "findings")
    folder = tmp_path / "findings" / finding.id
    script, text, facts = ((folder / name).read_text() for name in ("reproducer.py", "README.md", "failure.json"))
    assert script == '"""It ended at …/y.go:1"""\nDATA = "/tmp/a/b"\n'
    assert "at …/y.go:1" in text
    assert "path = '/tmp/a/b'" in text
    assert json.loads(facts) == {"message": "at …/y.go:1", "sent": [{"data": "/tmp/a/b"}]}


@pytest.mark.parametrize("project", ["", "https://example.org/suite"])
def test_text_of_a_finding_is_complete(grid: Path, project: str) -> None:
    collected, finding, evidence, failure = found_in(grid, "loops")
    message = "it is aborted\nx.c:1: assertion\nstderr: x.c:1: assertion\n1 request in 0.1 s"
    shown = replace(evidence, failure=replace(failure, message=message))
    on_sasl = replace(finding, listener="sasl_plaintext", target="aiokafka-0.14.0", script="")
    data = replace(collected.data, made=replace(collected.data.made, project=project))
    text = finding_text(data, on_sasl, shown)
    assert "It was met on a listener with SASL (PLAIN), without TLS." in text
    assert "The last lines that the client wrote:\n\n```text\nx.c:1: assertion\n```" in text
    assert text.count("x.c:1: assertion") == 1
    with_script = finding_text(data, replace(on_sasl, script="../../p.py"), shown)
    assert "`pip install aiokafka==0.14.0`" in with_script
    if project:
        assert f"({project}/blob/HEAD/docs/findings/play_broker.py)" in with_script
        assert f"curl -fLO {project}/raw/HEAD/docs/findings/{finding.id}/failure.json" in with_script
        assert f"[kafka-conformance]({project})" in with_script
    else:
        assert "attach the files that are linked here" in with_script


def test_sources_of_rules_are_links() -> None:
    """Each to the page of its document."""
    text = linked("KIP-97, Proposed Changes; Protocol guide, Network (silent)")
    assert text.startswith("[KIP-97](https://cwiki.apache.org/")
    assert "; [Protocol guide](https://kafka.apache.org/protocol), Network \\(silent\\)" in text


def test_scripted_listener_is_that_of_a_client(grid: Path) -> None:
    """Only the script says that its broker had SASL or TLS, and the common script has no TLS."""
    failures = read_history_table(grid, "failures") or ()
    example = "{'script': Script(nodes=(), listener='LISTENER', timeout_ms=3000)}"
    for listener, script in (("sasl_plaintext", "../../play_broker.py"), ("ssl", "")):
        facts = json.dumps({"example": example.replace("LISTENER", listener)})
        changed = [replace(each, facts=facts) for each in failures]
        findings = collect(FoldedGrid(read_grid(grid)), changed).data.findings
        loop = next(each for each in findings if "loops" in each.title)
        assert (loop.listener, loop.script) == (listener, script)


def test_product_without_latin_letters_has_a_folder() -> None:
    """Titles and names may have none."""
    assert finding_id("Кафка", "12", taken=()) == "product/finding"
    assert finding_id("Кафка", "12", taken={"product/finding"}) == "product/finding-2"


@pytest.mark.parametrize(
    ("declared", "kind", "facts", "said"),
    [
        ("", "AssertionError", {"repeats": None}, "Not repeated in the run: its values cannot be drawn again, or "),
        ("", "TargetEnded", {"repeats": None}, "Not repeated in the run: a crash only has to end a second broker"),
        ("On purpose.", "AssertionError", {}, "Not repeated in the run: what is declared as known is not repeated."),
        ("", "AssertionError", {"repeats": {"sentence": "failed 3 of 3 again"}}, "Repeated by the suite: failed 3 of 3 again."),
    ],
    ids=["time", "crash", "declared", "repeated"],
)  # fmt: skip
def test_text_says_whether_it_was_repeated(
    declared: str, kind: str, facts: dict[str, object], said: str, grid: Path
) -> None:
    collected, finding, evidence, failure = found_in(grid, "silent")
    shown = replace(evidence, failure=replace(failure, kind=kind, facts=json.dumps(facts)))
    text = finding_text(collected.data, replace(finding, declared=declared), shown)
    assert f"\n\n{said}" in text


def test_address_in_a_declaration_is_a_link(grid: Path) -> None:
    """Only the project itself writes declarations; the text around it stays escaped."""
    collected, finding, evidence, _ = found_in(grid, "silent")
    address = "https://github.com/a/b/blob/1.0/C_d.java#L1-L2"
    declared = replace(finding, declared=f"On *purpose*. ({address})")
    text = finding_text(collected.data, declared, evidence)
    assert f"Declared as known: On \\*purpose\\*. \\([{address}]({address})\\)" in text.splitlines()


@pytest.mark.parametrize(("client", "limit"), [("aiokafka-0.14.0", 300), ("kafka-clients-3.9.2-admin", 400)])
def test_memory_finding_says_the_limit(client: str, limit: int, grid: Path) -> None:
    """A reader outside the project cannot know how much a client may use."""
    collected, finding, evidence, failure = found_in(grid, "loops")
    shown = replace(evidence, failure=replace(failure, message=f"{TOO_MUCH_MEMORY}: 512 MB"))
    text = finding_text(collected.data, replace(finding, target=client), shown)
    (expected,) = (line for line in text.splitlines() if line.startswith("**Expected**"))
    assert expected.endswith(f"MUST) This client may use {limit} MB.")


def table_of(*keys: int) -> list[str]:
    """Return the rows of a table."""
    return [
        f"      {key}  00  api_keys[{index}].{name} = {key if name == 'api_key' else 9}"
        for index, key in enumerate(keys)
        for name in ("api_key", "min_version", "max_version")
    ]


def test_dump_keeps_the_rows_that_explain_it() -> None:
    dump = "\n".join(
        [
            "connection 0: answer",
            *table_of(0, 1, 3, 12, 60),
            ">  41  wrong",
            "connection 0: sent",
            "  4  00 03  request_api_key = 3",
        ]
    )
    assert shortened(dump, "Heartbeat v2 is listed").split("\n") == [
        "connection 0: answer",
        "... (2 other APIs)",
        *table_of(0, 1, 3, 12)[6:],
        "... (1 other API)",
        ">  41  wrong",
        "connection 0: sent",
        "  4  00 03  request_api_key = 3",
    ]


def test_long_dump_keeps_both_ends_and_what_is_named() -> None:
    """A client may send hundreds of requests, and the wrong one stands between them."""
    metadata = "  4  00 03  request_api_key = 3"
    parts = ["connection 0: sent\n  4  00 12  request_api_key = 18\n"] * 99
    parts[50] = f"connection 0: sent\n{metadata}\n"
    lines = shortened("".join(parts), "Metadata v2 was sent").split("\n")
    assert len(lines) == 122
    assert metadata in lines
    assert [line for line in lines if "more" in line] == [
        "... (42 more lines)",
        "... (36 more lines)",
    ]
