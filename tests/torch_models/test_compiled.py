"""Compare compiled sessions on the CPU with eager ones for any calls, strict ones bit for bit."""

from __future__ import annotations

import functools
import itertools
import random

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.torch_models.compiled import CompiledModel, CompiledSession
from hsd_viz.torch_models.device_loop import DeviceLoop
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.graphs import CompiledGraph, Graph
from tests.torch_models.families import CONFIGS, VOCABULARY, text_of

#: One width: each one is compiled by itself, which takes seconds.
WIDTH = 8


@functools.cache
def eager(family: str, dtype: torch.dtype) -> HFModel:
    torch.manual_seed(0)
    return HFModel(family, AutoModelForCausalLM.from_config(CONFIGS[family]).to(dtype))


@functools.cache
def strict(dtype: torch.dtype = torch.bfloat16) -> CompiledModel:
    return CompiledModel(eager("llama", dtype), strict=True, widths=(1, WIDTH))


def close(a, b) -> bool:
    return np.allclose(a, b, rtol=1e-4, atol=1e-4)


def some_tokens(rng: random.Random, n: int) -> list[int]:
    return [rng.randrange(VOCABULARY) for _ in range(n)]


def some_tree(rng: random.Random, n: int) -> list[int]:
    """Return the parents of ``n`` nodes, half of which follow the node before."""
    return [rng.randint(-1, k - 1) if rng.random() < 0.5 else k - 1 for k in range(n)]


def path_to(node: int, parents: list[int]) -> list[int]:
    path: list[int] = []
    while node >= 0:
        path.insert(0, node)
        node = parents[node]
    return path


def compare_sessions(model: CompiledModel, steps: int) -> None:
    """Feed, keep and roll back at random in a compiled and an eager session, and compare."""
    rng = random.Random(1)
    session = model.session(1)
    plain = model.eager.session()
    for step in range(steps):
        kind = "feed" if step == 0 else rng.choice(["chain", "chain", "tree", "back", "feed"])
        tokens = some_tokens(rng, 200 if step == 0 else rng.choice([1, 1, 2, 5, 9, 20, 40]))
        base = session.length
        if kind == "feed":
            session.feed(tokens)
            plain.feed(tokens)
        elif kind == "chain":
            rows = rng.randint(1, len(tokens))
            assert close(session.forward(tokens, rows), plain.forward(tokens, rows))
        elif kind == "tree":
            parents = some_tree(rng, len(tokens))
            rows = len(tokens)
            rows_compiled = session.forward(tokens, rows, parents)
            assert close(rows_compiled, plain.forward(tokens, rows, parents))
            path = path_to(len(tokens) - 1, parents)
            session.keep(base, path)
            plain.keep(base, path)
        else:
            length = rng.randint(max(1, base - 12), base + 2)
            session.truncate(length)
            plain.truncate(length)
        assert session.length == plain.length
    assert session.cache.places > 256, "the cache grew"


@pytest.mark.parametrize("is_strict", [False, True], ids=["usual", "strict"])
@pytest.mark.parametrize("family", ["llama", "mistral, window of 5", "gemma2, windows and caps"])
def test_anything_fed_kept_and_rolled_back_gives_the_rows_of_an_eager_session(family, is_strict):
    model = eager(family, torch.float64)
    compare_sessions(CompiledModel(model, strict=is_strict, widths=(1, 8, 16), compiler=Graph), 16)


@pytest.mark.slow
def test_compiled_by_inductor_they_do_too():
    model = eager("mistral, window of 5", torch.float32)
    compare_sessions(CompiledModel(model, widths=(WIDTH,)), 60)


@pytest.mark.parametrize("is_strict", [False, True], ids=["usual", "strict"])
@pytest.mark.parametrize("is_tree", [False, True], ids=["chain", "tree"])
def test_the_last_tokens_of_a_context_of_learned_positions(is_tree, is_strict):
    """Passes are padded beyond the context, where the model has no positions; on a GPU that would
    end the process.
    """
    context = 40
    settings = CONFIGS["gpt2"].to_dict() | {"n_positions": context}
    torch.manual_seed(0)
    module = AutoModelForCausalLM.from_config(GPT2Config.from_dict(settings)).double()
    model = CompiledModel(HFModel("gpt2", module), is_strict, widths=(8,), compiler=Graph)
    session = model.session()
    plain = model.eager.session()
    text = text_of(context)
    parents = [-1, 0, 1] if is_tree else None
    for each in (session, plain):
        each.feed(text[:-3])
    rows = session.forward(text[-3:], 3, parents)
    assert close(rows, plain.forward(text[-3:], 3, parents))


