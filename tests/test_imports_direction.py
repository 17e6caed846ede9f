"""Import direction: which package may import which, without cycles between files. Type-only and
local imports count.
"""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.rows import column

PACKAGE = Path(__file__).resolve().parent.parent / "hsd_viz"
#: Pure helpers that every other package may import.
BASE = {"conversion", "drawing", "errors", "names", "settings", "text", "version"}
_ALLOWED_NAMES = {
    "settings": "errors names",
    "results": "disk stack terminal",
    "trace": "disk",
    "stack": "",
    "disk": "",
    "terminal": "",
    "machine": "disk",
    "records": "disk results stack trace",
    "drafting": "disk stack terminal",
    "latency": "disk drafting stack trace results",
    "decoding": "drafting stack terminal trace",
    "ladder": "models stack torch_models",
    "prompts": "disk",
    "models": "disk stack",
    "native": "decoding disk drafting machine models stack trace",
    "torch_models": "decoding drafting machine models trace",
    "engine": "decoding disk drafting latency machine models native prompts stack terminal "
    "torch_models trace",
    "figures": "disk drafting latency measure records stack trace results",
    "measure": "decoding disk drafting engine latency machine models native prompts "
    "records stack terminal trace results",
    "views": "decoding records disk drafting engine exercises figures latency machine measure "
    "models stack terminal trace results",
    "exercises": "decoding disk engine measure models prompts stack trace results",
    "serve": "decoding engine machine models stack trace",
    "mcp": "engine measure models records results stack trace",
    "quick": "decoding engine results stack terminal trace",
}
ALLOWED = {part: set(names.split()) for part, names in _ALLOWED_NAMES.items()}
#: May import anything.
FREE = {"cli", "__init__", "__main__", "voila"}
#: Import no torch.
PURE = {"trace", "drafting", "latency", "decoding"}
FILES = sorted(PACKAGE.rglob("*.py"))
#: The folders of the project beside the package.
TOP = set("benchmarks binder deploy docs js notebooks packages tests tools training".split())


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def import_names(path: Path) -> set[str]:
    """Return what a file imports anywhere, as absolute dotted names: ``a.b.name`` for ``from a.b
    import name``.
    """
    return names_in(
        path.read_text(), module_name(path).split(".")[: None if path.name == "__init__.py" else -1]
    )


def names_in(source: str, package: list[str]) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = [*base, node.module] if node.module else base
            for alias in node.names:
                names.add(".".join([*origin, alias.name]))
        elif isinstance(node, ast.Import):
            names |= set(column(node.names, "name"))
        elif isinstance(node, ast.Call):
            names |= dynamic_import(node)
    return names


