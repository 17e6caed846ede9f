"""transformers' assisted generation over a task's toy models."""

from __future__ import annotations

import torch
from transformers import GenerationConfig, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from hsd_viz.audit import Task
from hsd_viz.audit.torch_numbers import torch_numbers


class TableConfig(PreTrainedConfig):
    model_type = "table"
    num_hidden_layers, hidden_size, num_attention_heads = 1, 1, 1


class TableModel(PreTrainedModel, GenerationMixin):
    """A table by the last two tokens; its cache has the tokens themselves as keys."""

    config_class = TableConfig

    def __init__(self, table) -> None:
        super().__init__(TableConfig(vocab_size=table.shape[-1]))
        self.table = torch.from_numpy(table)
        self.anchor = torch.nn.Parameter(torch.zeros(1))

    def forward(self, input_ids, past_key_values=None, cache=None, **_):
        cache = past_key_values if cache is None else cache  # its name before transformers 5.24
        keys = input_ids.double()[:, None, :, None]
        seen = cache.update(keys, keys, 0)[0] if cache is not None else keys
        ids = seen[0, 0, :, 0].long()
        before = torch.cat([ids[:1], ids[:-1]])
        logits = self.table[before, ids][-input_ids.shape[1] :][None]
        return CausalLMOutputWithPast(None, logits, cache)


def assisted(task: Task) -> list[int]:
    """``generate(assistant_model=...)``."""
    draft = TableModel(task.logits[0])
    draft.generation_config = GenerationConfig(
        num_assistant_tokens=2, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0
    )
    return _generate(task, assistant_model=draft)


def prompt_lookup(task: Task) -> list[int]:
    """``generate(prompt_lookup_num_tokens=...)``."""
    return _generate(task, prompt_lookup_num_tokens=2)


def _generate(task: Task, **options) -> list[int]:
    model, ids = TableModel(task.logits[-1]), torch.tensor([task.prompt])
    sampling = {"do_sample": True, "temperature": task.temperature, "top_k": 0, "top_p": 1.0}
    end = {"eos_token_id": sorted(task.eos) or None, "pad_token_id": 0, "max_new_tokens": task.new_tokens}
    with torch_numbers(task.random), torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), **sampling, **end, **options)
    return out[0, len(task.prompt) :].tolist()
