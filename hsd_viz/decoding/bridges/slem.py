"""SLEM, string-level exact match: the text of a draft model is proposed in the target's tokens."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.decoding.bridges.translated import TranslatedSession
from hsd_viz.decoding.draft import SampledChain
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import UniformNumbers, chance_of

#: The largest number of forward passes for each token that a draft may have.
_STEPS = 2


class SlemSession(TranslatedSession):
    """A session whose draft model continues the text with its own likeliest tokens."""

    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        eos: frozenset[int],
        confidence: float = 0.0,
    ) -> SampledChain:
        """Draft up to ``n`` tokens of the target as point masses.

        ``confidence`` is compared with the joint probability of the draft model's own tokens.
        """
        self._text += pending
        max_forwards = _STEPS * n
        scores = self.logits_after_text(room=max_forwards)
        spelled = b""
        tokens: list[int] = []
        reach = 1.0
        for forwards in range(1, max_forwards + 1):
            own_token = int(scores.argmax())
            piece = self._translator.draft.pieces[own_token]
            if piece is None:
                tokens += self._end_of_text(own_token, eos)
                break
            spelled += piece
            tokens = self._translator.to_target(self._text, spelled)
            # One token more than requested, because the last one could still become longer.
            if len(tokens) > n or forwards == max_forwards:
                break
            if confidence:
                reach *= chance_of(own_token, None, scores)
                if reach < confidence and tokens:
                    break
            scores = self.extend_draft(own_token)
        return SampledChain(tokens[:n], None, forwards)

    def _end_of_text(self, own_token: int, eos: frozenset[int]) -> list[int]:
        """Return the target's end token for a special token of the draft model, if there is one."""
        for token, draft_token in self._translator.special.items():
            if draft_token == own_token and token in eos:
                return [token]
        return []
