"""TLI, token-level intersection: a draft model's rows, restricted to the tokens of both models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd_viz.decoding.bridges.translated import TranslatedSession
from hsd_viz.decoding.bridges.translator import Translator
from hsd_viz.decoding.draft import SampledChain
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import UniformNumbers
from hsd_viz.decoding.session import Model, sample_chain


class TliSession(TranslatedSession):
    """A session whose rows cover the target's vocabulary; tokens that the models do not share are
    never drawn.
    """

    def __init__(
        self,
        model: Model,
        translator: Translator,
        vocab_size: int,
        room: int | None = None,
    ) -> None:
        super().__init__(model, translator, room)
        self._vocab_size = vocab_size
        self._target_ids = np.array([*translator.shared], dtype=np.intp)
        self._draft_ids = np.array([*translator.shared.values()], dtype=np.intp)

    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        eos: frozenset[int],
        confidence: float = 0.0,
    ) -> SampledChain:
        return sample_chain(
            self._shared_logits_after, pending, n, sampling, numbers, eos, confidence
        )

    def _shared_logits_after(self, tokens: Sequence[int]) -> np.ndarray:
        """Feed tokens of the target, and return the logits ``[V]`` over the target's vocabulary
        after them: -inf for tokens that are not shared.
        """
        self._text += tokens
        scores = self.logits_after_text()
        shared = np.full(self._vocab_size, -np.inf, scores.dtype)
        shared[self._target_ids] = scores[self._draft_ids]
        return shared
