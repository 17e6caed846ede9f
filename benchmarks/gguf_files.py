"""Write GGUF files for llama.cpp, by the ``gguf`` package: models of the ladder, and other files
in another type.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from hsd_viz.models.families import CODE
from hsd_viz.models.files import open_model
from hsd_viz.models.matrix import GroupedMatrix

DTYPES = ("float16", "bfloat16", "float32", "q8_0")


def write_gguf(model: str, out: Path, dtype: str = "float16") -> Path:
    """Write a model of the ladder (Qwen3, byte-level BPE) and return ``out``; ``dtype`` is that of
    the matrices, whose 8-bit numbers are multiplied by their scales.
    """
    import gguf

    folder = CODE.path(model)
    config = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    kind = getattr(
        gguf.GGMLQuantizationType,
        {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "q8_0": "Q8_0"}[dtype],
    )
    file = gguf.GGUFWriter(out, "qwen3")
    file.add_name(f"hsd_viz {model}")
    file.add_file_type(
        getattr(gguf.LlamaFileType, {"F32": "ALL_F32"}.get(kind.name, f"MOSTLY_{kind.name}"))
    )
    file.add_block_count(config["num_hidden_layers"])
    file.add_context_length(config["max_position_embeddings"])
    file.add_embedding_length(config["hidden_size"])
    file.add_feed_forward_length(config["intermediate_size"])
    file.add_head_count(config["num_attention_heads"])
    file.add_head_count_kv(config["num_key_value_heads"])
    file.add_key_length(config["head_dim"])
    file.add_value_length(config["head_dim"])
    file.add_rope_dimension_count(config["head_dim"])
    file.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    file.add_layer_norm_rms_eps(config["rms_norm_eps"])
    file.add_vocab_size(config["vocab_size"])
    special = {row["id"]: row["content"] for row in tokenizer["added_tokens"]}
    pieces = {number: piece for piece, number in tokenizer["model"]["vocab"].items()} | special
    control = int(gguf.TokenType.CONTROL)
    normal = int(gguf.TokenType.NORMAL)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    names = []
    types = []
    for token in range(config["vocab_size"]):
        names.append(pieces[token])
        types.append(control if token in special else normal)
    file.add_token_list(names)
    file.add_token_types(types)
    merges = []
    for merge in tokenizer["model"]["merges"]:
        merges.append(merge if isinstance(merge, str) else " ".join(merge))
    file.add_token_merges(merges)
    file.add_bos_token_id(config["bos_token_id"])
    file.add_eos_token_id(config["eos_token_id"])
    file.add_add_bos_token(False)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, config["num_hidden_layers"])
    source = open_model(folder).tensors
    for name in source.names():
        tensor = source.read(name)
        if isinstance(tensor, GroupedMatrix):
            tensor = tensor.widened()
        stored = kind if tensor.ndim > 1 else gguf.GGMLQuantizationType.F32
        data = gguf.quants.quantize(np.asarray(tensor, np.float32), stored)
        file.add_tensor(names.get_name(name, try_suffixes=(".weight",)), data, raw_dtype=stored)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return out


def requantize(source: Path, out: Path, dtype: str = "q8_0") -> Path:
    """Write a GGUF file with the matrices of another one in ``dtype``, and return ``out``.

    Everything else is copied. The weights are those of the source rounded once more.
    """
    import gguf

    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    kind = gguf.GGMLQuantizationType[dtype.upper()]
    file = gguf.GGUFWriter(out, architecture)
    skipped = ("GGUF.", "general.architecture", "general.file_type")
    for name, field in reader.fields.items():
        if name.startswith(skipped):
            continue
        sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        file.add_key_value(name, field.contents(), field.types[0], sub_type)
    file.add_file_type(gguf.LlamaFileType[f"MOSTLY_{dtype.upper()}"])
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        stored = kind if values.ndim > 1 else gguf.GGMLQuantizationType.F32
        file.add_tensor(tensor.name, gguf.quantize(values, stored), raw_dtype=stored)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return out
