"""Test the choice of the loop that decodes a stack."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hsd_viz.decoding.loop import Loop
from hsd_viz.engine.loops import loop_class


@pytest.mark.parametrize("unsure_stops", [False, True])
def test_drafts_that_stop_when_they_are_unsure_are_driven_from_the_host(monkeypatch, unsure_stops):
    """The loop on the device starts all steps of a round before it reads a token."""
    decode = pytest.importorskip("hsd_viz.torch_models.device_loop")
    monkeypatch.setattr(decode, "can_decode", lambda models, rule: True)
    models = [SimpleNamespace(runtime="compiled")] * 2
    chosen = loop_class(models, None, "token", unsure_stops)
    assert chosen is (Loop if unsure_stops else decode.DeviceLoop)
