"""Measure how easy the code is to read, and keep the parts that are rewritten that way.

`python -m tools.legibility` prints a row per part of the project. `python -m tools.legibility
PATH ...` prints a row per file below these paths, the hardest to read first, and the lines that
exceed a limit. The exit code is 1 if a path of `DONE` or a part of `PART_LIMITS` exceeds a limit.

The columns: non-blank lines, their mean length and 90th percentile in characters, the share of
lines longer than 100 columns, `a, b = x, y` as a share of all assignments (an exchange of two names
is not counted), `**values` in calls, comprehensions per 100 statements, conditional expressions
and comprehensions within another, and `name = lambda`.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 100
#: Parts of the project and the kind of files that are measured in each.
PARTS = {
    "hsd_viz": ".py",
    "tests": ".py",
    "benchmarks": ".py",
    "tools": ".py",
    "training": ".py",
    "js": ".ts",
    "hsd_viz/native/src": ".hpp",
}
#: Never measured: installed packages and built files.
EXCLUDED = ("js/node_modules", "hsd_viz/views/static", "notebooks")
#: Files and directories that are rewritten: each file in them stays within `LIMITS`.
DONE = (
    "hsd_viz/measure/bench/api.py",
    "hsd_viz/measure/plan/api.py",
    "hsd_viz/cli/__init__.py",
    "hsd_viz/cli/arguments.py",
    "hsd_viz/cli/audits.py",
    "hsd_viz/cli/logs.py",
    "hsd_viz/cli/shared.py",
    "hsd_viz/audit/draft_rules.py",
    "hsd_viz/audit/rule_decoders.py",
    "hsd_viz/audit/schedule_result.py",
    "hsd_viz/audit/schedules.py",
    "hsd_viz/audit/small_models.py",
    "hsd_viz/decoding/decode.py",
    "hsd_viz/decoding/events.py",
    "hsd_viz/decoding/levels.py",
    "hsd_viz/decoding/loop.py",
    "hsd_viz/decoding/record.py",
    "hsd_viz/drafting/db.py",
    "hsd_viz/drafting/proposals.py",
    "hsd_viz/figures/bars.py",
    "hsd_viz/figures/charts.py",
    "hsd_viz/latency/cards.py",
    "hsd_viz/latency/efficiency.py",
    "hsd_viz/latency/hardware.py",
    "hsd_viz/latency/known.py",
    "hsd_viz/latency/shapes.py",
    "hsd_viz/measure/predict/assumed_acceptance.py",
    "hsd_viz/measure/doctor/assumed_hardware.py",
    "hsd_viz/measure/bench/words.py",
    "hsd_viz/measure/doctor/case.py",
    "hsd_viz/measure/doctor/tables.py",
    "hsd_viz/measure/doctor/api.py",
    "hsd_viz/measure/doctor/observe.py",
    "hsd_viz/measure/doctor/observe_records.py",
    "hsd_viz/measure/doctor/observe_runs.py",
    "hsd_viz/measure/predict/api.py",
    "hsd_viz/measure/replay/api.py",
    "hsd_viz/measure/replay/report.py",
    "hsd_viz/measure/doctor/verdict.py",
    "hsd_viz/measure/doctor/what_if.py",
    "hsd_viz/native/decode.py",
    "hsd_viz/native/drafter.py",
    "hsd_viz/native/rows.py",
    "hsd_viz/records/collected.py",
    "hsd_viz/records/context.py",
    "hsd_viz/records/llama_cpp.py",
    "hsd_viz/records/read.py",
    "hsd_viz/records/responses.py",
    "hsd_viz/records/summaries.py",
    "hsd_viz/errors.py",
    "hsd_viz/options.py",
    "hsd_viz/results/estimate.py",
    "hsd_viz/results/kinds.py",
    "hsd_viz/results/page.py",
    "hsd_viz/results/result.py",
    "hsd_viz/results/text.py",
    "benchmarks/ablation.py",
    "benchmarks/before.py",
    "benchmarks/cluster.py",
    "benchmarks/curves.py",
    "benchmarks/cuts.py",
    "benchmarks/gpu/__main__.py",
    "benchmarks/gpu/parts.py",
    "benchmarks/gpu/tools.py",
    "benchmarks/grid.py",
    "benchmarks/grid_text.py",
    "benchmarks/harness.py",
    "benchmarks/heldout.py",
    "benchmarks/int8.py",
    "benchmarks/llama_cpp.py",
    "benchmarks/memory.py",
    "benchmarks/reference.py",
    "benchmarks/rounds.py",
    "benchmarks/scale.py",
    "tests/cli/test_faults.py",
    "tests/test_results.py",
    "tests/tools/test_legibility.py",
    "tools/answers.py",
    "tools/attack.py",
    "tools/basis.py",
    "tools/block_picture.py",
    "tools/game.py",
    "tools/lab_logs.py",
    "tools/language.py",
    "tools/legibility.py",
    "tools/load.py",
    "tools/measure_live.py",
    "tools/measure_tab.py",
    "tools/pages.py",
    "tools/pictures.py",
    "tools/rebuild.py",
    "tools/record.py",
    "tools/release.py",
    "tools/results/budgets.py",
    "tools/results/devices.py",
    "tools/results/files.py",
    "tools/results/law.py",
    "tools/results/passes.py",
    "tools/results/speeds.py",
    "tools/selection.py",
    "tools/views_page.py",
    "tools/wasm.py",
    "tools/wheel_check.py",
    "training/__main__.py",
    "training/databases.py",
    "training/quality.py",
    "training/recipe.py",
    "training/storage.py",
)
#: Parts without a line longer than 100 columns, but for `UNWRAPPED`.
WRAPPED = ("hsd_viz", "hsd_viz/native/src", "js", "tests", "benchmarks", "tools", "training")
UNWRAPPED = ("tests/browser", "tests/js")
#: The mean line of a shorter file says more about its prose than about its code.
SHORT_FILE = 60
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rewritten path may have at most.

    Attributes:
        mean_line: characters of a non-blank line on average.
        long_lines: lines longer than 100 columns.
        tuple_assignments: share of the assignments.
        comprehensions: per 100 statements.
        lambdas: functions that are assigned as a lambda expression.
        nested: conditional expressions and comprehensions within another of their kind.
    """

    mean_line: float = 46.0
    long_lines: int = 0
    tuple_assignments: float = 0.01
    comprehensions: float = 4.0
    lambdas: int = 0
    nested: int = 0


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class PartLimits:
    """What a part may have at most, all of its files together.

    Attributes:
        mean_line: characters of a non-blank line on average.
        splats: calls with `**values`.
        comprehensions: per 100 statements.
        lambdas: functions that are assigned as a lambda expression.
        nested: conditional expressions and comprehensions within another of their kind.
    """

    mean_line: float = 46.0
    splats: int = 40
    comprehensions: float = 5.0
    lambdas: int = 0
    nested: int = 10