def test_a_larger_cache_has_the_values_of_the_smaller():
    model = CompiledModel(eager("llama", torch.float64), compiler=Graph)
    session = model.session(1)
    plain = model.eager.session()
    text = text_of(220)
    for each in (session, plain):
        each.feed(text)
    small = session.cache.places
    rows = session.forward(text_of(30, seed=1), 30)
    assert session.cache.places == 2 * small
    assert close(rows, plain.forward(text_of(30, seed=1), 30))


def test_a_decode_reserves_all_it_needs_before_its_first_round():
    """No cache moves while graphs run, even if sessions were opened for a shorter text."""
    model = CompiledModel(eager("llama", torch.float64), compiler=Graph)
    prompt = text_of(40)
    loop = DeviceLoop(
        LoopInputs(
            [Level("target", model.session(1))], None, Sampling(), prompt, max_new_tokens=230
        )
    )
    list(loop.prefill())
    assert loop.board.state.text.shape[0] == 512
    plain = Loop(
        LoopInputs(
            [Level("target", model.eager.session())], None, Sampling(), prompt, max_new_tokens=230
        )
    )
    list(plain.prefill())
    for each in (loop, plain):
        list(itertools.islice(each.rounds(), 20))
    assert loop.text == plain.text


def test_decodes_whose_caches_have_one_size_share_their_graphs():
    """The size is the sum of prompt and new tokens, rounded up to a power of two; only larger sizes
    are compiled.
    """
    compiled: list[object] = []

    def counting(function):
        compiled.append(function)
        return Graph(function)

    model = CompiledModel(eager("llama", torch.float64), widths=(1, 4), compiler=counting)

    def graphs_after(new_tokens: int) -> int:
        level = Level("target", model.session(40 + new_tokens))
        loop = DeviceLoop(
            LoopInputs([level], None, Sampling(), text_of(40), max_new_tokens=new_tokens)
        )
        list(loop.prefill())
        list(itertools.islice(loop.rounds(), 3))
        return len(compiled)

    first = graphs_after(20)
    assert graphs_after(200) == first
    larger = graphs_after(300)
    assert larger > first
    assert graphs_after(20) == graphs_after(400) == larger


def test_strict_rows_do_not_depend_on_what_is_fed_with_them():
    """Compare bfloat16 rows bit for bit: single tokens, verifications of any width, and after any
    tokens.
    """
    model = strict()
    text = text_of(30)
    assert model.runtime == "strict"
    assert model.widths == (WIDTH,)
    alone = model.session()
    parts = model.session()
    rows = np.concatenate([alone.forward([token], 1) for token in text])
    cuts = [0, 1, 4, 11, 13, 30]
    chunks = [parts.forward(text[a:b], b - a) for a, b in itertools.pairwise(cuts)]
    assert np.array_equal(np.concatenate(chunks), rows)
    # A prefill is chunks of the same width.
    fed = model.session()
    fed.feed(text[:29])
    assert np.array_equal(fed.forward(text[29:], 1)[0], rows[-1])


class Knowing(Drafter):
    """A drafter that knows a text and makes occasional errors."""

    name = "db"
    nodes = 6

    def __init__(self, known: list[int]) -> None:
        self.known = known
        self.random = np.random.default_rng(len(known))

    def start(self, prompt) -> None:
        pass

    def extend(self, tokens) -> None:
        pass

    def draft(self, text, budget):
        tree = DraftTree()
        parent = -1
        for token in self.known[len(text) :][: int(self.random.integers(0, 4))]:
            wrong = (token + 1) % VOCABULARY
            tree.add(wrong, parent, "context")
            parent = tree.add(token, parent, "context")
        return tree


