"""The meta of traces has the keys that are declared."""

from pathlib import Path

import pytest

import hsd_viz as hsd
from hsd_viz.engine.recordings import TRACES
from hsd_viz.trace import Trace
from hsd_viz.trace.file import REQUIRED_META
from hsd_viz.trace.meta import ModelMeta, PlainMeta, SamplingMeta, TraceMeta

RECORD = Path(__file__).parents[1] / "fixtures" / "records"


def undeclared(meta: TraceMeta) -> list[str]:
    """Return the keys of a meta, and of its parts, that are not declared."""
    keys = [*(meta.keys() - TraceMeta.__annotations__.keys())]
    for model in meta.get("models", ()):
        keys += model.keys() - ModelMeta.__annotations__.keys()
    keys += meta.get("sampling", {}).keys() - SamplingMeta.__annotations__.keys()
    keys += (meta.get("plain") or {}).keys() - PlainMeta.__annotations__.keys()
    return keys


@pytest.mark.parametrize(
    "path", sorted(TRACES.rglob("*.json.gz")), ids=lambda path: path.name.partition(".")[0]
)
def test_the_meta_of_a_recording_is_declared(path):
    assert undeclared(Trace.load(path).meta) == []


def test_the_meta_of_a_decode_is_declared():
    trace = hsd.run("def f(", "db > nano:2 > target", max_new_tokens=2)
    assert undeclared(trace.meta) == []
    assert trace.meta.keys() >= set(REQUIRED_META)


def test_the_meta_of_an_import_is_declared():
    paths = sorted(RECORD.glob("*vllm*"))
    assert paths
    for trace in hsd.import_records(paths[0]):
        assert undeclared(trace.meta) == []
