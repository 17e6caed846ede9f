"""The ``generate`` loops of transformers on the same weights, device and threads, with the defaults
of transformers.

The first forward pass is both prefill and step. Prefill ends when its tokens appear; these tokens
do not count as timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from transformers import GenerationConfig
from transformers.generation.streamers import BaseStreamer
from transformers.utils import logging

from hsd_viz.decoding.options import Sampling
from hsd_viz.errors import PromptTooLong, UserError
from hsd_viz.stack import TARGET, HFStack

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine

#: Draft tokens per round of hf-lookup, as in transformers' documentation. hf-assistant keeps
#: transformers' defaults.
LOOKUP_TOKENS = 10


@dataclass(frozen=True, slots=True)
class Generated:
    """One decode by a loop of transformers. Times are in seconds.

    Attributes:
        token_ids: the emitted tokens.
        seconds: the time from the end of prefill.
        timed_tokens: the number of tokens emitted in this time: all but those of the first forward
            pass.
        prefill_seconds: the time until the tokens of the first forward pass appeared.
        target_forwards: the number of forward passes of the target.
        drafted: the number of draft tokens that the target verified.
        accepted: the number of accepted draft tokens.
        arrivals: the time at which the tokens of each forward pass appeared, and their number.
    """

    token_ids: tuple[int, ...]
    seconds: float
    timed_tokens: int
    prefill_seconds: float
    target_forwards: int
    drafted: int
    accepted: int
    arrivals: list[tuple[float, int]]


class HFDecoder:
    """Decoder with ``hf-generate``, ``hf-lookup`` or ``hf-assistant[MODEL]``.

    Raises:
        UserError: if the model cannot assist.
    """

    def __init__(self, engine: LocalEngine, stack: HFStack) -> None:
        self._name = stack.name
        self._tokenizer = engine.tokenizer
        self._target = engine.module(TARGET)
        self._assistant = None
        if stack.assistant is not None:
            if stack.assistant == TARGET:
                raise UserError(f"'{stack}' is not possible: the target cannot assist itself")
            engine.models.vocabularies.check_same(engine.target, stack.assistant)
            self._assistant = engine.module(stack.assistant)

    def __call__(
        self, prompt: str | Sequence[int], new_tokens: int, sampling: Sampling
    ) -> Generated:
        target = self._target
        assistant = self._assistant
        if isinstance(prompt, str):
            prompt = self._tokenizer.encode(prompt, verbose=False)
        ids = torch.tensor([list(prompt)], device=target.device)
        positions = self._positions()
        if positions is not None and ids.shape[1] >= positions:
            raise PromptTooLong(ids.shape[1], positions)
        times = _Times()
        config = self._config(new_tokens, sampling)
        if assistant is not None:
            # transformers changes some settings of the assistant.
            settings = assistant.generation_config
            assistant.generation_config = deepcopy(settings)
        widths: list[int] = []

        def note_width(module: Any, args: tuple, kwargs: dict[str, Any]) -> None:
            fed = args[0] if args else kwargs["input_ids"]
            widths.append(fed.shape[1])

        hook = target.register_forward_pre_hook(note_width, with_kwargs=True)
        # generate() draws from torch's global random state, which is restored afterwards. Its
        # warnings about its own internal calls cannot be avoided here.
        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()
        try:
            with torch.random.fork_rng(), torch.inference_mode():
                torch.manual_seed(sampling.seed)
                started = perf_counter()
                output = target.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    generation_config=config,
                    streamer=times,
                    assistant_model=assistant,
                )
                ended = perf_counter()
        finally:
            logging.set_verbosity(verbosity)
            if assistant is not None:
                assistant.generation_config = settings
            hook.remove()
        tokens = output[0, ids.shape[1] :].tolist()
        arrivals = [(at - started, count) for at, count in times[1:]]
        prefill, first = arrivals[0]
        return Generated(
            token_ids=tuple(tokens),
            seconds=ended - started - prefill,
            timed_tokens=len(tokens) - first,
            prefill_seconds=prefill,
            target_forwards=len(widths),
            # The first pass feeds the prompt, each later one the last token and the draft.
            drafted=sum(widths) - ids.shape[1] - (len(widths) - 1),
            accepted=len(tokens) - len(widths),
            arrivals=arrivals,
        )

    def _positions(self) -> int | None:
        """Return the smallest context length of the models; ``None``: unlimited."""
        limits = []
        for model in (self._target, self._assistant):
            limit = getattr(model.config, "max_position_embeddings", None) if model else None
            if limit:
                limits.append(limit)
        return min(limits, default=None)

    def _config(self, max_new_tokens: int, sampling: Sampling) -> GenerationConfig:
        eos = self._target.generation_config.eos_token_id
        eos = eos if eos is not None else self._tokenizer.eos_token_id
        config = GenerationConfig(
            max_new_tokens=max_new_tokens,
            do_sample=not sampling.greedy,
            eos_token_id=eos,
            pad_token_id=eos[0] if isinstance(eos, list) else eos,
        )
        if not sampling.greedy:
            config.temperature = sampling.temperature
            config.top_k = sampling.top_k
            config.top_p = sampling.top_p
            config.min_p = sampling.min_p or None
        if self._name == "hf-lookup":
            config.prompt_lookup_num_tokens = LOOKUP_TOKENS
        return config


class _Times(list, BaseStreamer):
    """Streamer that records the time and the number of tokens: first of the prompt, then of each
    forward pass of the target.
    """

    def put(self, value: torch.Tensor) -> None:
        self.append((perf_counter(), value.numel()))

    def end(self) -> None:
        """Do nothing: there is no buffered output."""
