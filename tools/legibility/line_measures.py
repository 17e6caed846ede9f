"""What is counted in a source text, and the limits of the counts."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

COLUMNS = 100


#: The mean line of a shorter file says more about its prose than about its code.
SHORT_FILE = 60
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class PathLimits:
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


LIMITS = PathLimits()


@dataclass(frozen=True, slots=True)
class PartLimits:
    """What a part may have at most, all of its files together.

    Attributes:
        mean_line: characters of a non-blank line on average.
        tuples: assignments of tuples, as a share of all assignments.
        splats: calls with `**values`.
        comprehensions: per 100 statements.
        lambdas: functions that are assigned as a lambda expression.
        nested: conditional expressions and comprehensions within another of their kind.
    """

    mean_line: float = 46.0
    tuples: float = 0.01
    splats: int = 20
    comprehensions: float = 4.0
    lambdas: int = 0
    nested: int = 0


@dataclass(slots=True)
class Measures:
    """What was counted in one or more files.

    Attributes:
        lengths: characters of each non-blank line.
        statements: number of statements.
        assignments: number of assignments.
        tuple_assignments: lines of `a, b = x, y`.
        splats: lines of calls with `**values`.
        comprehensions: lines of comprehensions and generators.
        nested: lines of such expressions within another.
        lambdas: lines of `name = lambda`.
        long_lines: lines longer than 100 columns.
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

    def excesses(self, limits: PathLimits = LIMITS) -> list[str]:
        """Return a line per limit that is exceeded, with the places where there are any."""
        problems = []
        if self.mean_line > limits.mean_line and len(self.lengths) > SHORT_FILE:
            mean = f"{self.mean_line:.1f} characters"
            problems.append(f"mean line {mean} (limit {limits.mean_line:g})")
        if len(self.long_lines) > limits.long_lines:
            lines = places(self.long_lines)
            problems.append(f"lines longer than {COLUMNS} columns: {lines}")
        # One assignment of two related names is allowed in a small file, too.
        if self.tuple_share > limits.tuple_assignments and len(self.tuple_assignments) > 1:
            lines = places(self.tuple_assignments)
            problems.append(f"assignments of tuples: {lines}")
        # A few comprehensions do not make a small file hard to read.
        if self.comprehensions_per_100 > limits.comprehensions and len(self.comprehensions) > 5:
            rate = f"{self.comprehensions_per_100:.1f} per 100 statements"
            lines = places(self.comprehensions)
            problems.append(f"comprehensions, {rate}: {lines}")
        if len(self.lambdas) > limits.lambdas:
            lines = places(self.lambdas)
            problems.append(f"functions assigned as lambda: {lines}")
        if len(self.nested) > limits.nested:
            lines = places(self.nested)
            problems.append(f"nested conditional expressions or comprehensions: {lines}")
        return problems


def places(lines: Iterable[int]) -> str:
    return "line " + ", ".join(map(str, sorted(set(lines))))


def measure_text(text: str, is_python: bool = True) -> Measures:
    """Measure a source text: all of Python, of other languages the lines alone."""
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
