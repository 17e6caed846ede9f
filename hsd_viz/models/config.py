"""Read the form of a model from its ``config.json``.

:data:`REQUIREMENTS` lists the keys that determine whether a model is Llama-shaped, with their
supported values and the reason why other values are not supported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hsd_viz.disk import read_object
from hsd_viz.errors import BadFile, Unsupported
from hsd_viz.models.form import LlamaForm, Rotary
from hsd_viz.models.sizes import check_form

#: The ``quantization_config`` in folders that :mod:`hsd_viz` writes: 8-bit integers with a scale
#: per row. It has no ``quant_method``, so that transformers refuses the folder rather than reading
#: the integers as floats.
ROW_SCALES = {"hsd_viz": "8-bit integers with a float32 scale per row: load it with hsd_viz"}


@dataclass(frozen=True, slots=True)
class ModelType:
    """The defaults of transformers for a model type, for values that ``config.json`` leaves out.

    Attributes:
        kv_heads: the number of key-value heads; ``None`` for that of the query heads.
        tied_head: whether the head shares the weights of the embedding.
        head_dim: the size of a head; ``None`` for the width divided by the number of heads.
        theta: the base of the rotary frequencies.
        positions: the context length in tokens.
        window: the attention window in tokens; ``None`` for none.
        query_key_value_bias: whether queries, keys and values have biases.
        query_key_norm: whether queries and keys are normalized per head.
        rotary_gap: n if each n-th layer has no rotary positions; 0 if all layers have them.
    """

    kv_heads: int | None = None
    tied_head: bool = False
    head_dim: int | None = None
    theta: float = 10_000.0
    positions: int = 32_768
    window: int | None = None
    query_key_value_bias: bool = False
    query_key_norm: bool = False
    rotary_gap: int = 0


#: The supported model types.
MODEL_TYPES = {
    "llama": ModelType(positions=2048),
    "mistral": ModelType(kv_heads=8, positions=131_072, window=4096),
    "qwen2": ModelType(kv_heads=32, query_key_value_bias=True),
    "qwen3": ModelType(kv_heads=32, head_dim=128, query_key_norm=True),
    "smollm3": ModelType(kv_heads=4, tied_head=True, theta=2_000_000.0, rotary_gap=4),
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement on a key of ``config.json`` for a Llama-shaped model.

    Attributes:
        key: the key.
        allowed: the allowed values; the first is assumed if the key is missing.
        reason: the meaning of other values, for the error message.
    """

    key: str
    allowed: tuple[Any, ...]
    reason: str


REQUIREMENTS = (
    Requirement("hidden_act", ("silu", "swish"), "another activation than SiLU"),
    Requirement("attention_bias", (False, None), "a bias of the attention's output"),
    Requirement("mlp_bias", (False, None), "biases in its gated network"),
    Requirement("use_sliding_window", (False, None), "a sliding window"),
    Requirement("quantization_config", (None, ROW_SCALES), "weights of a quantization library"),
    Requirement("partial_rotary_factor", (1, 1.0, None), "rotary positions in a part of each head"),
    Requirement("is_encoder_decoder", (False, None), "an encoder"),
    Requirement("add_cross_attention", (False, None), "cross-attention"),
    Requirement("num_local_experts", (None, 0, 1), "a mixture of experts"),
    Requirement("num_experts", (None, 0, 1), "a mixture of experts"),
)


def read_config(folder: str | Path) -> dict[str, Any]:
    """Read the ``config.json`` of a folder.

    Raises:
        BadFile: if it is missing, too large or not a JSON object.
    """
    return read_object(Path(folder) / "config.json", "config")


