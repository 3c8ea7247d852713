"""The tests of `api-versions` fail with a tool that violates a clause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

from conformance.commands import api_versions as tool
from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import Ranges
from tests.conformance.commands import test_api_versions
from tests.upgrade.api_versions import test_features, test_tables
from upgrade.api_versions import asking, features
from upgrade.api_versions import stock_text as text
from upgrade.api_versions.cluster_tables import ClusterTables
from upgrade.api_versions.features import FeatureVerdict, NeededApi

LISTS, FORMAT, MACHINE, USABLE = (
    "KIP-97.tool-lists-every-broker",
    "KIP-97.tool-format",
    "KIP-97.tool-machine-readable",
    "KIP-35.feature-usable-on-all-brokers",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongTool:
    """A planted fault of the tool.

    Attributes:
        name: what it does wrong.
        breaks: the clause that it violates.
        replaces: where the function is that it replaces, as module and attribute, or the class and its method.
        wrong: what replaces it.
        noticed_by: the test that has to fail.
    """

    name: str
    breaks: str
    replaces: tuple[Any, str]
    wrong: Callable[..., Any]
    noticed_by: Callable[[], None]


def _only(keep: Callable[[ClusterTables], Any]) -> Callable[..., ClusterTables]:
    right = asking.ask_cluster

    def ask(*arguments: Any, **options: Any) -> ClusterTables:
        cluster = right(*arguments, **options)
        return replace(cluster, brokers=list(keep(cluster)))

    return ask


def _until_one_is_down(cluster: ClusterTables) -> Iterator[Any]:
    for broker in cluster.brokers:
        yield broker
        if broker.problem:
            return


_lines = text.api_lines


def _lines_with(change: Callable[[str], str]) -> Callable[[Ranges], Iterator[str]]:
    return lambda ranges: map(change, _lines(ranges))


_is_met = NeededApi.is_met_by


def _is_met_by_any(need: NeededApi, ranges: Ranges) -> bool:
    return need.api_key in ranges


def _hyphens_in_words(range_: Range, **_: str) -> str:
    return f"{range_.lowest}-{range_.highest}".replace("-", " to ")


def _each_of_its_own(feature: str, needs: Any, cluster: ClusterTables) -> FeatureVerdict:
    """Ask each broker alone, although the text asks for a version that all share."""
    right = _verdict_on(feature, needs, cluster)
    return replace(right, usable=right.usable_per_broker)


def _only_shared(feature: str, needs: Any, cluster: ClusterTables) -> FeatureVerdict:
    right = _verdict_on(feature, needs, cluster)
    return replace(right, usable_per_broker=right.usable)


def _without_own(*arguments: Any) -> dict[str, object]:
    report = _report(*arguments)
    for each in cast(list[dict[str, object]], report.get("features", [])):
        del each["usable_per_broker"]
    return report


def _with_both_readings() -> None:
    with TemporaryDirectory() as folder:
        test_api_versions.test_features_have_both_readings(Path(folder))


_verdict_on = features.verdict_on
_report = tool._report
_VERDICT = (test_features, "verdict_on")
_EXAMPLE = test_features.test_example_of_the_text_has_its_verdicts
_ASK = (tool, "ask_cluster")
_LINES = (text, "api_lines")
_MET = (NeededApi, "is_met_by")
_DOWN = test_api_versions.test_a_broker_that_is_down_is_shown
_STOCK = test_tables.test_recorded_tables_read_like_the_output_of_kafka
_JSON = test_api_versions.test_json_has_every_broker_and_what_they_have_in_common
_EXACTLY = test_features.test_usable_exactly_if_brokers_meet_it

WRONG_TOOLS = tuple(
    WrongTool(name=name, breaks=breaks, replaces=replaces, wrong=wrong, noticed_by=noticed_by)
    for name, breaks, replaces, wrong, noticed_by in (
        ("leaves out brokers that are down", LISTS, _ASK, _only(lambda all_: all_.answered), _DOWN),
        ("stops at a broker that is down", LISTS, _ASK, _only(_until_one_is_down), _DOWN),
        (
            "shows a broker that is down as one without APIs",
            LISTS,
            _ASK,
            _only(lambda all_: (replace(each, problem="") for each in all_.brokers)),
            _DOWN,
        ),
        ("sorts by name", FORMAT, _LINES, lambda ranges: sorted(_lines(ranges)), _STOCK),
        (
            "writes a range with a hyphen",
            FORMAT,
            _LINES,
            _lines_with(lambda line: line.replace(" to ", "-")),
            _STOCK,
        ),
        (
            "leaves out what is usable",
            FORMAT,
            _LINES,
            _lines_with(lambda line: line.partition(" [")[0]),
            _STOCK,
        ),
        (
            "leaves brokers that are down out of the JSON",
            MACHINE,
            _ASK,
            _only(lambda all_: all_.answered),
            _JSON,
        ),
        (
            "writes the signs of negative versions as a range",
            FORMAT,
            (Range, "in_words"),
            _hyphens_in_words,
            partial(
                test_tables.test_a_line_says_what_a_client_can_use,
                999,
                (-3, -1),
                "UNKNOWN(999): -3 to -1",
            ),
        ),
        (
            "leaves one reading of a feature out of the JSON",
            MACHINE,
            (tool, "_report"),
            _without_own,
            _with_both_readings,
        ),
        ("asks each broker for a version of its own", USABLE, _VERDICT, _each_of_its_own, _EXACTLY),
        ("does not say what each broker has", USABLE, _VERDICT, _only_shared, _EXACTLY),
        (
            "shares an API as soon as all list it",
            USABLE,
            _MET,
            lambda need, ranges: ranges.get(need.api_key) is not None,
            _EXAMPLE,
        ),
        ("looks at the API alone", USABLE, _MET, _is_met_by_any, _EXACTLY),
        (
            "uses versions that are to be avoided",
            USABLE,
            _MET,
            lambda need, ranges: _is_met(replace(need, avoid=frozenset()), ranges),
            _EXACTLY,
        ),
        (
            "avoids an API as soon as one of its versions is to be avoided",
            USABLE,
            _MET,
            lambda need, ranges: not need.avoid and _is_met(need, ranges),
            _EXACTLY,
        ),
    )
)


@pytest.mark.parametrize("wrong", WRONG_TOOLS, ids=lambda wrong: wrong.name)
def test_wrong_tool_is_noticed(wrong: WrongTool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test passes with the right tool, as its own run shows."""
    where, name = wrong.replaces
    monkeypatch.setattr(where, name, wrong.wrong)
    with pytest.raises(AssertionError):
        wrong.noticed_by()
