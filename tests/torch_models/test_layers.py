"""Test that equal layers are compiled once per graph, each with its own weights and cache."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from hsd_viz.errors import UserError
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.graphs import Graph
from hsd_viz.torch_models.layers import repeated_layers, separate_layers, share_layers
from tests.torch_models.families import CONFIGS, text_of

LAYERS = 4


class Traced:
    """A compiler that runs graphs as they are traced.

    Attributes:
        layers: the calls of shared layers and the number of different ones, by graph.
    """

    def __init__(self) -> None:
        self.layers: list[tuple[int, int]] = []

    def __call__(self, function) -> Graph:
        compiled = torch.compile(function, backend=self._keep, fullgraph=True, dynamic=False)
        return Graph(compiled)

    def _keep(self, module: torch.fx.GraphModule, inputs):
        calls = []
        for node in module.graph.nodes:
            if node.target is torch.ops.higher_order.invoke_subgraph:
                calls.append(node)
        self.layers.append((len(calls), len({node.args[0].target for node in calls})))
        return module


def deep(family: str) -> HFModel:
    settings = CONFIGS[family].to_dict()
    settings.pop("layer_types", None)
    for name in ("num_hidden_layers", "n_layer"):
        if name in settings:
            settings[name] = LAYERS
    if family.startswith("gemma2"):
        settings["layer_types"] = ["sliding_attention", "full_attention"] * (LAYERS // 2)
    torch.manual_seed(0)
    config = type(CONFIGS[family]).from_dict(settings)
    return HFModel(family, AutoModelForCausalLM.from_config(config).double())


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma2, windows and caps"])
def test_a_graph_has_one_layer_and_the_rows_of_the_model(family):
    """Layers with and without a window are equal, because masks are their arguments."""
    traced = Traced()
    model = CompiledModel(deep(family), widths=(8,), compiler=traced)
    assert model.shares_layers
    assert traced.layers == [(LAYERS, 1)]
    session = model.session()
    separate = HFModel("separate", model.eager.module).session()
    text = text_of(30)
    for each in (session, separate):
        each.feed(text[:-3])
    rows = session.forward(text[-3:], 3)
    assert np.allclose(rows, separate.forward(text[-3:], 3), rtol=0, atol=1e-6)


def test_what_cannot_be_shared_is_compiled_layer_by_layer(monkeypatch):
    attempts: list[bool] = []
    own = CompiledModel._check

    def checked(model: CompiledModel) -> None:
        attempts.append(model.shares_layers)
        if model.shares_layers:
            raise UserError("a layer that torch cannot share")
        own(model)

    monkeypatch.setattr(CompiledModel, "_check", checked)
    traced = Traced()
    eager = deep("llama")
    model = CompiledModel(eager, widths=(8,), compiler=traced)
    assert attempts == [True, False]
    assert not model.shares_layers
    assert traced.layers == [(0, 0)]


def test_sharing_is_undone():
    module = deep("llama").module
    before = list(map(type, repeated_layers(module)))
    assert share_layers(module)
    assert share_layers(module), "again changes nothing"
    shared = set(map(type, repeated_layers(module)))
    assert len(shared) == 1
    assert shared.isdisjoint(before)
    separate_layers(module)
    assert list(map(type, repeated_layers(module))) == before


def test_only_the_outermost_lists_of_like_modules_are_layers():
    experts = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    layers = nn.ModuleList([nn.Sequential(experts), nn.Sequential(nn.Identity())])
    mixed = nn.ModuleList([nn.Linear(1, 1), nn.Identity()])
    alone = nn.ModuleList([nn.Linear(1, 1)])
    module = nn.Sequential(layers, mixed, alone)
    assert list(repeated_layers(module)) == list(layers)


def test_an_older_torch_shares_nothing(monkeypatch):
    monkeypatch.delattr(torch.compiler, "nested_compile_region")
    module = deep("llama").module
    before = list(map(type, repeated_layers(module)))
    assert not share_layers(module)
    assert list(map(type, repeated_layers(module))) == before
