"""Test that the hidden states of a layer are equal in every runtime, however tokens are fed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hsd_viz.decoding.session import Session
from hsd_viz.native.build import default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.reference import ReferenceModel
from hsd_viz.torch_models.eager import HFModel
from tests.native.models import FORMS, eager, ids, native, random_tree, weights_of

pytestmark = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)

DEPTHS = (0.0, 0.4, 2 / 3, 1.0)
TEXT = ids(30, 4)


def watched(model: NativeModel | ReferenceModel | HFModel, depth: float) -> Session:
    """Return a new session that records the hidden states at this depth."""
    session = model.session()
    session.watch(depth)
    return session


def whole(model: NativeModel | ReferenceModel | HFModel, depth: float) -> np.ndarray:
    """Return the hidden states of all positions of the text, fed at once."""
    session = watched(model, depth)
    session.feed(TEXT)
    return session.states(range(len(TEXT)))


@pytest.mark.parametrize("dtype", ["int8", "int8 groups", torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("depth", DEPTHS)
def test_they_do_not_depend_on_how_many_tokens_are_fed(dtype, depth):
    model = native("odd", dtype)
    session = watched(model, depth)
    rows = []
    for part in (TEXT[:1], TEXT[1:8], TEXT[8:]):
        session.feed(part)
        rows.append(session.states(range(len(part))))
    assert (np.concatenate(rows) == whole(model, depth)).all()


@pytest.mark.parametrize("dtype", ["int8 groups", torch.float32], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_a_node_of_a_tree_has_the_state_of_its_path(dtype, seed):
    model = native("odd", dtype)
    session = watched(model, 2 / 3)
    session.feed(TEXT[:10])
    parents = random_tree(12, seed)
    session.forward(TEXT[10:22], 1, parents)
    path = [11]
    while parents[path[0]] >= 0:
        path.insert(0, parents[path[0]])
    states = session.states(path)
    alone = watched(model, 2 / 3)
    alone.feed(TEXT[:10])
    alone.feed([TEXT[10 + node] for node in path])
    assert (states == alone.states(range(len(path)))).all()


@pytest.mark.parametrize("arithmetic", ["rows", "groups"])
@pytest.mark.parametrize("depth", DEPTHS)
def test_the_pass_in_numpy_has_the_same_bits(arithmetic, depth):
    weights = weights_of(eager("odd").module, "int8", arithmetic=arithmetic)
    assert (whole(NativeModel(weights), depth) == whole(ReferenceModel(weights), depth)).all()


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_transformers_has_them_to_a_rounding(name, depth):
    states = whole(eager(name), depth).astype(int)
    assert np.abs(states - whole(native(name), depth)).max() <= 1


def test_a_layer_that_is_not_there_is_refused():
    session = native("odd").session()
    with pytest.raises(ValueError, match="no such layer"):
        session._library.quick.hsd_session_watch(session._handle, 3)