@pytest.mark.slow
def test_strict_greedy_texts_are_equal_on_200_of_200():
    """Decode in bfloat16: plainly, with a draft model and with trees, in caches that grow."""
    target = CompiledModel(eager("llama", torch.bfloat16), strict=True, widths=(WIDTH,))
    torch.manual_seed(1)
    noisy = AutoModelForCausalLM.from_config(CONFIGS["llama"]).to(torch.bfloat16)
    noisy.load_state_dict(eager("llama", torch.bfloat16).module.state_dict())
    with torch.no_grad():
        for weight in noisy.parameters():
            weight += 0.02 * weight.float().std(correction=0).to(weight) * torch.randn_like(weight)
    draft = CompiledModel(HFModel("draft", noisy), strict=True, widths=(WIDTH,))
    grown = 0
    for number in range(200):
        prompt = text_of(225 + number % 20, seed=number)

        def text(loop_class, levels, drafter, prompt=prompt):
            loop = loop_class(LoopInputs(levels, drafter, Sampling(), prompt, max_new_tokens=24))
            list(loop.prefill())
            for _ in loop.rounds():
                pass
            return loop.text

        session = target.session(1)
        plain = text(Loop, [Level("target", session)], None)
        grown += session.cache.places > 256
        levels = [Level("draft", draft.session(1), 3), Level("target", target.session(1))]
        assert text(Loop, levels, None) == plain, number
        assert text(Loop, [Level("target", target.session(1))], Knowing(plain)) == plain, number
        levels = [Level("draft", draft.session(1), 3), Level("target", target.session(1))]
        assert text(DeviceLoop, levels, None) == plain, number
        on_device = text(DeviceLoop, [Level("target", target.session(1))], Knowing(plain))
        assert on_device == plain, number
    assert grown == 200


def test_what_cannot_be_compiled_is_refused():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
    )
    model = HFModel("odd", AutoModelForCausalLM.from_config(config))
    inner = model.module.forward

    def breaks(*args, **options):
        print("a side effect that no graph has")
        torch._dynamo.graph_break()
        return inner(*args, **options)

    model.module.forward = breaks
    with pytest.raises(ValueError, match="odd") as error:
        CompiledModel(model, widths=(WIDTH,))
    assert "\n" not in str(error.value)


def test_a_fault_of_the_session_is_not_an_error_of_the_user(monkeypatch):
    def fails(*_):
        raise AssertionError("a fault")

    monkeypatch.setattr(CompiledSession, "forward", fails)
    with pytest.raises(AssertionError, match="a fault"):
        CompiledModel(eager("llama", torch.float32), compiler=Graph)


def test_what_was_used_is_compiled_for_the_next_larger_cache_before_anything_is_timed():
    compiled: list[object] = []

    def counting(function):
        compiled.append(function)
        return Graph(function)

    model = CompiledModel(eager("llama", torch.float32), widths=(1, 4), compiler=counting)
    session = model.session(1)
    for n in (1, 3):
        session.forward(text_of(n), n)
    model.warm_up()
    first = len(compiled)
    model.warm_up()
    assert len(compiled) == first, "nothing is compiled twice"
    session.feed(text_of(260))
    assert session.cache.places == 512
    for n in (1, 3):
        session.forward(text_of(n), n)
    assert len(compiled) == first, "the larger cache had its graphs"
    # A session may be collected in the middle of this, and then needs the lock, too.
    lock = model.pool._lock
    taken = [lock.acquire(blocking=False) for _ in "ab"]
    for _ in filter(None, taken):
        lock.release()
    assert all(taken)


def test_a_chain_and_a_tree_of_one_width_are_one_graph():
    model = CompiledModel(eager("llama", torch.float64), widths=(1, 8), compiler=Graph)
    session = model.session()
    session.feed(text_of(5))
    session.forward(text_of(6), 6)
    session.forward(text_of(7), 7, some_tree(random.Random(2), 7))
    assert [width for width, *_ in model._graphs] == [8]


def test_a_graph_is_kept_with_a_code_object_of_its_own():
    """Otherwise a call would search all graphs of the function, and checks are off."""

    def twice(x):
        return 2 * x

    made = [CompiledGraph(twice) for _ in "ab"]
    assert made[0](torch.ones(3)).tolist() == [2.0] * 3
    assert made[1](torch.ones(5)).tolist() == [2.0] * 5


def test_a_bound_graph_runs_again_on_the_same_tensors():
    def add(x, to):
        to.add_(x)

    x = torch.ones(4)
    to = torch.zeros(4)
    again = CompiledGraph(add).bind(x, to)
    x.fill_(3)
    again()
    assert to.tolist() == [4.0] * 4
