"""The direction of the arrows: which room of the package may import which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "hsd_viz"
ALLOWED = {
    "trace": {"words"},
    "stack": set(),
    "disk": set(),
    "words": set(),
    "budget": set(),
    "progress": set(),
    "machine": {"words"},
    "drafting": {"stack", "trace"},
    "latency": {"stack", "trace", "calibration"},
    "decoding": {"drafting", "latency", "stack", "trace"},
    "ladder": {"drafting", "disk", "prompts", "trace"},
    "prompts": {"decoding", "disk"},
    "backends": {"decoding", "disk", "drafting", "ladder"},
    "calibration": {"decoding", "disk", "latency", "progress", "prompts", "stack", "trace"},
    "adaptive": {"calibration", "decoding", "drafting", "ladder", "latency", "stack"},
    "engine": {
        "adaptive",
        "backends",
        "budget",
        "calibration",
        "decoding",
        "drafting",
        "ladder",
        "latency",
        "machine",
        "progress",
        "prompts",
        "stack",
        "trace",
    },
    "bench": {
        "budget",
        "calibration",
        "decoding",
        "disk",
        "drafting",
        "engine",
        "ladder",
        "latency",
        "machine",
        "progress",
        "prompts",
        "stack",
        "trace",
        "words",
    },
    "views": {
        "bench",
        "calibration",
        "engine",
        "latency",
        "machine",
        "progress",
        "prompts",
        "stack",
        "trace",
        "words",
    },
    "dashboard": {"views"},
}
#: Imports for type checkers alone and programs of their own do not bind the rooms.
FREE = {"cli", "__init__", "__main__", "voila"}


def imported(path: Path) -> set[str]:
    """The rooms a module imports, wherever in the file, those under ``if TYPE_CHECKING`` left out."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    rooms = set()
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("hsd_viz.")}
    return rooms


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_run_one_way(path):
    room = room_of(path)
    if room in FREE:
        return
    assert imported(path) - {room} <= ALLOWED[room]


@pytest.mark.parametrize("room", ["trace", "drafting", "latency"])
def test_pure_rooms_import_no_torch(room):
    for path in (PACKAGE / room).rglob("*.py"):
        imports = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        names = {str(n.module) for n in imports if isinstance(n, ast.ImportFrom)}
        names |= {alias.name for n in imports if isinstance(n, ast.Import) for alias in n.names}
        assert not {"torch", "transformers"} & {name.split(".")[0] for name in names}, path