PART_LIMITS = {"tests": PartLimits()}


@dataclass(slots=True)
class Measures:
    """What was counted in one or more files.

    Attributes:
        lengths: characters of each non-blank line.
        statements: number of statements.
        assignments: number of assignments.
        tuple_assignments: lines of `a, b = x, y`.
        splats: lines of calls with `**values`.
        comprehensions: lines of comprehensions and generator expressions.
        nested: lines of conditional expressions and comprehensions within another.
        lambdas: lines of `name = lambda`.
        long_lines: numbers of lines longer than 100 columns.
    """

    lengths: list[int] = field(default_factory=list)
    statements: int = 0
    assignments: int = 0
    tuple_assignments: list[int] = field(default_factory=list)
    splats: list[int] = field(default_factory=list)
    comprehensions: list[int] = field(default_factory=list)
    nested: list[int] = field(default_factory=list)
    lambdas: list[int] = field(default_factory=list)
    long_lines: list[int] = field(default_factory=list)

    def add(self, other: Measures) -> None:
        """Add the counts of another file."""
        self.lengths += other.lengths
        self.statements += other.statements
        self.assignments += other.assignments
        self.tuple_assignments += other.tuple_assignments
        self.splats += other.splats
        self.comprehensions += other.comprehensions
        self.nested += other.nested
        self.lambdas += other.lambdas
        self.long_lines += other.long_lines

    @property
    def mean_line(self) -> float:
        """Characters of a non-blank line on average."""
        return statistics.fmean(self.lengths) if self.lengths else 0.0

    @property
    def p90_line(self) -> int:
        """90th percentile of the characters of non-blank lines."""
        if not self.lengths:
            return 0
        ordered = sorted(self.lengths)
        return ordered[int(0.9 * (len(ordered) - 1))]

    @property
    def tuple_share(self) -> float:
        """Tuple assignments as a share of all assignments."""
        return len(self.tuple_assignments) / max(1, self.assignments)

    @property
    def comprehensions_per_100(self) -> float:
        """Comprehensions per 100 statements."""
        return 100 * len(self.comprehensions) / max(1, self.statements)

    def excesses(self, limits: Limits = LIMITS) -> list[str]:
        """Return a line per limit that is exceeded, with the places where there are any."""
        found = []
        if self.mean_line > limits.mean_line and len(self.lengths) > SHORT_FILE:
            found.append(f"mean line {self.mean_line:.1f} characters (limit {limits.mean_line:g})")
        if len(self.long_lines) > limits.long_lines:
            found.append(f"lines longer than {COLUMNS} columns: {_places(self.long_lines)}")
        # One assignment of two related names is allowed in a small file, too.
        if self.tuple_share > limits.tuple_assignments and len(self.tuple_assignments) > 1:
            found.append(f"assignments of tuples: {_places(self.tuple_assignments)}")
        # A few comprehensions do not make a small file hard to read.
        if self.comprehensions_per_100 > limits.comprehensions and len(self.comprehensions) > 5:
            rate = f"{self.comprehensions_per_100:.1f} per 100 statements"
            found.append(f"comprehensions, {rate}: {_places(self.comprehensions)}")
        if len(self.lambdas) > limits.lambdas:
            found.append(f"functions assigned as lambda: {_places(self.lambdas)}")
        if len(self.nested) > limits.nested:
            found.append(
                f"nested conditional expressions or comprehensions: {_places(self.nested)}"
            )
        return found


