"""Llama and its relatives written for few launches: at batch 1 a step is as long as its weights take to read, if
nothing else is.

Against the Hugging Face module: queries, keys and values are one product, so are gate and up; residuals are added by
the products themselves; norms are one launch; the rotary table is computed once; grouped queries share their keys
without copying them. Numbers differ from the module's by rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hsd_viz.backends.cuda_graphs.buffers import StaticCache
from hsd_viz.backends.cuda_graphs.forward import Seen
from hsd_viz.decoding.model import HFModel


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer (biases and the norms of queries and keys may be ``None``) and the kind of its mask."""

    before: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    query_norm: Tensor | None
    key_norm: Tensor | None
    out: Tensor
    out_bias: Tensor | None
    between: Tensor
    gate_up: Tensor
    gate_up_bias: Tensor | None
    down: Tensor
    down_bias: Tensor | None
    kind: str


@dataclass(frozen=True, slots=True)
class Shape:
    """Heads of queries, heads of keys, their size, the norms' epsilon, the scores' scale."""

    heads: int
    kv_heads: int
    size: int
    eps: float
    scale: float


def fuse(*parts: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """The weights of several linear maps of one input as one matrix, and their biases.

    The maps keep working: their parameters become views of the joint memory, so that nothing is held twice.
    """
    joint = []
    for name in ("weight", "bias"):
        tensors = [getattr(part, name) for part in parts]
        if all(t is None for t in tensors):
            joint.append(None)
            continue
        if any(t is None for t in tensors):
            raise ValueError("some of its joint maps have a bias and some have none")
        whole = _adjacent(tensors)
        if whole is None:
            whole = torch.cat([t.detach() for t in tensors])
            for tensor, view in zip(tensors, whole.split([len(t) for t in tensors]), strict=True):
                tensor.data = view
        joint.append(whole)
    return joint[0], joint[1]


def _adjacent(tensors: list[Tensor]) -> Tensor | None:
    """Return the tensors as one, where they are adjacent in memory."""
    first, end = tensors[0], tensors[0].storage_offset()
    for tensor in tensors:
        beside = (
            tensor.untyped_storage().data_ptr() == first.untyped_storage().data_ptr() and tensor.storage_offset() == end
        )
        if not beside or not tensor.is_contiguous() or tensor.dtype != first.dtype:
            return None
        end += tensor.numel()
    return first.detach().as_strided((sum(len(t) for t in tensors), *first.shape[1:]), first.stride())


@dataclass(frozen=True, slots=True)
class Step:
    """What all layers of a forward pass share: where it writes and reads, masks by kind of layer as ``attend`` takes
    them, the rotary tables ``[capacity, 1, size]`` and positions ``[w]``. ``turns`` are the rows of the tables at the
    positions, looked up once for all layers where ``rotate`` takes them.
    """

    places: Tensor
    bucket: int
    masks: Seen
    rotary: tuple[Tensor, Tensor]
    positions: Tensor
    order: Tensor | None
    turns: tuple[Tensor, ...] | None = None


def block(x: Tensor, weights: Layer, shape: Shape, keys: Tensor, values: Tensor, step: Step, ops: Ops) -> Tensor:
    """One layer: ``x`` ``[w, width]`` to the same; writes its keys and values ``[1, kv heads, capacity, size]``."""
    mixed = F.linear(F.rms_norm(x, x.shape[-1:], weights.before, shape.eps), weights.qkv, weights.qkv_bias)
    mixed = mixed.view(len(x), shape.heads + 2 * shape.kv_heads, shape.size)
    q = ops.rotate(mixed, weights, shape, keys, values, step)
    only = next(iter(step.masks.values()))
    y = ops.attend(q, keys, values, step.masks.get(weights.kind, only), shape, step)
    x = _add(x, y, weights.out, weights.out_bias)
    mixed = F.linear(F.rms_norm(x, x.shape[-1:], weights.between, shape.eps), weights.gate_up, weights.gate_up_bias)
    return _add(x, ops.gate(mixed), weights.down, weights.down_bias)


def _add(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return ``x + y @ weight.T + bias``; the product adds ``x`` itself, which is overwritten."""
    added = x.addmm_(y, weight.t())
    return added if bias is None else added + bias


def turns_of(rotary: tuple[Tensor, Tensor], positions: Tensor) -> tuple[Tensor, ...]:
    """Return the rows of both rotary tables at ``positions``."""
    return tuple(table.index_select(0, positions) for table in rotary)


def rotate(mixed: Tensor, weights: Layer, shape: Shape, keys: Tensor, values: Tensor, step: Step) -> Tensor:
    """Return the rotated queries ``[w, heads, size]`` of ``mixed`` ``[w, heads + 2 kv heads, size]``; write keys and
    values.
    """
    cos, sin = step.turns or turns_of(step.rotary, step.positions)
    turned, v = mixed.split([shape.heads + shape.kv_heads, shape.kv_heads], dim=1)
    if weights.query_norm is not None:
        q, k = turned.split([shape.heads, shape.kv_heads], dim=1)
        q, k = (
            F.rms_norm(t, (shape.size,), norm, shape.eps)
            for t, norm in ((q, weights.query_norm), (k, weights.key_norm))
        )
        turned = torch.cat([q, k], dim=1)
    turned = torch.addcmul(turned * cos, turned.roll(shape.size // 2, -1), sin)
    q, k = turned.split([shape.heads, shape.kv_heads], dim=1)
    keys.index_copy_(2, step.places, k.transpose(0, 1)[None])
    values.index_copy_(2, step.places, v.transpose(0, 1)[None])
    return q


def attend(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor, shape: Shape, step: Step) -> Tensor:
    """Return attention ``[w, heads * size]`` of ``q`` ``[w, heads, size]`` over the first ``bucket`` places.

    ``mask`` ``[group * w, bucket]`` is added to the scores.
    """
    w, group = len(q), shape.heads // shape.kv_heads
    # The queries of one group are rows against their common keys.
    q = q.view(w, shape.kv_heads, group, shape.size).permute(1, 2, 0, 3).reshape(1, shape.kv_heads, -1, shape.size)
    k, v = keys[:, :, : step.bucket], values[:, :, : step.bucket]
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[None, None], scale=shape.scale)
    return y.view(shape.kv_heads, group, w, shape.size).permute(2, 0, 1, 3).reshape(w, -1)


def attend_in_order(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor, shape: Shape, step: Step) -> Tensor:
    """The same with each row's keys in the order of its text, and ``mask`` ``[w, bucket]``: see
    :mod:`~hsd_viz.backends.cuda_graphs.strict`.
    """
    w, group = len(q), shape.heads // shape.kv_heads
    assert step.order is not None
    order = step.order.flatten()
    k, v = (
        t[0].index_select(1, order).view(shape.kv_heads, w, step.bucket, shape.size).transpose(0, 1)
        for t in (keys, values)
    )
    q = q.view(w, shape.kv_heads, group, shape.size)
    scores = torch.matmul(q, k.transpose(-1, -2)).float() * shape.scale + mask[:, None, None].float()
    return torch.matmul(scores.softmax(-1).to(v.dtype), v).reshape(w, -1)


def gate(mixed: Tensor) -> Tensor:
    """Return silu(left half) * right half of ``mixed`` ``[w, 2 n]``."""
    left, right = mixed.chunk(2, dim=-1)
    return F.silu(left) * right


@dataclass(frozen=True, slots=True)
class Ops:
    """The operations of a layer that are not a product, each of which may be one kernel."""

    rotate: Callable[..., Tensor] = rotate
    attend: Callable[..., Tensor] = attend
    gate: Callable[[Tensor], Tensor] = gate


class LeanForward:
    """The forward pass of a model that :func:`hsd_viz.backends.llama.unsupported` accepts."""

    def __init__(self, model: HFModel, ops: Ops = Ops(), strict: bool = False) -> None:
        module, config = model.module, model.module.config
        body = module.model
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._shape = Shape(
            config.num_attention_heads, config.num_key_value_heads, size, config.rms_norm_eps, size**-0.5
        )
        kinds = getattr(config, "layer_types", None)
        self._layers = [self._read(layer, kinds[k] if kinds else None) for k, layer in enumerate(body.layers)]
        self._embedding, self._norm, self._head = (
            body.embed_tokens.weight.detach(),
            body.norm.weight.detach(),
            module.lm_head,
        )
        self._rotary = body.rotary_emb
        self._vocabulary = model.vocab_size
        self._strict, self._ops = strict, Ops(attend=attend_in_order) if strict else ops

    @staticmethod
    def _read(layer: nn.Module, kind: str | None) -> Layer:
        attention, mlp = layer.self_attn, layer.mlp
        qkv, qkv_bias = fuse(attention.q_proj, attention.k_proj, attention.v_proj)
        gate_up, gate_up_bias = fuse(mlp.gate_proj, mlp.up_proj)
        norms = [getattr(getattr(attention, name, None), "weight", None) for name in ("q_norm", "k_norm")]
        tensors = (
            layer.input_layernorm.weight,
            qkv,
            qkv_bias,
            *norms,
            attention.o_proj.weight,
            attention.o_proj.bias,
            layer.post_attention_layernorm.weight,
            gate_up,
            gate_up_bias,
            mlp.down_proj.weight,
            mlp.down_proj.bias,
        )
        return Layer(*(None if t is None else t.detach() for t in tensors), kind)

    def prepare(self, cache: StaticCache) -> None:
        cos, sin = self._rotary(self._embedding[:1, None], cache.index[None])
        left, right = sin[0, :, None].chunk(2, dim=-1)
        # The left half is turned by minus the right one: with the sign in the table, swapping the halves is all that is
        # left.
        cache.rotary = cos[0, :, None].contiguous(), torch.cat([-left, right], dim=-1)

    def __call__(self, ids: Tensor, positions: Tensor, seen: Seen, cache: StaticCache, rows: int) -> Tensor:
        group = self._shape.heads // self._shape.kv_heads
        if group > 1 and self._ops.attend is attend:
            seen = {kind: mask.repeat(group, 1) for kind, mask in seen.items()}
        turns = turns_of(cache.rotary, positions) if self._ops.rotate is rotate else None
        step = Step(cache.places, cache.bucket, seen, cache.rotary, positions, cache.order, turns)
        x = self._embedding.index_select(0, ids)
        for weights, layer in zip(self._layers, cache.layers, strict=True):
            x = block(x, weights, self._shape, layer.keys, layer.values, step, self._ops)
        x = F.rms_norm(x[-rows:], x.shape[-1:], self._norm, self._shape.eps)
        if self._strict:
            return self._float_logits(x)
        return F.linear(x, self._head.weight, self._head.bias)[:, : self._vocabulary]

    def _float_logits(self, x: Tensor) -> Tensor:
        """Return the logits in at least float32: rounded to bfloat16, different logits are ties."""
        weight, bias = self._head.weight, self._head.bias
        if x.element_size() >= 4:
            logits = F.linear(x, weight)
        elif x.device.type == "cuda":
            logits = torch.mm(x, weight.t(), out_dtype=torch.float32)
        else:
            logits = F.linear(x.float(), weight.float())
        return (logits if bias is None else logits + bias.to(logits.dtype))[:, : self._vocabulary]
