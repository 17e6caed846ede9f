"""Compare the memory of models and caches with figures computed by hand."""

from __future__ import annotations

import pytest

from hsd_viz.latency.cards import GPUS
from hsd_viz.latency.hardware import Machine
from hsd_viz.latency.shapes import MODELS


def test_the_memory_of_models_and_caches_by_hand():
    """Llama 3.1 8B has 8.03 billion weights of 2 bytes, and 131 072 bytes of cache per token."""
    machine = Machine(GPUS["H100 SXM"])
    shape = MODELS["llama-8b"]
    need = 2 * shape.parameters + 8 * 4096 * 131_072
    share = machine.memory_share((shape,), batch=8, context=4096)
    assert share == pytest.approx(need / (0.9 * 80e9))
    assert need > 20e9
    halved = Machine(machine.gpu, 2).memory_share((shape,), batch=8, context=4096)
    assert halved == pytest.approx(share / 2)


def test_a_window_caches_no_more_than_itself():
    """Gemma 3 27B at 131 072 tokens: 10 layers cache all, 52 cache 1 024, with 8 192 bytes each."""
    shape = MODELS["gemma-3-27b"]
    per_layer = 2 * 16 * 128 * 2
    assert 2 * shape.cached(131_072) == per_layer * (10 * 131_072 + 52 * 1024)
    assert 11e9 < 2 * shape.cached(131_072) < 12e9
