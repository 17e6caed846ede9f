"""The runtime in a browser tab: ``js/tab/`` runs ``hsd-viz.wasm``, the sources of :mod:`hsd_viz.native` compiled by
``make wasm``, on the shipped weights and databases. All that Python declares travels in the manifest.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hsd_viz.decoding.loop import LIKELIEST
from hsd_viz.drafting.db import DISCOUNTS, GREEDY, MIN_SCORE, SAMPLED, DatabaseDrafter
from hsd_viz.drafting.make import STORED
from hsd_viz.engine.forwards import Costs
from hsd_viz.models.families import CODE, LADDER
from hsd_viz.models.files import folder_hash
from hsd_viz.native import model as library
from hsd_viz.native.decode import drafting_of
from hsd_viz.native.weights import SLOTS, load, turn
from hsd_viz.options import DEFAULT_RULE
from hsd_viz.stack import DATABASES, DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD, draft_sources
from hsd_viz.trace.tables import OWN_RULES, TABLES
from hsd_viz.version import __version__

FORMAT = "hsd_viz tab 1"
WASM = Path(library.__file__).parent / "hsd-viz.wasm"
_STRUCTURES = (
    library.Shape,
    library.LevelSettings,
    library.DecodeSettings,
    library.IndexFile,
    library.Drafting,
)
_KINDS: Mapping[Any, str] = {
    ctypes.c_int32: "i32",
    ctypes.c_int64: "i64",
    ctypes.c_uint64: "u64",
    ctypes.c_double: "f64",
    ctypes.c_void_p: "pointer",
}


def files() -> dict[str, Path]:
    """Return the files of the runtime by their names on the site."""
    models = {f"{name}.safetensors": CODE.path(name) / "model.safetensors" for name in CODE.names}
    databases = {f"{name}.hsdb": LADDER / "databases" / f"{name}.hsdb" for name in STORED}
    return {
        "hsd-viz.wasm": WASM,
        "tokenizer.json": CODE.path("target") / "tokenizer.json",
        **models,
        **databases,
    }


def manifest() -> dict[str, Any]:
    """Return the manifest: every file with its size and CRC-32, the models, the tables, the drafter's numbers."""
    drafting = drafting_of(DatabaseDrafter(("context",), {}).longest)
    crc = lambda path: {"bytes": path.stat().st_size, "crc32": zlib.crc32(path.read_bytes())}
    column = lambda column: (column.name, column.kind, column.names)
    return {
        "format": FORMAT,
        "version": __version__,
        "files": {name: crc(path) for name, path in files().items()},
        "models": {name: _model(name) for name in CODE.names},
        "databases": {name: f"{name}.hsdb" for name in STORED},
        "structures": {kind.__name__: _fields(kind) for kind in _STRUCTURES},
        "slots": SLOTS,
        "tables": {name: [*map(column, table.columns.values())] for name, table in TABLES.items()},
        "top": LIKELIEST,
        "rules": OWN_RULES,
        "stacks": {
            "sources": dict(draft_sources()),
            "databases": DATABASES,
            "lookahead": DEFAULT_LOOKAHEAD,
            "most": MAX_LOOKAHEAD,
        },
        "defaults": {"rule": DEFAULT_RULE},
        "drafting": {
            "nodes": DatabaseDrafter.nodes,
            "floor": MIN_SCORE,
            "greedy": GREEDY,
            "sampled": SAMPLED,
            "discounts": DISCOUNTS,
            "settings": {name: getattr(drafting, name) for name, _ in _fields(library.Drafting)},
        },
    }


def _model(name: str) -> dict[str, Any]:
    """Return a model's measures, the turn of its angles from one place to the next, and its costs for ``db``."""
    weights = load(CODE.path(name))
    curve = Costs().of(weights)
    at, slopes = curve.tables(DatabaseDrafter.nodes)
    cos, sin = turn(weights.form.rotary, weights.form.head_dim)
    return {
        "file": f"{name}.safetensors",
        "hash": folder_hash(CODE.path(name)),
        "parameters": weights.parameters,
        "positions": weights.positions,
        "shape": weights.shape,
        "turn": {"cos": cos.tolist(), "sin": sin.tolist()},
        "costs": {"at": at, "slopes": slopes, "least_slope": curve.least_slope},
    }


def _fields(structure: type[ctypes.Structure]) -> list[tuple[str, str]]:
    """Return the fields of a structure in order, those of one inside it in its place."""
    found: list[tuple[str, str]] = []
    for name, kind, *_ in structure._fields_:
        found += _fields(kind) if issubclass(kind, ctypes.Structure) else [(name, _KINDS[kind])]
    return found
