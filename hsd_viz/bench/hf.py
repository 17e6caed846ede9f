"""transformers' own ``generate`` loops on the same weights, device and threads, at transformers' defaults.

A hook on the target counts its forward passes, a stopping criterion sees the text after each of them. The first pass is
prefill and step in one, so its end is the end of prefill, and its tokens do not count as timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList
from transformers.utils import logging

from hsd_viz.bench.output import Output, arrival_times
from hsd_viz.decoding.sampling import PromptTooLong, Sampling
from hsd_viz.stack import HFStack

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine

#: Draft tokens per round of hf-lookup, as in transformers' documentation. hf-assistant keeps transformers' defaults.
LOOKUP_TOKENS = 10


class HFDecoder:
    """Decode with ``hf-generate``, ``hf-lookup`` or ``hf-assistant[MODEL]``. Raises: ValueError: if the model cannot
    assist.
    """

    def __init__(self, engine: LocalEngine, stack: HFStack) -> None:
        self._name, self._tokenizer, self._target = stack.name, engine.tokenizer, engine.module("target")
        self._assistant = None
        if stack.assistant is not None:
            if stack.assistant == "target":
                raise ValueError(f"'{stack}' is not possible: the target cannot assist itself")
            engine.models.check_tokenizer(engine.target, stack.assistant)
            self._assistant = engine.module(stack.assistant)

    def __call__(
        self, prompt: str | Sequence[int], max_new_tokens: int, sampling: Sampling, memory: None = None
    ) -> Output:
        target, assistant = self._target, self._assistant
        encoded = self._tokenizer.encode(prompt, verbose=False) if isinstance(prompt, str) else list(prompt)
        ids = torch.tensor([encoded], device=target.device)
        models = [m for m in (target, assistant) if m is not None]
        positions = min((p for m in models if (p := getattr(m.config, "max_position_embeddings", None))), default=None)
        if positions is not None and ids.shape[1] >= positions:
            raise PromptTooLong(ids.shape[1], positions)
        watch = _Watch(ids.shape[1], target.device)
        hooks = [
            target.register_forward_pre_hook(watch.before, with_kwargs=True),
            target.register_forward_hook(watch.after),
        ]
        options: dict[str, Any] = {"generation_config": self._config(max_new_tokens, sampling)}
        own = None if assistant is None else assistant.generation_config
        if assistant is not None:
            # transformers changes some of the assistant's settings.
            assistant.generation_config, options["assistant_model"] = deepcopy(own), assistant
        # generate() draws from torch's global random state, which is restored afterwards. Its warnings about its own
        # inner calls cannot be avoided here.
        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()
        try:
            with torch.random.fork_rng(), torch.inference_mode():
                torch.manual_seed(sampling.seed)
                options |= {"attention_mask": torch.ones_like(ids), "stopping_criteria": StoppingCriteriaList([watch])}
                started = perf_counter()
                tokens = target.generate(ids, **options)[0, ids.shape[1] :].tolist()
                return watch.output(tokens, started, perf_counter())
        finally:
            logging.set_verbosity(verbosity)
            if assistant is not None:
                assistant.generation_config = own
            for hook in hooks:
                hook.remove()

    def _config(self, max_new_tokens: int, sampling: Sampling) -> GenerationConfig:
        eos, options = self._target.generation_config.eos_token_id, {}
        eos = eos if eos is not None else self._tokenizer.eos_token_id
        if not sampling.greedy:
            options |= {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p}
        if self._name == "hf-lookup":
            options |= {"prompt_lookup_num_tokens": LOOKUP_TOKENS}
        pad = eos[0] if isinstance(eos, list) else eos
        options |= {"eos_token_id": eos, "pad_token_id": pad, "do_sample": not sampling.greedy}
        return GenerationConfig(max_new_tokens=max_new_tokens, **options)


class _Watch(StoppingCriteria):
    """Record every forward pass of the target and the text after it; never stop the loop. Before transformers 5.18,
    what proposes candidates asks the stopping criteria about them, too: such calls follow no forward pass of the
    target.
    """

    def __init__(self, prompt: int, device: torch.device) -> None:
        self._prompt, self._device = prompt, device
        self._widths: list[int] = []
        self._seen: list[tuple[float, int]] = []
        self._prefilled, self._passed = 0.0, False

    def before(self, module, args, kwargs) -> None:
        fed = kwargs["input_ids"] if kwargs.get("input_ids") is not None else args[0]
        self._widths.append(fed.shape[1])

    def after(self, module, args, output) -> None:
        self._passed = True
        if len(self._widths) == 1:
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
            self._prefilled = perf_counter()

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor, **kwargs) -> torch.BoolTensor:
        if self._passed:
            self._passed = False
            self._seen.append((perf_counter(), input_ids.shape[1]))
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    def output(self, tokens: list[int], started: float, ended: float) -> Output:
        pairs = pairwise([(started, self._prompt), *self._seen])
        arrivals = [(at - started, length - before) for (_, before), (at, length) in pairs]
        passes = len(self._widths)
        return Output(
            token_ids=tuple(tokens),
            seconds=ended - self._prefilled,
            timed_tokens=len(tokens) - arrivals[0][1],
            prefill_seconds=self._prefilled - started,
            target_forwards=passes,
            # The first pass feeds the whole prompt, each later one the last token, then the draft.
            drafted=sum(self._widths) - self._prompt - (passes - 1),
            accepted=len(tokens) - passes,
            draft_seconds=None,
            runtime="transformers",
            **arrival_times([one for one in arrivals if one[1]]),
        )
