"""A small family in the form of SmolLM2: 4-bit weights, a draft model with a reduced head,
databases, a chat template.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType as Kind
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

from hsd_viz.drafting.index.build import Pruning, build_database
from hsd_viz.drafting.shared import vocabulary_hash
from hsd_viz.engine import load_engine
from hsd_viz.models import files as files_module
from hsd_viz.models.families import FAMILIES, SMOLLM2, Family, PackagedFile
from tests.models.make_gguf import write_gguf

VOCABULARY = 320
WORDS = (
    "Why is the sky blue? The sky is blue because light of 3 colours is scattered 12 times.",
    "It's 2026: they'll count 1, 2, 3 and say 'größe' or naïve words, too.",
    "def f(x):\n    return x ** 2\n\n\nThe months are January, February, March, April and May.",
)
PROMPTS = [text[:20] for text in WORDS]
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|start|>' + message['role'] + '\\n' + message['content'] + '<|end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant\\n' }}{% endif %}"
)
#: Bytes without a token, as in SmolLM2's vocabulary: texts lose them.
_MISSING = 40


def make_tokenizer() -> Tokenizer:
    """Return a tokenizer whose digits are tokens of their own."""
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<|start|>", "<|end|>"],
        initial_alphabet=alphabet[:-_MISSING],
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 4, trainer)
    return tokenizer


def _metadata(tokenizer: Tokenizer) -> dict:
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3, 3] + [1] * (len(tokens) - 2),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in model["merges"]],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
    }


def _target(size: int) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=96,
        intermediate_size=160,
        num_hidden_layers=3,
        num_attention_heads=3,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    torch.manual_seed(0)
    module = LlamaForCausalLM(config).eval()
    # Later layers change little: the draft model, which lacks them, is often right.
    with torch.no_grad():
        for layer in module.model.layers[1:]:
            layer.self_attn.o_proj.weight *= 0.2
            layer.mlp.down_proj.weight *= 0.2
    return module


def _write_nano(folder: Path, module: LlamaForCausalLM) -> None:
    """Write a draft model: the first layer of a model, its embedding borrowed, its head reduced."""
    folder.mkdir()
    config = module.config
    own = {
        name: tensor.detach().float().numpy()
        for name, tensor in module.state_dict().items()
        if name.startswith("model.layers.0.") or name == "model.norm.weight"
    }
    tokens = np.delete(np.arange(config.vocab_size), np.s_[1::5])
    embedding = module.state_dict()["model.embed_tokens.weight"].detach().float().numpy()
    own["lm_head.weight"] = np.ascontiguousarray(embedding[tokens])
    own["d2t"] = tokens - np.arange(len(tokens))
    save_file(own, folder / "model.safetensors")
    written = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": 1,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_attention_heads": config.num_attention_heads,
        "num_key_value_heads": config.num_key_value_heads,
        "head_dim": config.head_dim,
        "vocab_size": config.vocab_size,
        "draft_vocab_size": len(tokens),
        "max_position_embeddings": config.max_position_embeddings,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_parameters["rope_theta"],
        "tie_word_embeddings": False,
        "hidden_act": "silu",
        "embedding_of": "small",
    }
    (folder / "config.json").write_text(json.dumps(written))


def _write_databases(folder: Path, family: Family) -> None:
    """Count what the target answers to the prompts."""
    engine = load_engine(family=family, device="cpu", threads=1)
    answers = [engine.run(prompt, "target", chat=True, max_new_tokens=60) for prompt in PROMPTS]
    texts = [np.array(answer.token_ids) for answer in answers]
    for kind in ("model", "statistics"):
        build_database(
            ([text] for text in texts),
            folder / f"{kind}.hsdb",
            kind=kind,
            vocabulary_size=VOCABULARY,
            vocabulary_hash=vocabulary_hash(engine.tokenizer.get_vocab()),
            pruning=Pruning(least=1),
        )


class LocalFile(PackagedFile):
    """A model's file where a test has written it."""

    def find(self) -> Path:
        return Path(self.file)


def make_family(folder: Path, monkeypatch) -> Family:
    """Write a family; its draft model finds its target as that of ``small`` meanwhile."""
    tokenizer = make_tokenizer()
    module = _target(tokenizer.get_vocab_size())
    target = write_gguf(folder / "target.gguf", module, kind=Kind.Q4_1, extra=_metadata(tokenizer))
    family = replace(
        SMOLLM2,
        models={
            "nano": folder / "nano",
            "target": LocalFile(
                distribution="small", version="1", file=str(target), megabytes=1, hash=""
            ),
        },
        databases=folder / "databases",
    )
    monkeypatch.setattr(files_module, "FAMILIES", {**FAMILIES, "small": family})
    _write_nano(folder / "nano", module)
    _write_databases(folder / "databases", family)
    return family
