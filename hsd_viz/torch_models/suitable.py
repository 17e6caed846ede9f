"""Check whether a model can be decoded here: by its config where that suffices, and by its own forward pass where it
does not.

Speculative decoding asks four things of a model: it continues text (causal), it reads one text alone (no encoder), its
state can forget the last tokens (attention, no recurrence), and it takes a mask and positions from outside (draft
trees).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import PreTrainedConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from hsd_viz.decoding.session import Session
from hsd_viz.torch_models.cache import CHUNKED, FULL, SLIDING, layer_kinds
from hsd_viz.words import first_line

#: Rotary tables that change with the longest position fed: cached keys would no longer fit later ones.
_CHANGING_ROPE = ("dynamic", "longrope")
_PROBE = 8


#: The largest plausible sizes of a model; the libraries would try to build any.
_MOST = {"num_hidden_layers": 10_000} | dict.fromkeys(
    ("hidden_size", "intermediate_size", "vocab_size", "num_attention_heads", "num_key_value_heads"), 10**7
)


def check_sizes(config: dict[str, Any]) -> None:
    """Raise ``ValueError`` if a size in a ``config.json`` is beyond any model, before a library builds it."""
    for name, value in config.items():
        if isinstance(value, dict):
            check_sizes(value)
        elif isinstance(value, int | float) and name in _MOST and not value <= _MOST[name]:
            raise ValueError(f"{name} is {value} in its config: expected at most {_MOST[name]}")


def check_config(name: str, config: PreTrainedConfig) -> None:
    """Raise ``ValueError`` if a config shows that its model cannot be decoded here."""
    kind = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    if config.is_encoder_decoder or kind is None:
        what = "an encoder-decoder model" if config.is_encoder_decoder else f"a model of the type {config.model_type}"
        raise ValueError(f"{name} is {what}: only causal (decoder-only) language models can be decoded here")
    foreign = layer_kinds(config.get_text_config(decoder=True)) - {FULL, SLIDING, CHUNKED}
    if foreign or getattr(kind, "_is_stateful", False):
        what = ", ".join(sorted(foreign)) or config.model_type
        raise ValueError(
            f"{name} keeps a state that cannot be rolled back ({what}): speculative decoding needs attention layers"
        )


def context(config: PreTrainedConfig) -> int | None:
    """Return the longest text a decoder can read here, ``None`` where its config has no limit.

    Rotary embeddings that are stretched when a text is longer than the original context are used up to that context:
    beyond it a row would depend on how many tokens are fed with it.
    """
    positions = getattr(config, "max_position_embeddings", None)
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") in _CHANGING_ROPE:
        original = rope.get("original_max_position_embeddings") or getattr(
            config, "original_max_position_embeddings", None
        )
        return min(p for p in (positions, original) if p is not None) if positions or original else None
    return positions


def row_error(rows: np.ndarray, own: np.ndarray) -> float:
    """Return the mean over rows ``[n, V]`` of logits of ‖rows − own‖ / ‖own − its mean‖: 0 for equal rows, about 1.4
    for rows of other texts.

    A mean, not a maximum: over 32 layers half precision moves the worst logit by as much as a wrong mask does.
    """
    rows, own = rows.astype(np.float64), own.astype(np.float64)
    spread = np.linalg.norm(own - own.mean(-1, keepdims=True), axis=-1)
    return float((np.linalg.norm(rows - own, axis=-1) / np.maximum(spread, 1e-9)).mean())


def allowed_error(dtype: str) -> float:
    """Return the largest :func:`row_error` that rounding explains: half precision alone moves a row by a few per cent
    (mixtures of experts and deep models by more); a wrong mask gives another row.
    """
    return 0.02 if dtype in ("float32", "float64") else 0.3


@torch.inference_mode()
def check_forward(model, session: Session | None = None) -> None:
    """Raise ``ValueError`` if the rows of a session differ from those of the model's own forward pass.

    Three forward passes of a few tokens: the model by itself over a short text, and a session that reads half of it and
    has the other half in a tree between other drafts. This detects what a config does not show: attention that looks
    ahead, positions or masks that a model makes itself. ``model`` is an :class:`~hsd_viz.torch_models.eager.HFModel`;
    ``session`` is one of its own, or one of another runtime that gives logits.
    """
    stride = max(1, model.vocab_size // (3 * _PROBE))
    text = [(1 + stride * k) % model.vocab_size for k in range(_PROBE)]
    half = _PROBE // 2
    others = [(1 + stride * (_PROBE + k)) % model.vocab_size for k in range(half)]
    drafted, parents = [], []
    mine: list[int] = []
    for k in range(half):
        parent = mine[-1] if mine else -1
        drafted += [others[k], text[half + k]]
        parents += [parent, parent]
        mine.append(len(drafted) - 1)
    try:
        own = model.logits(text, range(_PROBE), _PROBE, use_cache=False)[half:].double().cpu().numpy()
        session = model.session() if session is None else session
        session.feed(text[:half])
        rows = session.forward(drafted, len(drafted), parents)[mine]
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        raise ValueError(
            f"{model.name} cannot be decoded here: "
            f"its forward does not take a cache, a mask and positions ({first_line(error)})"
        ) from None
    if not np.isfinite(own).all():
        raise ValueError(f"{model.name} gives logits that are not finite in {model.dtype}: try another dtype")
    error = row_error(rows, own)
    if not error <= allowed_error(model.dtype):
        raise ValueError(
            f"{model.name} cannot be decoded here: in a tree of drafts its rows are not those of the text itself "
            f"({model.module.config.model_type} makes its own mask or positions, or looks ahead)"
        )
