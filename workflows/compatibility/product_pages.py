"""The page of a product: its defects, their versions and fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clauses.catalogue import catalogue
from reports.wording.escaping import markdown_text
from reports.wording.markdown_table import markdown_table
from reports.wording.verdict_labels import CRASHES
from workflows.compatibility.data import Compatibility, Finding, JudgedVersion

_COLUMNS = ("defect", "rule", "why it matters", "seen in", "state")
"""Of a product that was judged in one version, the last two say nothing; but a proxy is seen before its upstreams."""


def product_page(data: Compatibility, product: str) -> str:
    """Return in Markdown the page of a product that has findings.

    Args:
        data: the data of all products.
        product: the folder of the product: "tansu".
    """
    findings = [finding for finding in data.findings if finding.product == product]
    return "\n\n".join(_paragraphs(data, findings)) + "\n"


def _paragraphs(data: Compatibility, findings: Sequence[Finding]) -> Iterator[str]:
    family = findings[0].family
    judged = [each for each in data.products if each.family == family and each.is_judged]
    releases = list(dict.fromkeys(each.release for each in judged))
    open_ones = [finding for finding in findings if not finding.declared]
    declared = [finding for finding in findings if finding.declared]
    yield f"# Defects of {markdown_text(family)}"
    yield (
        f"A {judged[0].kind}. Judged: {markdown_text(', '.join(releases))}{_upstreams(judged)}. Each defect leads to its bytes, to what the rule demands and to how it is seen again. "
        "A rule is a MUST unless it is marked. “Why it matters” is about the rule, not about this product. [All products](../../COMPATIBILITY.md)."
    )
    columns = _COLUMNS if len(releases) > 1 else _COLUMNS[:-1] if judged[0].upstream else _COLUMNS[:-2]
    if len(releases) > 1:
        yield (
            "The numbers in the words of a defect are those of the first version named. Its state is not known if the next version was not judged by all of its rules, "
            "or breaks one of them in another way."
        )
    if open_ones:
        yield _table(data, open_ones, columns)
    if declared:
        yield "Declared as known, each with its reason and source in its folder:"
        yield _table(data, declared, columns)


def _upstreams(judged: Sequence[JudgedVersion]) -> str:
    upstreams = ", ".join(each.upstream for each in judged if each.upstream)
    return f", before {markdown_text(upstreams)}" if upstreams else ""


def _table(data: Compatibility, findings: Sequence[Finding], columns: Sequence[str]) -> str:
    return "\n".join(markdown_table(columns, (_row(data, finding)[: len(columns)] for finding in findings)))


def _row(data: Compatibility, finding: Finding) -> Sequence[str]:
    seen = {product.id: product.upstream or product.release for product in data.products}
    versions = ", ".join(dict.fromkeys(seen[id_] for id_ in finding.broken))
    word = f"**{CRASHES}**: " if finding.crashes else ""
    title = f"{word}[{markdown_text(finding.title)}]({finding.id.partition('/')[2]}/README.md)"
    return title, _rule(data, finding), _meaning(finding), versions, _state(data, finding)


def _state(data: Compatibility, finding: Finding) -> str:
    """Return whether the newest version that was judged has it, and since when."""
    newest = next(
        each.release for each in data.products if each.family == finding.family and each.judged.get(finding.role)
    )
    releases = {each.release for each in data.products if each.id in finding.broken}
    state = "not known"
    if finding.fixed:
        state = f"fixed in {finding.fixed}"
    elif newest in releases:
        state = f"not fixed in {newest}, the newest"
    return f"{state}; new in {finding.since}" if finding.since else state


def _rule(data: Compatibility, finding: Finding) -> str:
    if finding.tried_with:
        return f"operation, with {markdown_text(', '.join(finding.tried_with))}"
    rule = finding.clauses[0]
    more = len(finding.clauses) - 1
    level = data.levels[rule]
    return f"{rule}{'' if level == 'MUST' else f' ({level})'}{f' and {more} more' if more else ''}"


def _meaning(finding: Finding) -> str:
    meanings = {clause.id: clause.meaning for clause in catalogue()}
    return markdown_text(meanings.get(finding.clauses[0], ""))
