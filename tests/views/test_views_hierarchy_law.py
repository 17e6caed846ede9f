"""The law's views need no torch, and a stack has one predicted figure in all of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hsd_viz import views
from hsd_viz.latency.law import Law
from hsd_viz.latency.select import select
from tests.figures.sample_calibration import DEAR


def test_views_of_the_law_need_no_torch():
    program = """
import sys
from hsd_viz import views
from hsd_viz.engine.replay import load_bundled
basis = views.recorded()
views.HierarchyGraph(basis), views.Ranking(basis), views.LatencySurface(basis, "nano > small > target")
views.Levels(load_bundled("both"), basis), views.OneDraftWhatIf(basis)
assert not {"torch", "transformers"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def kept_on_disk() -> dict:
    """A calibration as ``hsd-viz plan`` keeps it."""
    who = {"device": "cpu", "device_name": "A processor", "dtype": "float32", "threads": 1}
    return {"identity": who, "texts": {"suite": "python", "prompts": 8}, "calibration": DEAR.to_dict()}


def test_a_stack_has_one_predicted_figure_everywhere_and_it_is_the_plans():
    basis = views.basis_of(kept_on_disk())
    assert "8 prompts of python" in basis.source and basis.calibration == DEAR
    law = Law(basis.calibration)  # the law of ``hsd-viz plan``
    expected = lambda stack: pytest.approx(law.predict(stack).ms_per_token)
    graph = views.HierarchyGraph(basis)
    choice = select(basis.calibration)
    assert graph.picked["stack"] == choice.picked.stack and graph.picked["ms"] == expected(choice.picked.stack)
    graph.out = ["db"]
    assert not graph.picked["stack"].startswith("db") and graph.picked["ms"] == expected(graph.picked["stack"])
    drawn = views.Ranking(basis, measured={"nano:3 > small:2 > target": 2.5}).figure
    for stack, ms in zip(drawn.layout.yaxis.ticktext, drawn.data[0].x, strict=True):
        assert ms == expected(stack)
