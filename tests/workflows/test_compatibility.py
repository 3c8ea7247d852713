"""docs/COMPATIBILITY.md and its data report what a grid has, nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from reports.command_line.suite_command import CannotWork
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_table
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables
from tests.workflows.finding_grids import (
    CLIENTS,
    KNOWN,
    LOOPS,
    MUST,
    PLAY,
    SCRIPT,
    SHOULD,
    STEPS,
    collected_from,
)
from workflows.compatibility.__main__ import main
from workflows.compatibility.changes import changes_between
from workflows.compatibility.client_tables import clients_document
from workflows.compatibility.collecting import collect, step_between
from workflows.compatibility.data import Compatibility, counts_of, read_data, write_data
from workflows.compatibility.document import FINDINGS, document, step_sentence
from workflows.compatibility.product_pages import product_page
from workflows.compatibility.release_lines import ReleaseLine, release_lines
from workflows.oldest_versions.results import Oldest, Tried


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


def test_findings_are_named_by_product_rule_and_number(data: Compatibility) -> None:
    assert [finding.id for finding in data.findings] == [
        f"mybroker/{MUST}-1",
        f"mybroker/{SHOULD}-1",
        f"mybroker/{KNOWN}-1",
        f"libone/{CLIENTS}-1",
        "libone/share-group-1",
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
    assert "No defect was found in fine 1.0." in document(data)
    assert "Nothing could be judged of absent 1.0 (it cannot be installed)." in document(data)


def test_deviations_that_are_declared_are_counted_apart(data: Compatibility) -> None:
    """So that a product with nothing else does not look as if it had no page."""
    declared = tuple(finding for finding in data.findings if finding.declared)
    text = document(replace(data, findings=declared))
    assert (
        "[mybroker](findings/mybroker/README.md) 1.0 to 2.0 (2 versions), apart from what is declared (1 deviation)"
        in text
    )


def test_each_kind_is_counted_by_products_and_versions(data: Compatibility) -> None:
    mine = next(each for each in data.products if each.family == "mybroker")
    proxy = replace(mine, id="myproxy-1.0-to-mybroker-1.0", family="myproxy")
    text = document(replace(data, products=(mine, proxy)))
    assert ": 1 version of 1 broker, 1 version of 1 proxy. " in text


def test_operations_are_read_off_by_release(data: Compatibility) -> None:
    """The sum of a client, and each operation that does not work everywhere."""
    assert "| client | 2.3.1 | 4.4.0 |\n|---|---|---|\n| libone-1.0 | ✕ all 1 | ✓ 1 |" in document(data)
    assert (
        "## libone-1.0\n\n| operation | 2.3.1 | 4.4.0 |\n|---|---|---|\n| **all that both have** | 0 of 1 | ✓ 1 |\n| share-group | ✕ | ✓ |"
        in clients_document(data)
    )


def test_releases_with_the_same_results_share_a_column(data: Compatibility) -> None:
    """In the short table those with which all clients do the same, in the long one those of each client."""
    (client,) = data.clients
    first = replace(client, operations={"produce": "✓✓✓✕", "consume": "✓✓✓✓"})
    second = replace(client, client="libone-0.9", operations={"produce": "✕✓✓✕"})
    many = replace(data, releases=("2.3.1", "2.4.1", "2.5.1", "4.4.0"), clients=(first, second))
    assert "| client | 2.3.1 | 2.4.1 to 2.5.1 | 4.4.0 |\n" in document(many)
    assert "| libone-1.0 | ✓ 2 | ✓ 2 | 1 of 2: ✕ produce |" in document(many)
    assert (
        "| operation | 2.3.1 to 2.5.1 | 4.4.0 |\n|---|---|---|\n| **all that both have** | ✓ 2 | 1 of 2 |\n| produce | ✓ | ✕ |"
        in clients_document(many)
    )


def test_what_a_release_lacks_does_not_count(data: Compatibility) -> None:
    (client,) = data.clients
    operations = {"produce": "✓–", "consume": "?–"}
    text = document(replace(data, clients=(replace(client, operations=operations),)))
    assert "| libone-1.0 | 1 of 2: ? consume | – |" in text


def oldest(library: str, release: str, works: str, fails: str = "") -> Oldest:
    return Oldest(
        library=library,
        release=f"apache-kafka-{release}",
        published=9,
        works=Tried(version=works, failures={}),
        fails=Tried(version=fails, failures={"consume": "no"}) if fails else None,
        untried=0,
        tried=(),
    )


def test_libraries_are_sorted_by_what_limits_their_versions(data: Compatibility) -> None:
    """A version that fails with an older release as well is no reason not to upgrade."""
    found = [
        replace(oldest("not-sure", "4.4.0", "1.0"), unclear="consume works in 1 of 2 runs"),
        replace(oldest("none", "4.4.0", "1.0", "0.9"), works=None),
        oldest("alone", "4.4.0", "2.0", "1.0"),
        oldest("by-release", "3.9.2", "1.0"),
        oldest("by-release", "4.4.0", "2.0", "1.0"),
        oldest("by-itself", "3.9.2", "2.0", "1.0"),
        oldest("by-itself", "4.4.0", "2.0", "1.0"),
        oldest("all-work", "4.4.0", "0.5"),
    ]
    text = document(data, found)
    failing = "none in every version; alone before 2.0 (1.0 was tried, with no older release); by-release before 2.0"
    assert f"- **Fails with 4.4.0**: {failing} (1.0 was tried). Apache Kafka supports no Java" in text
    assert "is not the reason**: by-itself before 2.0 \\(1.0 was tried\\)." in text
    assert "works**: all-work.\n- **Not certain**: not-sure.\n- **Not searched**: libone." in text
    assert "| library | 3.9.2 | 4.4.0 |\n|---|---|---|\n| all-work |  | 0.5 or older |" in text


@pytest.mark.parametrize(
    ("verdicts", "since", "fixed", "state"),
    [
        pytest.param(("conforms", "violates", "conforms"), "2.0", "3.0", "fixed in 3.0; new in 2.0", id="between two"),
        pytest.param(("violates", "violates"), "", "", "not fixed in 2.0, the newest", id="all"),
        pytest.param(
            ("conforms", "violates", "violates"), "2.0", "", "not fixed in 3.0, the newest; new in 2.0", id="newest"
        ),
        pytest.param(("violates", "conforms", "violates"), "", "", "not fixed in 3.0, the newest", id="again"),
        pytest.param(("inconclusive", "violates", "inconclusive"), "", "", "", id="not judged"),
    ],
)
def test_finding_says_since_when_and_where_it_is_fixed(
    verdicts: tuple[str, ...], since: str, fixed: str, state: str, tmp_path: Path
) -> None:
    """Only a version that was judged and keeps the rule says so."""
    judged = {f"mybroker-{number}.0": verdict for number, verdict in enumerate(verdicts, 1)}
    red = [name for name, verdict in judged.items() if verdict == "violates"]
    folder = write_tables(
        tmp_path / "grid",
        targets=[target_row(name) for name in judged],
        clauses=[clause_row(MUST)],
        cells=[
            cell_row(MUST, name, verdict, failures=["aa"] if name in red else []) for name, verdict in judged.items()
        ],
        failures=[failure_row("aa", MUST, name, reproducer=SCRIPT) for name in red],
    )
    data = collected_from(folder).data
    (finding,) = data.findings
    assert (finding.since, finding.fixed) == (since, fixed)
    page = product_page(data, "mybroker")
    assert (f" | {state} |" if state else "| defect | rule | why it matters |\n") in page


def test_product_and_client_without_a_number_have_no_order(data: Compatibility, tmp_path: Path) -> None:
    """A broker at an address has the release "unknown"; a command may have a name alone."""
    folder = write_tables(
        tmp_path / "grid",
        targets=[target_row("mine", release="unknown")],
        clauses=[clause_row(MUST)],
        cells=[cell_row(MUST, "mine", "violates", failures=["aa"])],
        failures=[failure_row("aa", MUST, "mine", reproducer=SCRIPT)],
    )
    (finding,) = collected_from(folder).data.findings
    assert (finding.since, finding.fixed) == ("", "")
    (client,) = data.clients
    named = replace(data, clients=(client, replace(client, client="my-client", library="my-client")))
    assert "| my-client | ✕ all 1 | ✓ 1 |" in document(named)


def test_operation_of_a_package_with_a_scope_belongs_to_its_product(tmp_path: Path) -> None:
    """The product of "@scope/lib-1.0" has no signs in its id."""
    row = "@scope/lib-1.0.share-group"
    folder = write_tables(
        tmp_path / "grid",
        targets=[target_row("apache-kafka-4.4.0", role="operation")],
        clauses=[clause_row(row, role="operation", source="@scope/lib-1.0")],
        cells=[cell_row(row, "apache-kafka-4.4.0", "violates", failures=["aa"])],
        failures=[failure_row("aa", row, "apache-kafka-4.4.0", message="it hangs")],
    )
    (finding,) = collected_from(folder).data.findings
    assert finding.broken == {"scope-lib-1.0": (row,)}


def test_page_of_a_product_has_its_defects_and_declared_ones_apart(data: Compatibility) -> None:
    """Each row leads to the folder of a defect."""
    open_ones, _, declared = product_page(data, "mybroker").partition("Declared as known")
    assert f"]({MUST}-1/README.md)" in open_ones
    assert "**crashes**" in open_ones
    assert f"]({KNOWN}-1/README.md)" in declared


def test_what_could_not_be_judged_is_listed_by_its_reason(data: Compatibility) -> None:
    """A cell of an operation names the broker, any other the product."""
    text = document(data)
    assert f"| 1 | {MUST} of absent-1.0 | it cannot be installed |" in text
    assert f"{len(data.undecided)} times a MUST rule could not be judged for a product" in text


def test_operations_that_a_busy_machine_left_open_are_listed_together(data: Compatibility) -> None:
    """What was seen of each before that does not matter."""
    (first, *_) = data.undecided
    busy = [
        replace(first, role="operation", clause=f"libone-1.0.{name}", target="apache-kafka-2.3.1", reason=reason)
        for name, reason in (
            ("produce", "it hangs: the machine is too busy: a client needs 1.5 s (load 9)"),
            ("consume", "it ends with EOF: the machine is too busy: the client waited (load 3)"),
        )
    ]
    text = document(replace(data, undecided=tuple(busy)))
    rows = "libone-1.0.produce with apache-kafka-2.3.1, libone-1.0.consume with apache-kafka-2.3.1"
    assert f"| 2 | {rows} | the machine is too busy |" in text


def test_rule_that_another_broken_rule_hides_is_listed_apart(data: Compatibility) -> None:
    """The reason is the product's: a plain request fails already."""
    (first, *_) = data.undecided
    hidden = replace(
        first,
        product="mybroker-2.0",
        target="mybroker-2.0",
        clause="A.hidden",
        reason=f"it closed (judged by {MUST}); more",
    )
    other = replace(hidden, clause="A.other", reason="it closed (judged by A.rule-that-holds)")
    text = document(replace(data, undecided=(hidden, other)))
    assert "1 time a MUST rule could not be judged for a product, and 1 more because" in text
    assert f"| mybroker-2.0 | {MUST} | 1: A.hidden |" in text
    assert "| 1 | A.other of mybroker-2.0 | it closed \\(judged by A.rule-that-holds\\) |" in text


