"""A model that costs nothing: it knows its text, so that a round is all Python."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter_ns

import numpy as np

from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.record import TOP, decode
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import GivesLogits
from hsd_viz.decoding.text import TokenText
from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.engine.replay import load_bundled
from hsd_viz.ladder.load import model_path, weights_dir
from hsd_viz.stack import parse
from hsd_viz.trace import Finished, Step

VOCABULARY = 4096


class Free(GivesLogits):
    """The row of each place is made beforehand and gives the text's next token, but for a share ``wrong`` of the
    places.
    """

    def __init__(self, text: list[int], wrong: float, seed: int) -> None:
        random, n = np.random.default_rng(seed), len(text)
        following = np.array([*text[1:], text[0]])
        following = np.where(random.random(n) < wrong, random.integers(0, VOCABULARY, n), following)
        self.rows = random.standard_normal((n + 64, VOCABULARY), np.float32)
        self.rows[np.arange(n), following] += 14
        self.length = 0

    def forward(self, tokens, rows, parents=None):
        base, n = self.length, len(tokens)
        self.length += n
        if parents is None:
            return self.rows[base + n - rows : base + n]
        places: list[int] = []
        for parent in parents:
            places.append(base if parent < 0 else places[parent] + 1)
        return self.rows[places[n - rows :]]

    def truncate(self, length):
        self.length = min(self.length, length)

    def keep(self, base, nodes):
        self.length = base + len(nodes)


class Workshop:
    """What decodes share: the shipped tokenizer and databases, and a text that the shipped target wrote."""

    def __init__(self, recording: str = "databases") -> None:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(str(model_path("target")))
        self.text = TokenText(tokenizer)
        self.shared = SharedDatabases.open(weights_dir() / "databases", tokenizer.get_vocab())
        trace = load_bundled(recording)
        self.prompt, self.written = trace.meta["prompt_ids"], trace.token_ids
        self._models: dict[tuple[float, int], Free] = {}

    def loop(self, stack: str, temperature: float = 0.0) -> Loop:
        """A loop over free models, its prompt read; the draft models are wrong in a quarter of the places."""
        parsed = parse(stack).resolved(4)
        levels = []
        for k, part in enumerate(parsed.models):
            last = part is parsed.target
            levels.append(Level("target" if last else part.name, self._model(0.0 if last else 0.25, k), part.lookahead))
        drafter = make_drafter(parsed.bottom, databases=self.shared, eos=0) if parsed.bottom else None
        tokens = len(self.written)
        sampling = Sampling(temperature, seed=3)
        loop = Loop(levels, drafter, sampling, self.prompt, max_new_tokens=tokens)
        for _ in loop.prefill():
            pass
        return loop

    def _model(self, wrong: float, seed: int) -> Free:
        model = self._models.setdefault((wrong, seed), Free([*self.prompt, *self.written], wrong, seed))
        model.length = 0
        return model

    def rounds(self, loop: Loop, record: bool = True) -> list[int]:
        """Decode to the end: nanoseconds of each target round. The prompt was read before, and is not read again.

        ``late`` gets those that the rows of the trace took, which are made when all is over.
        """
        loop.prefill, loop.details = lambda: iter(()), TOP if record else 0
        events: Iterator = decode(loop, self.text, {"max_new_tokens": len(self.written)})
        spent = []
        while True:
            began = perf_counter_ns()
            event = next(events)
            lasted = perf_counter_ns() - began
            if isinstance(event, Step):
                spent.append(lasted)
            elif isinstance(event, Finished):
                self.late = lasted
                assert event.trace.token_ids, "a loop that writes nothing measures nothing"
                return spent
