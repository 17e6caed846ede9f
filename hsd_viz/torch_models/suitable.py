"""Check that a model of transformers can be decoded here, by its config and by forward passes.

Speculative decoding has four requirements: the model continues text (causal), it reads only that
text (no encoder), its state can be rolled back (attention, no recurrence), and it accepts a mask
and positions (for draft trees).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import PreTrainedConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from hsd_viz.decoding.session import Session
from hsd_viz.errors import UserError, first_line
from hsd_viz.torch_models.eager import CHUNKED, FULL, SLIDING, HFModel, layer_kinds
from hsd_viz.torch_models.llama_modules import ReducedHead

#: The exceptions that a model's module, or torch while compiling it, raises for a forward pass that
#: it does not support. ``AssertionError`` is left out, because it shows a fault of this package.
MODULE_FAULTS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError)
#: The number of tokens in the text with which a model is tested.
_PROBE = 8
#: The largest plausible sizes of a model; the libraries would try to build a model of any size.
_LIMITS = {"num_hidden_layers": 10_000} | dict.fromkeys(
    (
        "hidden_size",
        "intermediate_size",
        "vocab_size",
        "num_attention_heads",
        "num_key_value_heads",
    ),
    10**7,
)


def check_sizes(config: dict[str, Any]) -> None:
    """Check the sizes in a ``config.json``, before a library builds the model.

    Raises:
        UserError: if a size is not plausible.
    """
    for name, value in config.items():
        if isinstance(value, dict):
            check_sizes(value)
        elif isinstance(value, int | float) and name in _LIMITS and not value <= _LIMITS[name]:
            raise UserError(f"{name} is {value} in its config: expected at most {_LIMITS[name]}")


def check_config(name: str, config: PreTrainedConfig) -> None:
    """Check that a model can be decoded here, as far as its config shows.

    Raises:
        UserError: if it cannot.
    """
    kind = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    if config.is_encoder_decoder or kind is None:
        what = (
            "an encoder-decoder model"
            if config.is_encoder_decoder
            else f"a model of the type {config.model_type}"
        )
        raise UserError(
            f"{name} is {what}: only causal (decoder-only) language models can be decoded here"
        )
    foreign = layer_kinds(config.get_text_config(decoder=True)) - {FULL, SLIDING, CHUNKED}
    if foreign or getattr(kind, "_is_stateful", False):
        what = ", ".join(sorted(foreign)) or config.model_type
        raise UserError(
            f"{name} keeps a state that cannot be rolled back ({what}): speculative decoding needs "
            "attention layers"
        )


@torch.inference_mode()
def check_forward(model: HFModel, session: Session | None = None) -> None:
    """Check that the rows of a session are those of the model's own forward pass.

    This takes three forward passes over a few tokens: the model alone reads a short text; a session
    reads half of it, and then the other half in a tree among other drafts. It detects what a config
    does not show: attention that looks ahead, and positions or masks that a model computes itself.

    Args:
        model: the model.
        session: the session; by default a new one of the model.

    Raises:
        UserError: if the rows differ.
    """
    half = _PROBE // 2
    stride = max(1, model.vocab_size // (3 * _PROBE))
    tokens = [(1 + stride * k) % model.vocab_size for k in range(_PROBE + half)]
    text = tokens[:_PROBE]
    others = tokens[_PROBE:]
    # At each depth there is another token, then the token of the text, the parent of the next two.
    drafted: list[int] = []
    parents: list[int] = []
    for depth, (other, own_token) in enumerate(zip(others, text[half:], strict=True)):
        drafted += [other, own_token]
        parents += [2 * depth - 1, 2 * depth - 1]
    try:
        own_logits = model.logits(text, range(_PROBE), _PROBE, options={"use_cache": False})
        session = model.session() if session is None else session
        session.feed(text[:half])
        rows = session.forward(drafted, len(drafted), parents)[1::2]
    except (torch.OutOfMemoryError, UserError):
        raise
    except MODULE_FAULTS as error:
        why = f"its forward does not take a cache, a mask and positions ({first_line(error)})"
        raise UserError(f"{model.name} cannot be decoded here: {why}") from error
    own = own_logits[half:].double().cpu().numpy()
    head = getattr(model.module, "lm_head", None)
    if isinstance(head, ReducedHead):
        # Compare only the tokens of the head, because all other logits are -inf.
        in_head = head.tokens.cpu().numpy()
        own = own[:, in_head]
        rows = rows[:, in_head]
    if not np.isfinite(own).all():
        raise UserError(
            f"{model.name} gives logits that are not finite in {model.dtype}: try another dtype"
        )
    # The distance is the mean over the rows of ‖rows − own‖ / ‖own − mean(own)‖, about 1.4 for rows
    # of another text. Half precision changes a row by a few per cent, and more in mixtures of
    # experts and deep models, whose worst logit it may change as much as a wrong mask does.
    spread = np.linalg.norm(own - own.mean(-1, keepdims=True), axis=-1)
    distance = (np.linalg.norm(rows - own, axis=-1) / np.maximum(spread, 1e-9)).mean()
    if not distance <= (0.02 if model.dtype in ("float32", "float64") else 0.3):
        raise UserError(
            f"{model.name} cannot be decoded here: in a tree of drafts its rows are not those of "
            f"the text itself ({model.module.config.model_type} makes its own mask or positions, "
            "or looks ahead)"
        )
