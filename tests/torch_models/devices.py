"""Make small Llamas for tests of decoding on the device, and decode with the reference loop."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRMSNorm, LlamaRotaryEmbedding

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.graphs import Graph

VOCABULARY = 12
PROMPT = (1, 2, 3)
#: Columns of the record that measure a machine, or count what a draft that ends early ran in vain.
MEASURED = {"start_ns", "duration_ns", "steps", "fed"}


class ExactNorm(nn.Module):
    """A norm of a Llama in the type of its input; that of transformers computes in float32."""

    def __init__(self, own: LlamaRMSNorm) -> None:
        super().__init__()
        self.weight = own.weight
        self.epsilon = own.variance_epsilon

    def forward(self, x: Tensor) -> Tensor:
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + self.epsilon))


class ExactRotary(nn.Module):
    """The rotary angles of a Llama in the type of its input; transformers uses float32."""

    def __init__(self, own: LlamaRotaryEmbedding) -> None:
        super().__init__()
        self.register_buffer("frequencies", own.inv_freq, persistent=False)

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        angles = position_ids[..., None].to(x.dtype) * self.frequencies
        angles = torch.cat([angles, angles], dim=-1)
        return angles.cos(), angles.sin()


def make_exact(module: nn.Module) -> None:
    """Make a Llama compute only in float64, because a step in float32 makes the results of two
    compilers differ by 1e-7.
    """
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LlamaRMSNorm):
                setattr(parent, name, ExactNorm(child))
            elif isinstance(child, LlamaRotaryEmbedding):
                setattr(parent, name, ExactRotary(child))


def llama(noise: float, vocabulary: int = VOCABULARY, layers: int = 1) -> LlamaForCausalLM:
    """Return a random Llama in float64; ``noise`` (relative) makes a relative of it, whose drafts
    are accepted now and then.
    """
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=24,
        max_position_embeddings=4096,
        bos_token_id=None,
        eos_token_id=None,
        tie_word_embeddings=False,
        initializer_range=0.6,
    )
    module = LlamaForCausalLM(config)
    with torch.no_grad():
        for weight in module.parameters():
            weight += noise * weight.std(correction=0) * torch.randn_like(weight)
    module.double()
    make_exact(module)
    return module


@functools.cache
def eager(noise: float) -> HFModel:
    return HFModel(f"noise {noise}", llama(noise))


@functools.cache
def on_device(noise: float) -> CompiledModel:
    return CompiledModel(eager(noise), compiler=Graph)


class Guesser(Drafter):
    """A drafter of random trees, some of them empty. Of a dozen tokens, some guesses are right."""

    name = "db"
    nodes = 8

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)

    def start(self, prompt: Sequence[int]) -> None:
        pass

    def extend(self, tokens: Sequence[int]) -> None:
        pass

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = DraftTree()
        for _ in range(int(self.random.integers(0, budget + 1))):
            parent = int(self.random.integers(-1, len(tree)))
            token = int(self.random.integers(VOCABULARY))
            siblings = zip(tree.tokens, tree.parents, strict=True)
            if (token, parent) not in siblings:
                tree.add(token, parent, "context")
        return tree.or_reason(budget)


class Watcher(Guesser):
    """A drafter that records the observed tokens."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.seen: list = []

    def observe_probabilities(self, text, tree, top, probabilities) -> None:
        self.seen.append((len(text), list(tree.tokens), top, probabilities))


def decode(
    loop_class: type[Loop],
    models: Sequence,
    lookaheads: Sequence[int],
    sampling: Sampling,
    *,
    drafter: Drafter | None = None,
    eos: frozenset[int] = frozenset(),
    tokens: int = 20,
    details: int = 3,
    contexts: Sequence[int | None] = (),
) -> tuple[Loop, dict]:
    """Decode to the end; return the loop and the tables of its record. ``contexts``: of the draft
    models, in tokens after the prompt.
    """
    room = len(PROMPT) + tokens
    levels = []
    for k, (model, lookahead) in enumerate(zip(models, [*lookaheads, None], strict=True)):
        levels.append(Level(f"m{k}", model.session(room), lookahead))
    for level, context in zip(levels, contexts, strict=False):
        level.positions = None if context is None else len(PROMPT) + context
    loop = loop_class(
        LoopInputs(
            levels, drafter, sampling, PROMPT, max_new_tokens=tokens, eos=eos, details=details
        )
    )
    for _ in loop.prefill():
        pass
    for _ in loop.rounds():
        pass
    return loop, loop.log.take()


def differences(ours: dict, reference: dict, tolerance: float = 1e-12) -> list[str]:
    """Return the columns in which two records differ, with ``tolerance`` for numbers."""
    differing = []
    for table, columns in reference.items():
        for name, values in columns.items():
            if name not in MEASURED and not _same(ours[table][name], values, tolerance):
                differing.append(f"{table}.{name}")
    return differing


def _same(a, b, tolerance: float) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float | int):
        return abs(a - b) <= tolerance * max(1.0, abs(b))
    return a == b
