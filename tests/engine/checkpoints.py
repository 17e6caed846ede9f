"""Write checkpoints of tiny random models for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|model|>{% endif %}"
)
SPECIAL = ["<|start|>", "<|end|>", "<|user|>", "<|model|>"]
BYTES = 256
TOKENS = BYTES + len(SPECIAL)


def save_tokenizer(
    path: Path,
    template: str | None = None,
    extra: Sequence[str] = (),
    reverse: bool = False,
) -> None:
    """One token per byte, in ``reverse`` order with other ids, then ``extra`` ones, then
    :data:`SPECIAL`; a text is encoded with the start token in front.
    """
    alphabet = [*sorted(pre_tokenizers.ByteLevel.alphabet(), reverse=reverse), *extra]
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|start|> $A", special_tokens=[("<|start|>", BYTES + len(extra))]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|start|>", eos_token="<|end|>"
    )
    fast.chat_template = template
    fast.save_pretrained(path)


def save_model(
    path: Path,
    rows: int = TOKENS,
    seed: int = 0,
    noise: float = 0.0,
    layers: int = 2,
    template: str | None = None,
    positions: int = 256,
    extra: Sequence[str] = (),
    reverse: bool = False,
) -> str:
    """A random Llama whose embeddings have ``rows`` rows, those beyond the tokenizer the likeliest
    of all if they could be drawn.

    ``noise`` (relative) makes a relative of the model of the same ``seed`` and ``layers``, whose
    drafts are accepted now and then.
    """
    config = LlamaConfig(
        vocab_size=TOKENS,
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=positions,
        initializer_range=0.3,
        bos_token_id=BYTES,
        eos_token_id=BYTES + 1,
    )
    torch.manual_seed(seed)
    module = LlamaForCausalLM(config)
    with torch.no_grad():
        for weight in module.parameters():
            weight += noise * weight.std(correction=0) * torch.randn_like(weight)
        if rows != TOKENS:
            module.resize_token_embeddings(rows, mean_resizing=False)
            # Twice the best real row, either way: whatever the hidden state, one of each two padded
            # rows beats it.
            best = module.lm_head.weight[:TOKENS].abs().amax() * 20
            for row in range(TOKENS, rows):
                module.lm_head.weight[row] = best * (1 if row % 2 else -1)
    save_tokenizer(path, template, extra, reverse)
    module.save_pretrained(path)
    return str(path)
