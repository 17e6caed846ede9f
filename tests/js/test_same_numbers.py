"""Numbers that the page repeats are those of Python."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hsd_viz.decoding import verify
from hsd_viz.engine import beside_plain, tab
from hsd_viz.latency import law
from hsd_viz.measure.bench import block, output, report
from hsd_viz.measure.replay.drafters import DRAFTERS
from hsd_viz.models.families import LEVELS
from hsd_viz.native import loop as native_loop
from hsd_viz.trace import SCHEMA_VERSION, metrics
from hsd_viz.views import run_data

JS = Path(__file__).parents[2] / "js"


def declared(file: str, name: str) -> str:
    """The expression that a module of the page declares a name as."""
    source = (JS / file).read_text(encoding="utf-8")
    [expression] = re.findall(rf"const {name}(?:: [^=]+)? = ([^;]+);", source)
    return expression


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("lib/metrics.ts", "NGRAM", metrics.NGRAM),
        ("lib/metrics.ts", "NOISE", block.NOISE),
        ("lib/metrics.ts", "REPETITIVE", report.LOW_REPETITION),
        ("elements/file.ts", "SCHEMA", SCHEMA_VERSION),
        ("tab/decode.ts", "PREFILL", native_loop.PREFILL),
        ("host/plain.ts", "PLAIN_TOKENS", beside_plain.PLAIN_TOKENS),
        ("tab/manifest.ts", "FORMAT", tab.FORMAT),
        ("app/compare.ts", "WARM_UP", output.WARM_UP_TOKENS),
        ("app/traffic.ts", "DRAFTERS", [name for name in DRAFTERS if name != "db[context]"]),
        ("one_draft/law.ts", "MAX_LOOKAHEAD", law.MAX_PLANNED_LOOKAHEAD),
        ("site/passes.ts", "MODELS", [*reversed(LEVELS)]),
        ("lib/facts.ts", "RULES", list(verify.RULES)),
    ],
)
def test_a_number_of_the_page_is_that_of_python(file, name, value):
    assert json.loads(declared(file, name)) == value


def test_a_seed_is_text_from_the_same_size_on():
    assert run_data.MAX_SAFE_INTEGER == 2**53 - 1  # Number.MAX_SAFE_INTEGER of js/lib/seed.ts
    assert declared("lib/seed.ts", "END") == "2n ** 63n"