def dynamic_import(call: ast.Call) -> set[str]:
    """Return the module of the package that ``import_module("hsd_viz…")`` names."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else None
    if isinstance(call.func, ast.Name):
        function = call.func.id
    if function not in ("import_module", "__import__") or not call.args:
        return set()
    module = call.args[0]
    if not isinstance(module, ast.Constant) or not isinstance(module.value, str):
        return set()
    return {module.value} if module.value.startswith("hsd_viz.") else set()


def imported_modules(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, without the packages that contain
    them.
    """
    modules = set()
    for name in import_names(path):
        if name not in MODULES:
            name = name.rpartition(".")[0]
        modules |= {name} & set(MODULES)
    return modules - {module_name(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_have_one_direction(path):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    names = import_names(path)
    packages = {name.partition(".")[0] for name in names}
    assert not packages & {"tools", "benchmarks", "tests"}
    assert part not in PURE or not packages & {"torch", "transformers"}
    if part in FREE:
        return
    allowed = ALLOWED.get(part, set()) | (set() if part in BASE else BASE) | {part}
    assert {n.split(".")[1] for n in names if n.startswith("hsd_viz.")} <= allowed


def test_every_allowed_import_is_used():
    imported = {}
    for path in FILES:
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        names = {name.split(".")[1] for name in import_names(path) if name.startswith("hsd_viz.")}
        imported.setdefault(part, set()).update(names)
    unused = {part: allowed - imported[part] for part, allowed in ALLOWED.items()}
    assert {part: names for part, names in unused.items() if names} == {}


def test_files_have_no_import_cycle():
    graph = {name: imported_modules(path) for name, path in MODULES.items()}
    assert sum(map(len, graph.values())) > len(graph), "the graph is not empty"
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_packages_have_no_import_cycle():
    TopologicalSorter(ALLOWED).prepare()


PROJECT = PACKAGE.parent
PARTS = ["hsd_viz", "tests", "tools", "training", "benchmarks"]


def modules_imported_from(path: Path) -> set[str]:
    """Return the modules of the project that a file imports from: ``a.b`` for ``from a.b import
    name`` and for ``import a.b``.
    """
    package = list(path.relative_to(PROJECT).parent.parts)
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            modules.add(".".join([*base, node.module] if node.module else base))
        elif isinstance(node, ast.Import):
            modules |= set(column(node.names, "name"))
    return {module for module in modules if module.partition(".")[0] in PARTS}


def test_the_recipe_imports_no_tool_and_no_benchmark():
    imported = set()
    for path in sorted((PROJECT / "training").rglob("*.py")):
        imported |= modules_imported_from(path)
    assert "hsd_viz.terminal" in imported
    assert not {module.partition(".")[0] for module in imported} & {"tools", "benchmarks"}


@pytest.mark.parametrize("part", PARTS)
def test_imports_name_modules_that_exist(part):
    missing = []
    for path in sorted((PROJECT / part).rglob("*.py")):
        for module in modules_imported_from(path):
            place = PROJECT / module.replace(".", "/")
            if not place.is_dir() and not place.with_suffix(".py").is_file():
                missing.append(f"{path.relative_to(PROJECT)}: {module}")
    assert missing == []


def section_of_contributing(start: str, end: str) -> str:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition(start)[2].partition(end)[0]


def test_the_layout_names_each_package_and_folder():
    lines = section_of_contributing("## Layout", "**Import direction**").splitlines()
    own = set()
    for path in PACKAGE.iterdir():
        # What a former version compiled stays when its folder goes.
        is_left_over = all(child.name == "__pycache__" for child in path.glob("*"))
        if path.name[0] not in "_." and path.is_dir() and not is_left_over:
            own.add(path.name)
    own |= set(column(PACKAGE.glob("[a-z]*.py"), "name"))

    # What is indented is in the package; its names end where the description begins.
    inside = []
    for line in lines:
        if line.startswith("  "):
            inside.append(line.split("  ")[1])
    outside = [line for line in lines if line[:1].islower()]

    assert set(re.findall(r"[a-z_0-9]+(?:\.py|(?=/))", " ".join(inside))) == own
    assert set(re.findall(r"\b([a-z]+)/(?=[ ,])", " ".join(outside))) >= TOP


def test_the_direction_that_contributors_read_is_the_one_that_holds():
    text = section_of_contributing("**Import direction**: ", "There are no cycles")
    rank = {}
    for place, group in enumerate(text.split("→")):
        rank |= dict.fromkeys(re.findall(r"`(\w+)`", group), place)

    wrong = []
    for part in ALLOWED.keys() - BASE:
        for other in ALLOWED[part]:
            if rank[part] >= rank[other]:
                wrong.append(f"{part} imports {other}")
    assert wrong == []


def test_imports_of_all_kinds_are_found():
    source = """
import hsd_viz.stack as s
if TYPE_CHECKING:
    from hsd_viz.measure import Report
def f():
    from ..cli import main
    from . import local
    import_module("hsd_viz.drafting")
    importlib.import_module("hsd_viz.views.page")
    import_module(name)
"""
    expected = {
        "hsd_viz.stack",
        "hsd_viz.measure.Report",
        "hsd_viz.cli.main",
        "hsd_viz.engine.local",
        "hsd_viz.drafting",
        "hsd_viz.views.page",
    }
    assert names_in(source, ["hsd_viz", "engine"]) == expected
