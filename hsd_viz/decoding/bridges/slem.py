"""SLEM, string-level exact match: a draft model proposes its text, cut into the target's tokens."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.decoding.bridges.translated import TranslatedSession
from hsd_viz.decoding.rejection_sampling import SampledChain, UniformNumbers
from hsd_viz.decoding.sampling import Sampling, chance_of

#: Forward passes of a draft for each token it may propose, at most.
_STEPS = 2


class SlemSession(TranslatedSession):
    """A draft model that continues the text with its own likeliest tokens."""

    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        eos: frozenset[int],
        confidence: float = 0.0,
    ) -> SampledChain:
        """Draft up to ``n`` tokens of the target as point masses. The probability that is compared
        with ``confidence`` is that of the draft model's own tokens.
        """
        self._text += pending
        most = _STEPS * n
        scores = self.logits_after_text(room=most)
        spelled = b""
        tokens: list[int] = []
        reach = 1.0
        for forwards in range(1, most + 1):
            own_token = int(scores.argmax())
            piece = self._translator.draft.pieces[own_token]
            if piece is None:
                tokens += self._end_of_text(own_token, eos)
                break
            spelled += piece
            tokens = self._translator.to_target(self._text, spelled)
            # One token more than is asked for: the last one could still grow.
            if len(tokens) > n or forwards == most:
                break
            if confidence:
                reach *= chance_of(own_token, None, scores)
                if reach < confidence and tokens:
                    break
            scores = self.extend_draft(own_token)
        return SampledChain(tokens[:n], None, forwards)

    def _end_of_text(self, own_token: int, eos: frozenset[int]) -> list[int]:
        """Return the target's end token that a special token of the draft model means, if any."""
        for token, draft_token in self._translator.special.items():
            if draft_token == own_token and token in eos:
                return [token]
        return []
