"""The grid as static pages and exports: everything that `kafka-conformance grid` leaves for a reader.

No script, no remote asset; the page works from a file. Every text that comes from a run is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reports.evidence import PAGE, Evidence, collect_evidence
from reports.grid_exports import write_exports
from reports.grid_summary import GridSummary, summarise
from reports.grid_tables import Grid, GridClause, GridTarget, read_grid
from reports.grid_view import view_of
from reports.words import SYMBOLS, WORDS

_TEMPLATES = Path(__file__).parent / "templates"
_FAILURE_SECTIONS = (
    ("exchange.txt", "The bytes"),
    ("example.txt", "The smallest example"),
    ("reproducer.py", "A script that shows it again"),
)


def write_grid(out_dir: Path) -> GridSummary:
    """Render a roll-up: index.html, evidence/, grid.json, grid.csv and grid.md.

    Args:
        out_dir: the folder given to `spark_aggregation.job` as `--out`; run folders are read where they lay
            when they were rolled up, for their failures.

    Returns:
        What the grid says as a whole.
    """
    grid = read_grid(out_dir)
    page = out_dir / PAGE
    summary = summarise(grid, page)
    evidence = collect_evidence(grid, out_dir)
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    _write_failures(environment, grid, evidence)
    text = environment.get_template("grid.html.j2").render(
        grid=grid,
        view=view_of(grid, evidence, summary.cells),
        summary=summary,
        caption=caption_of(grid),
        columns_of=_columns_by_run(grid),
    )
    page.write_text(text, encoding="utf-8")
    write_exports(grid, summary, out_dir)
    return summary


def caption_of(grid: Grid) -> str:
    """Say in one line which runs, of which days and of which suite, a grid shows."""
    shown = [run for run in grid.runs if run.in_grid]
    days = sorted({f"{run.started_at:%Y-%m-%d}" for run in shown})
    names = f"Run {shown[0].run_id}" if len(shown) == 1 else f"{len(shown)} runs"
    period = " to ".join(dict.fromkeys((days[0], days[-1])))
    suites = sorted({f"suite {run.suite_version}{_commit(run.suite_commit)}" for run in shown})
    return f"{names}, {period}, {'; '.join(suites)}"


def _commit(commit: str | None) -> str:
    return f", commit {commit[:12]}" if commit else ""


def _columns_by_run(grid: Grid) -> Mapping[str, int]:
    return {
        run.run_id: sum(entry.run_id == run.run_id for entry in grid.targets) for run in grid.runs
    }


def _write_failures(environment: Environment, grid: Grid, evidence: tuple[Evidence, ...]) -> None:
    template = environment.get_template("failure.html.j2")
    clauses: Mapping[str, GridClause] = {entry.clause: entry for entry in grid.clauses}
    targets: Mapping[tuple[str, str], GridTarget] = {
        (entry.target, entry.listener): entry for entry in grid.targets
    }
    for found in evidence:
        target = targets[found.cell.target, found.cell.listener]
        verdict = found.cell.verdict
        text = template.render(
            found=found,
            target=target,
            clause=clauses[found.cell.clause],
            heading=f"{SYMBOLS[verdict]} {WORDS[verdict]}: {target.name}",
            message=str(found.facts.get("message", "")),
            property=str(found.facts.get("property_name", "unknown")),
            sections=_FAILURE_SECTIONS,
        )
        (found.folder / PAGE).write_text(text, encoding="utf-8")