def form_of(name: str, config: Mapping[str, Any]) -> LlamaForm:
    """Return the form that a ``config.json`` describes.

    Args:
        name: the name of the model, for error messages.
        config: the content of the file.

    Raises:
        Unsupported: if the model is not Llama-shaped.
        BadFile: if a value is missing, of a wrong type or out of range.
    """
    kind = MODEL_TYPES.get(str(config.get("model_type")))
    if kind is None:
        readable = ", ".join(MODEL_TYPES)
        actual = config.get("model_type")
        raise Unsupported(f"{name} has the model type {actual!r}: native are {readable}")
    for required in REQUIREMENTS:
        value = config.get(required.key, required.allowed[0])
        if value not in required.allowed:
            raise Unsupported(f"{name} has {required.reason} ({required.key} is {value!r:.60})")
    _check_windows(name, config, kind)
    values = _Values(name, config)
    layers = values.integer("num_hidden_layers")
    width = values.integer("hidden_size")
    heads = values.integer("num_attention_heads")
    form = LlamaForm(
        layers=layers,
        width=width,
        inner=values.integer("intermediate_size"),
        heads=heads,
        kv_heads=values.integer("num_key_value_heads", kind.kv_heads or heads),
        head_dim=values.integer("head_dim", kind.head_dim or width // max(heads, 1)),
        vocabulary=values.integer("vocab_size"),
        positions=values.integer("max_position_embeddings", kind.positions),
        epsilon=values.number("rms_norm_eps", 1e-6),
        rotary=_rotary(name, config, kind),
        tied_head=values.truth("tie_word_embeddings", kind.tied_head),
        head_rows=_head_rows(values),
        query_key_norm=kind.query_key_norm,
        query_key_value_bias=kind.query_key_value_bias,
    )
    check_form(name, form)
    return _without_rotary(form, values, kind)


def _head_rows(values: _Values) -> int | None:
    """Return the number of rows in a reduced head; ``None`` for a full head.

    The key is ``draft_vocab_size``, as in EAGLE-3's checkpoints.
    """
    if values.get("draft_vocab_size") is None:
        return None
    return values.integer("draft_vocab_size")


def _check_windows(name: str, config: Mapping[str, Any], kind: ModelType) -> None:
    """Check that no layer has a sliding window.

    Raises:
        Unsupported: if a layer has one.
    """
    window = config.get("sliding_window", kind.window)
    uses_window = config.get("use_sliding_window", kind.window is not None)
    if uses_window and window is not None:
        raise Unsupported(f"{name} has a sliding window (sliding_window is {window!r:.60})")
    layer_types = config.get("layer_types") or []
    if not isinstance(layer_types, list):
        raise BadFile(f"{name}: layer_types is {layer_types!r:.60}, expected a list")
    for layer_type in layer_types:
        if layer_type != "full_attention":
            raise Unsupported(f"{name} has layers of the type {layer_type!r:.60}")


def _without_rotary(form: LlamaForm, values: _Values, kind: ModelType) -> LlamaForm:
    """Return the form with the layers that have no rotary positions set."""
    if not kind.rotary_gap:
        return form
    gap = values.integer("no_rope_layer_interval", kind.rotary_gap)
    if not 1 <= gap <= 10_000:
        raise BadFile(f"{values.name}: no_rope_layer_interval is {gap}, expected 1 to 10000")
    layers = range(gap - 1, form.layers, gap)
    rotary = values.get("no_rope_layers")
    if rotary is not None:
        if not isinstance(rotary, list) or len(rotary) < form.layers:
            raise BadFile(f"{values.name}: no_rope_layers is not a list with a number per layer")
        layers_without = [layer for layer in range(form.layers) if not rotary[layer]]
        return replace(form, layers_without_rotary=frozenset(layers_without))
    return replace(form, layers_without_rotary=frozenset(layers))


def _rotary(name: str, config: Mapping[str, Any], kind: ModelType) -> Rotary:
    """Return the rotary parameters of a config of transformers 5 or earlier."""
    parameters = config.get("rope_parameters")
    if parameters is None:
        parameters = config.get("rope_scaling") or {}
    if not isinstance(parameters, Mapping):
        raise BadFile(f"{name}: rope_parameters is {parameters!r:.60}, expected a JSON object")
    values = _Values(name, parameters)
    theta = values.number("rope_theta", _Values(name, config).number("rope_theta", kind.theta))
    scaling = parameters.get("rope_type", parameters.get("type", "default"))
    if scaling == "default":
        return Rotary(theta)
    if scaling == "linear":
        return Rotary(theta, "linear", factor=values.number("factor"))
    if scaling != "llama3":
        raise Unsupported(f"{name} has the rotary scaling {scaling!r:.60}")
    return Rotary(
        theta=theta,
        kind="llama3",
        factor=values.number("factor"),
        low_frequency_factor=values.number("low_freq_factor"),
        high_frequency_factor=values.number("high_freq_factor"),
        original_positions=values.integer("original_max_position_embeddings"),
    )


class _Values:
    """A reader of the values of a JSON object, which checks their types."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self.name = name
        self._values = values

    def get(self, key: str) -> Any:
        return self._values.get(key)

    def integer(self, key: str, default: int | None = None) -> int:
        return int(self._value(key, default, (int,), "a whole number"))

    def number(self, key: str, default: float | None = None) -> float:
        return float(self._value(key, default, (int, float), "a number"))

    def truth(self, key: str, default: bool) -> bool:
        return bool(self._value(key, default, (bool,), "true or false"))

    def _value(self, key: str, default: Any, kinds: tuple[type, ...], expected: str) -> Any:
        value = self._values.get(key)
        if value is None:
            value = default
        if type(value) not in kinds:
            raise BadFile(f"{self.name}: {key} is {value!r:.60} in its config, expected {expected}")
        return value
