"""What Spark must not open is found before Spark opens anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports import run_limits
from reports.refused_runs import REFUSED_FILE, RunLists
from spark_aggregation.job import command
from spark_aggregation.reading.screening import Screened, screened
from tests.broken_run_folders import NOT_UTF8, write_failure_file, write_whole_run


def test_folder_without_faults_is_read_as_given(tmp_path: Path) -> None:
    """Roots without faults, links to roots and URIs stay as they are."""
    write_whole_run(tmp_path / "all" / "run")
    (tmp_path / "link").symlink_to(tmp_path / "all")
    roots = (str(tmp_path / "all"), str(tmp_path / "link"), "hdfs://name/runs", "missing")
    assert screened(roots) == Screened(roots=roots, refused=())


def test_parts_next_to_a_refused_folder_are_read(tmp_path: Path) -> None:
    """A run folder with a link is refused by name; its siblings are read, whatever they are called."""
    for name in ("a", "deep/b*[1]", "deep/bad", "deep/c"):
        write_whole_run(tmp_path / name)
    write_failure_file(tmp_path / "deep" / "bad").symlink_to("/etc/hostname")
    found = screened([str(tmp_path)])
    deep = tmp_path / "deep"
    assert found.roots == (f"{tmp_path}/a", f"{deep}/b\\*\\[1\\]", f"{deep}/c")
    assert [(run.folder, run.refusal, run.reason) for run in found.refused] == [
        (
            str(deep / "bad"),
            "special_file",
            "failures/0123456789abcdef/exchange.txt is a link, and no plain file",
        )
    ]


def test_link_between_run_folders_is_not_followed(tmp_path: Path) -> None:
    """A link to a folder outside the given ones is refused by its own name."""
    write_whole_run(tmp_path / "runs" / "run")
    write_whole_run(tmp_path / "elsewhere" / "private")
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    found = screened([str(tmp_path / "runs")])
    assert found.roots == (str(tmp_path / "runs" / "run"),)
    assert [(run.folder, run.reason) for run in found.refused] == [
        (str(tmp_path / "runs" / "link"), "it is a link; give the run folder itself")
    ]


def test_what_spark_would_drop_is_refused_by_name(tmp_path: Path) -> None:
    """A run below a path that is not UTF-8, and whatever else has such a name; the other runs are read."""
    write_whole_run(tmp_path / "good")
    for name in ("run", "rows of no run"):
        write_whole_run(tmp_path / name)
    (tmp_path / "rows of no run" / "run.json").unlink()
    (tmp_path / "run").rename(tmp_path / f"run {NOT_UTF8}")
    (tmp_path / "rows of no run").rename(tmp_path / f"rows {NOT_UTF8}")
    (tmp_path / NOT_UTF8).mkdir()
    write_whole_run(tmp_path / "deep").rename(tmp_path / NOT_UTF8 / "deep")
    (tmp_path / NOT_UTF8 / "empty").mkdir()
    (tmp_path / f"file {NOT_UTF8}").touch()
    found = screened([str(tmp_path)])
    assert found.roots == (str(tmp_path / "good"),)
    assert {run.refusal for run in found.refused} == {"unusable_name"}
    assert [run.folder for run in found.refused] == [
        rf"{tmp_path}/bad\xff/deep",
        rf"{tmp_path}/bad\xff/empty",
        rf"{tmp_path}/file bad\xff",
        rf"{tmp_path}/rows bad\xff",
        rf"{tmp_path}/run bad\xff",
    ]
    assert all(run.reason.startswith("its path is not UTF-8") for run in found.refused)
    assert RunLists(refused=found.refused).texts()[REFUSED_FILE].encode()


@pytest.mark.parametrize(
    "arguments",
    [
        (NOT_UTF8, "--out", "out"),
        ("good", "--out", NOT_UTF8),
        (f"file:/{NOT_UTF8}", "--out", "out"),
    ],
    ids=["root", "out", "uri"],
)
def test_path_that_spark_cannot_be_given_is_wrong_usage(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence names it, before Spark starts."""
    with pytest.raises(SystemExit) as ended:
        command(list(arguments))
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "bad\\xff is not UTF-8" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "most", "sentence"),
    [
        ("MOST_FILES", 2, "it has too many files; the limit is 2"),
        ("LARGEST_FOLDER_BYTES", 100, "its files are too large together; the limit is 100 bytes"),
        ("LARGEST_FILE_BYTES", 1000, "run.json has "),
    ],
)
def test_folder_beyond_a_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int, sentence: str
) -> None:
    """Too many files, too many bytes, or a file that is too large: the reason names the limit."""
    write_whole_run(tmp_path / "run")
    assert screened([str(tmp_path)]).refused == ()
    monkeypatch.setattr(run_limits, name, most)
    (refused,) = screened([str(tmp_path)]).refused
    assert (refused.refusal, refused.reason.startswith(sentence)) == ("beyond_limits", True)
    assert refused.reason.endswith("this suite writes nothing like it; leave the folder out")