def test_lines_have_the_numbers_of_vendors(data: Compatibility) -> None:
    """A line for which nothing is known has empty cells."""
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in document(data).splitlines()}
    assert rows["3.9.2"].startswith("| 3.9.2 | 2024-11-06 | 7.9 until 2027-02-19 |  | new: AddRaftVoter")
    assert release_lines().of("9.9.0") == ReleaseLine()


def test_step_names_what_clients_lose() -> None:
    """The last line before 4.0 and 4.0 itself, by the recorded tables."""
    step = step_between("3.9.2", "4.0.2", None)
    assert "Fetch" in step.lost
    assert step.drops_old_clients
    assert step_sentence(step).startswith("Kafka supports no Java clients older than 2.1")


def test_data_is_read_as_it_was_written(data: Compatibility, tmp_path: Path) -> None:
    """The document follows from the file alone."""
    write_data(data, tmp_path / "data.json")
    assert read_data(tmp_path / "data.json") == data


def test_data_of_another_version_is_refused(data: Compatibility, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    write_data(data, path)
    path.write_text(path.read_text().replace('"compatibility_schema_version": 4', '"compatibility_schema_version": 1'))
    with pytest.raises(CannotWork, match="has compatibility_schema_version 1, and not 4: remove it, and make it again"):
        read_data(path)


def test_changes_name_new_withdrawn_and_moved_findings(data: Compatibility) -> None:
    """A finding whose version was judged and does not show it is withdrawn; without the version that is not known."""
    crash, silent, declared, loop, _ = data.findings
    moved = replace(loop, broken={"libone-0.9": loop.broken["libone-0.9"]}, fixed="1.0")
    absent = tuple(each for each in data.products if each.id != "mybroker-1.0")
    after = replace(data, products=absent, findings=(crash, moved, replace(silent, id="mybroker/another-1")))
    text = changes_between(data, after)
    assert "### New findings: 1\n\n- `mybroker/another-1`" in text
    assert "although the version was judged: 2\n\n- `libone/share-group-1`" in text
    assert f"which were not judged this time: 1\n\n- `{declared.id}`: On purpose, in mybroker-1.0" in text
    assert f"- `{loop.id}`: {loop.title}: libone-1.0, libone-0.9; now libone-0.9; fixed in 1.0" in text
    assert changes_between(data, data) == ""


def test_finding_is_not_withdrawn_by_another_role(data: Compatibility) -> None:
    """The operations of a client were tried again; its rules were not judged."""
    loop = next(each for each in data.findings if each.role == "client")
    tried = tuple(
        replace(each, judged={"operation": True}) if each.role == "client" else each for each in data.products
    )
    others = tuple(each for each in data.findings if each != loop)
    text = changes_between(data, replace(data, products=tried, findings=others))
    assert f"which were not judged this time: 1\n\n- `{loop.id}`" in text


def test_version_that_was_only_tried_fixes_no_rule(data: Compatibility) -> None:
    """It is newer than the newest one that was judged by rules."""
    loop = next(each for each in data.findings if each.role == "client")
    newer = replace(data.products[-1], id="libone-2.0", release="2.0", judged={"operation": True})
    page = product_page(replace(data, products=(newer, *data.products)), "libone")
    assert f"{loop.id.partition('/')[2]}/README.md" in page
    assert "not fixed in 1.0, the newest" in page


def test_changes_name_operations_that_work_no_more(data: Compatibility) -> None:
    (client,) = data.clients
    after = replace(data, clients=(replace(client, operations={"share-group": "✕?"}),))
    assert "### Clients whose operations changed: 1\n\n- libone-1.0, share-group: 4.4.0 ✓ → ?" in changes_between(
        data, after
    )


def written_from(grid: Path, out: Path) -> Path:
    """Run the command with a grid; return the folder of findings."""
    result = CliRunner().invoke(main, [str(grid), "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return out / FINDINGS


def test_command_writes_document_data_and_folders(grid: Path, tmp_path: Path) -> None:
    (tmp_path / FINDINGS / "old" / "one").mkdir(parents=True)
    findings = written_from(grid, tmp_path)
    assert (tmp_path / "COMPATIBILITY.md").read_text() == document(read_data(tmp_path / "compatibility.json"))
    assert not (findings / "old").exists()
    crash, loop = findings / f"mybroker/{MUST}-1", findings / f"libone/{CLIENTS}-1"
    assert "python3 send_again.py . localhost:9092" in (crash / "README.md").read_text()
    assert json.loads((crash / "failure.json").read_text())["steps"] == STEPS
    assert json.loads((loop / "failure.json").read_text())["play"] == {**PLAY, "timeout_s": 3}
    assert {path.name for path in findings.glob("*.*")} == {
        "README.md",
        "names.json",
        "play_broker.py",
        "send_again.py",
    }


def test_folders_keep_their_names_when_data_is_made_again(grid: Path, tmp_path: Path) -> None:
    """The list of names decides, and not the order in which defects are found."""
    findings = written_from(grid, tmp_path)
    names = findings / "names.json"
    names.write_text(names.read_text().replace(f"{MUST}-1", f"{MUST}-7"))
    before = names.read_text()
    assert written_from(grid, tmp_path) == findings
    assert (findings / "mybroker" / f"{MUST}-7" / "failure.json").exists()
    assert not (findings / "mybroker" / f"{MUST}-1").exists()
    assert names.read_text() == before


def test_texts_are_written_again_without_a_grid(grid: Path, tmp_path: Path) -> None:
    findings = written_from(grid, tmp_path)
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for path in (tmp_path / "COMPATIBILITY.md", *findings.rglob("README.md"), *findings.glob("*.py")):
        path.unlink()
    result = CliRunner().invoke(main, ["--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == written


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