def _places(lines: Iterable[int]) -> str:
    return "line " + ", ".join(map(str, sorted(set(lines))))


def measure_text(text: str, is_python: bool = True) -> Measures:
    """Measure a source text; of other languages than Python only the lines are measured."""
    measures = Measures()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        measures.lengths.append(len(line))
        if len(line) > COLUMNS:
            measures.long_lines.append(number)
    if is_python:
        _measure_tree(ast.parse(text), measures)
    return measures


def _measure_tree(tree: ast.AST, measures: Measures) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            measures.statements += 1
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            measures.assignments += 1
        if isinstance(node, ast.Assign) and _is_tuple_assignment(node):
            measures.tuple_assignments.append(node.lineno)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Lambda):
            measures.lambdas.append(node.lineno)
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg is None:
                    measures.splats.append(node.lineno)
        if isinstance(node, _COMPREHENSIONS):
            measures.comprehensions.append(node.lineno)
            if len(node.generators) > 1 or _contains(node, _COMPREHENSIONS):
                measures.nested.append(node.lineno)
        if isinstance(node, ast.IfExp) and _contains(node, (ast.IfExp,)):
            measures.nested.append(node.lineno)


def _is_tuple_assignment(node: ast.Assign) -> bool:
    """Return whether a statement is ``a, b = x, y`` and not an exchange of names."""
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
        return False
    assigned = sorted(ast.unparse(element) for element in target.elts)
    values = sorted(ast.unparse(element) for element in node.value.elts)
    return assigned != values


