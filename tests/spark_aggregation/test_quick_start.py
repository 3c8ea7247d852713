"""A small roll-up loads classes only from the jars that it needs, and leaves other Spark installations as they are."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pyspark
import pytest

from spark_aggregation.quick_start import java_options

FROM_ELSEWHERE = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "HADOOP_CONF_DIR")


@pytest.fixture
def nothing_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove this machine's environment variables for Spark."""
    for name in (*FROM_ELSEWHERE, "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)


def _jars() -> list[str]:
    words = shlex.split(java_options())
    return [Path(jar).name for jar in words[words.index("-cp") + 1].split(os.pathsep)]


@pytest.mark.usefixtures("nothing_set_up")
def test_class_path_begins_with_what_is_asked_first() -> None:
    """The first jar has the planner's classes, and no jar has the machine learning library."""
    jars = _jars()
    assert jars[0].startswith("spark-catalyst_")
    assert not [jar for jar in jars if jar.startswith("spark-mllib_")]
    assert len(jars) == len(set(jars))
    assert {jar.name for jar in (Path(pyspark.__file__).parent / "jars").glob("py4j*.jar")} < set(
        jars
    )


@pytest.mark.usefixtures("nothing_set_up")
def test_path_with_a_space_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's launcher splits the options into words, so a folder's name with a space or a quote is quoted."""
    jars = tmp_path / 'a "folder" of mine' / "jars"
    jars.mkdir(parents=True)
    (jars / "spark-core_1.jar").touch()
    monkeypatch.setattr(pyspark, "__file__", str(jars.parent / "__init__.py"))
    assert shlex.split(java_options())[-2:] == ["-cp", str(jars / "spark-core_1.jar")]


@pytest.mark.usefixtures("nothing_set_up")
@pytest.mark.parametrize("name", FROM_ELSEWHERE)
def test_other_installation_keeps_its_class_path(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the environment configures Spark or Hadoop, Spark's own launcher sets the class path."""
    monkeypatch.setenv(name, str(tmp_path))
    assert "-cp" not in java_options()
