"""Read the shapes of models and draft heads from ``config.json`` files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hsd_viz.disk import read_object
from hsd_viz.errors import BadFile, Unsupported, parsing
from hsd_viz.latency.known import PUBLISHED_FIGURES, by_name
from hsd_viz.latency.shapes import MODELS, WEIGHTS, Shape
from hsd_viz.settings.ranges import MAX_SIZE, check_range


def shape_of(name: str) -> Shape:
    """Return a shipped shape by name, or the shape of a ``config.json`` by its path or folder.

    Names of the hub are known: ``meta-llama/Llama-3.1-8B-Instruct`` is ``llama-8b``.

    Raises:
        UserError: if the name is unknown, or if the architecture is not modelled.
    """
    path = Path(name).expanduser()
    is_file = path.suffix == ".json" or path.is_dir() or name.startswith((".", "/", "~"))
    if not is_file:
        hub_name = _hub_name(name)
        if "/" not in name:
            return by_name(MODELS, hub_name or name, "model", ", or give the path of a config.json")
        if hub_name is not None:
            return MODELS[hub_name]
    if path.is_dir():
        path = path / "config.json"
    config = read_object(path, "config")
    name = path.stem if path.name != "config.json" else path.parent.name or "model"
    with parsing(path):
        return shape_of_config(name, config)


def _hub_name(name: str) -> str | None:
    """Return the shipped name of a hub model; ``None`` if it is not known."""
    plain = name.lower().rpartition("/")[2]
    for pattern, shipped_name in PUBLISHED_FIGURES["hub"].items():
        if plain.startswith(pattern):
            return shipped_name
    return None


def is_draft_head(config: Mapping[str, Any]) -> bool:
    """Return whether a config describes a draft head, which cannot decode without its target."""
    if "transformer_layer_config" in config:
        return True
    if isinstance(config.get("model"), dict) and "eagle" in str(config.get("model_type", "")):
        return True
    return "Eagle" in " ".join(map(str, config.get("architectures") or ()))


def shape_of_config(name: str, config: dict[str, Any]) -> Shape:
    """Return the shape of a model or a draft head from its config.

    Raises:
        UserError: if the architecture is not modelled.
    """
    if "transformer_layer_config" in config:
        return _speculator(name, config)
    if isinstance(config.get("model"), dict) and "eagle" in str(config.get("model_type", "")):
        return _head_of(name, config["model"], _eagle(config))
    architectures = " ".join(map(str, config.get("architectures") or ()))
    if "Eagle" in architectures and "num_hidden_layers" in config:
        return _head_of(name, config, _eagle(config), int(config.get("draft_vocab_size") or 0))
    inner = config.get("text_config")
    shape = _decoder(name, inner if isinstance(inner, dict) else config)
    return replace(shape, stored=_stored(config.get("quantization_config")))


def _stored(quantization: Any) -> str:
    """Return the weight format of a ``quantization_config``; "" if it is not known."""
    if not isinstance(quantization, Mapping):
        return ""
    method = str(quantization.get("quant_method", "")).lower()
    if method in _FORMAT_OF_METHOD:
        return _FORMAT_OF_METHOD[method]
    if method == "modelopt":
        return _FORMAT_OF_MODELOPT.get(str(quantization.get("quant_algo")), "")
    if method == "bitsandbytes":
        if quantization.get("load_in_4bit"):
            return "int4"
        return "int8" if quantization.get("load_in_8bit") else ""
    if method == "compressed-tensors":
        return _compressed(quantization)
    if method in ("awq", "gptq", "auto-round"):
        return _known_format(f"int{quantization.get('bits') or quantization.get('w_bit')}")
    return ""


_FORMAT_OF_METHOD = {"mxfp4": "fp4", "fp8": "fp8", "fbgemm_fp8": "fp8"}
_FORMAT_OF_MODELOPT = {"FP8": "fp8", "NVFP4": "fp4"}


def _known_format(name: str) -> str:
    return name if name in WEIGHTS else ""


def _compressed(quantization: Mapping[str, Any]) -> str:
    """Return the weight format of the first group in a ``compressed-tensors`` config."""
    groups = quantization.get("config_groups")
    if not isinstance(groups, Mapping):
        return ""
    group = next(iter(groups.values()), None)
    weights = group.get("weights") if isinstance(group, Mapping) else None
    if not isinstance(weights, Mapping):
        return ""
    kind = "fp" if weights.get("type") == "float" else "int"
    return _known_format(f"{kind}{weights.get('num_bits')}")


def _eagle(config: Mapping[str, Any]) -> str:
    """Return the version of EAGLE: a config of EAGLE-3 names it, or has a draft vocabulary."""
    names = f"{config.get('model_type')} {config.get('architectures')}".lower()
    if "eagle3" in names or config.get("draft_vocab_size"):
        return "eagle3"
    return "eagle"


def _speculator(name: str, config: dict[str, Any]) -> Shape:
    """Return the draft head of a config of the library speculators.

    Raises:
        Unsupported: if the draft head does not draft token by token.
    """
    method = str(config.get("speculators_model_type") or _eagle(config))
    if method not in ("eagle", "eagle3"):
        raise Unsupported(
            f"{name} is a speculator of the type '{method}', whose cost is not modelled: use one "
            "of the type eagle or eagle3"
        )
    proposals = (config.get("speculators_config") or {}).get("proposal_methods") or [{}]
    tokens = int(proposals[0].get("speculative_tokens") or 0)
    layer = config["transformer_layer_config"]
    return _head_of(name, layer, method, int(config.get("draft_vocab_size") or 0), tokens)


def _head_of(
    name: str, layer: dict[str, Any], method: str, vocabulary: int = 0, tokens: int = 0
) -> Shape:
    """Return the draft head with the layers of a config."""
    decoder = _decoder(name, {"num_hidden_layers": 1, **layer})
    for what, value in (("draft vocabulary", vocabulary), ("draft tokens", tokens)):
        check_range(f"the {what} of {name}", value, 0, MAX_SIZE)
    return replace(decoder, output=vocabulary, is_head=True, lookahead=tokens, method=method)


def _decoder(name: str, config: dict[str, Any]) -> Shape:
    """Return the checked shape of a decoder from its config."""
    _check_is_modelled(name, config)
    try:
        shape = _shape(name, config)
        for size in ("layers", "hidden", "heads", "kv_heads", "intermediate", "vocabulary"):
            check_range(f"{size} of {name}", getattr(shape, size), 1, MAX_SIZE)
        for size in ("head_dim", "experts", "used", "shared", "window", "dense_layers"):
            check_range(f"{size} of {name}", getattr(shape, size), 0, MAX_SIZE)
    except (KeyError, TypeError) as error:
        raise BadFile(
            f"the config of {name} lacks {error}: it is not a decoder of a known shape"
        ) from None
    if shape.experts and not 0 < shape.used <= shape.experts:
        raise BadFile(f"{name} has {shape.experts} experts of which each token uses {shape.used}")
    if shape.heads % shape.kv_heads:
        raise BadFile(f"{name} has {shape.heads} heads for {shape.kv_heads} heads of the cache")
    return shape


def _check_is_modelled(name: str, config: Mapping[str, Any]) -> None:
    """Check that the cost of all layers is modelled.

    Raises:
        Unsupported: if it is not.
    """
    if "kv_lora_rank" in config or "linear_attention" in (config.get("layer_types") or ()):
        raise Unsupported(
            f"{name} has latent or linear attention, whose cache and cost are not modelled"
        )
    if any(key in config for key in ("ssm_state_size", "mamba_d_state", "state_size")):
        raise Unsupported(f"{name} has recurrent layers, whose cost is not modelled")


def _shape(name: str, config: Mapping[str, Any]) -> Shape:
    """Return the shape of a decoder from its config, without checks."""
    layers = config["num_hidden_layers"]
    heads = config["num_attention_heads"]
    experts = _first_value(config, "num_experts", "num_local_experts", "n_routed_experts") or 0
    intermediate = config.get("moe_intermediate_size") if experts else None
    intermediate = intermediate or config["intermediate_size"]
    dense_layers = _dense_layers(config, layers) if experts else 0
    dense_intermediate = 0
    if dense_layers:
        dense_intermediate = _first_value(config, "intermediate_size_mlp", "intermediate_size")
    shared = _first_value(config, "shared_expert_intermediate_size")
    if shared is None:
        shared = (config.get("n_shared_experts") or 0) * intermediate
    window, windowed_layers = _window(config, config.get("layer_types") or ())
    return Shape(
        name=name,
        layers=layers,
        hidden=config["hidden_size"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        intermediate=intermediate,
        vocabulary=config["vocab_size"],
        head_dim=config.get("head_dim") or 0,
        tied=bool(config.get("tie_word_embeddings")),
        experts=experts,
        used=_first_value(config, "num_experts_per_tok", "num_experts_per_token") or 0,
        shared=shared,
        dense_layers=dense_layers,
        dense_intermediate=dense_intermediate,
        window=window,
        windowed_layers=windowed_layers,
    )


def _first_value(config: Mapping[str, Any], *names: str) -> Any:
    """Return the first value that is set under one of several names; ``None`` if none is."""
    for name in names:
        if config.get(name) is not None:
            return config[name]
    return None


def _dense_layers(config: Mapping[str, Any], layers: int) -> int:
    """Return the number of layers with a dense MLP in a model with experts."""
    first_sparse = config.get("first_k_dense_replace") or 0
    listed = len(config.get("mlp_only_layers") or ())
    period = _first_value(
        config, "interleave_moe_layer_step", "moe_layer_freq", "decoder_sparse_step"
    )
    if not isinstance(period, int) or period <= 1:
        return min(layers, first_sparse + listed)
    sparse = sum((k + 1) % period == 0 for k in range(first_sparse, layers))
    return layers - sparse


def _window(config: Mapping[str, Any], layer_types: Sequence[str]) -> tuple[int, int]:
    """Return the length of the sliding window in tokens, and the number of layers with it."""
    window = config.get("sliding_window") or 0
    layers = config["num_hidden_layers"]
    if not window or config.get("use_sliding_window") is False:
        return 0, 0
    if layer_types:
        windowed = sum(kind in ("sliding_attention", "chunked_attention") for kind in layer_types)
        return window, windowed
    pattern = config.get("sliding_window_pattern")
    if isinstance(pattern, int) and pattern > 1:
        # Each pattern-th layer has full attention.
        return window, layers - layers // pattern
    return window, layers