def _contains(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    return any(inner is not node and isinstance(inner, kinds) for inner in ast.walk(node))


def measured_files(path: Path, suffix: str = "") -> Iterator[Path]:
    """Yield the files to measure in a path: those with the suffix, by default Python's."""
    if path.is_file():
        yield path
        return
    suffix = suffix or ".py"
    for file in sorted(path.rglob(f"*{suffix}")):
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(EXCLUDED):
            yield file


def measure_file(path: Path) -> Measures:
    """Measure one file."""
    return measure_text(path.read_text(encoding="utf-8"), path.suffix == ".py")


def measure_part(path: Path, suffix: str = "") -> Measures:
    """Measure all files of a path together."""
    total = Measures()
    for file in measured_files(path, suffix):
        total.add(measure_file(file))
    return total


_HEADER = (
    f"{'':34}{'lines':>7}{'mean':>6}{'p90':>5}{'>100':>8}{'tuples':>8}"
    f"{'splats':>8}{'compr.':>8}{'nested':>8}{'lambda':>8}"
)


def row(name: str, measures: Measures) -> str:
    """Return the row of the table for one part or file."""
    long_share = len(measures.long_lines) / max(1, len(measures.lengths))
    return (
        f"{name:34}{len(measures.lengths):7}{measures.mean_line:6.1f}{measures.p90_line:5}"
        f"{long_share:8.2%}{measures.tuple_share:8.2%}{len(measures.splats):8}"
        f"{measures.comprehensions_per_100:8.2f}{len(measures.nested):8}{len(measures.lambdas):8}"
    )


def check_done(paths: Iterable[str] = DONE) -> list[str]:
    """Return a line per rewritten file and limit that it exceeds."""
    problems: list[str] = []
    for name in paths:
        for file in measured_files(ROOT / name):
            place = file.relative_to(ROOT).as_posix()
            for excess in measure_file(file).excesses():
                problems.append(f"{place}: {excess}")
    return problems


def check_parts(limits: Mapping[str, PartLimits] = PART_LIMITS) -> list[str]:
    """Return a line per limit that a part exceeds, with the value and the limit."""
    problems = []
    for part, limit in limits.items():
        measures = measure_part(ROOT / part, PARTS.get(part, ""))
        counted = (
            ("mean line", measures.mean_line, limit.mean_line),
            ("splats", len(measures.splats), limit.splats),
            ("comprehensions per 100", measures.comprehensions_per_100, limit.comprehensions),
            ("lambdas", len(measures.lambdas), limit.lambdas),
            ("nested", len(measures.nested), limit.nested),
        )
        for name, value, most in counted:
            if value > most:
                problems.append(f"{part}: {name} {value:.4g} (limit {most:g})")
    return problems


def check_wrapped(paths: Iterable[str] = WRAPPED) -> list[str]:
    """Return a line per file that has lines longer than 100 columns."""
    problems = []
    for name in paths:
        for file in measured_files(ROOT / name, PARTS.get(name, "")):
            place = file.relative_to(ROOT).as_posix()
            if place.startswith(UNWRAPPED):
                continue
            long_lines = measure_file(file).long_lines
            if long_lines:
                problems.append(f"{place}: longer than {COLUMNS} columns: {_places(long_lines)}")
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and return the exit code."""
    names = sys.argv[1:] if arguments is None else arguments
    print(_HEADER)
    if names:
        _print_files(names)
        return 0
    for part, suffix in PARTS.items():
        print(row(part, measure_part(ROOT / part, suffix)))
    problems = [*check_done(), *check_parts(), *check_wrapped()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _print_files(names: Iterable[str]) -> None:
    rows = []
    for name in names:
        for file in measured_files(Path(name).resolve()):
            rows.append((measure_file(file), file.relative_to(ROOT).as_posix()))
    rows.sort(key=lambda entry: len(entry[0].excesses()), reverse=True)
    for measures, name in rows:
        print(row(name, measures))
        for excess in measures.excesses():
            print(f"    {excess}")


if __name__ == "__main__":
    sys.exit(main())
