"""A draft model behind a bridge reads the text as it is now, whatever was fed and rolled back before."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np

from hsd_viz.decoding.bridge import WINDOW, TLISession


class Reader:
    """The inner session: what it was fed."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    def truncate(self, length: int) -> None:
        del self.ids[length:]

    def forward(self, tokens: list[int], rows: int) -> np.ndarray:
        self.ids += tokens
        return np.zeros((1, 2))


def test_the_draft_model_has_the_text_as_its_tokenizer_reads_it():
    """Each token of the target's is two of the draft's. Texts grow beyond the part whose cut is fixed, and shrink."""
    reader, choose = Reader(), random.Random(0)
    read = lambda tokens: [part for token in tokens for part in (2 * token, 2 * token + 1)]
    bridge = SimpleNamespace(read=read, draft=SimpleNamespace(start=[], bos=None, eos=None))
    inner = SimpleNamespace(positions=None, session=lambda room: reader)
    session = TLISession(SimpleNamespace(model=inner, bridge=bridge), None)  # type: ignore[arg-type]
    text: list[int] = []
    longest = rolled_back = 0
    for _ in range(300):
        if text and choose.random() < 0.4:
            length = max(0, len(text) - choose.choice([1, 3, 20, 2 * WINDOW]))
            session.truncate(length)
            rolled_back += length < len(text) - WINDOW
            del text[length:]
        new = [choose.randrange(1000) for _ in range(choose.choice([1, 2, 40]))]
        session.feed(new)
        text += new
        assert reader.ids == read(text) and session.length == len(text)
        longest = max(longest, len(text))
    assert longest > 3 * WINDOW and rolled_back
