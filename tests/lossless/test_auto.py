"""``auto`` is lossless: the choice looks at the past alone, and whatever is chosen, the text stays what it would have been.

Beside the real chooser stands one that draws its options, so that every kind of option serves often and in any order.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
from ladders import bundled_prompts, ladder_engine, needs_native, random_model
from test_chi_square import FEWER_TOKENS, LEVEL, SHAPED, TOKENS, p_values
from test_greedy import RUNTIMES
from toys import HOST, Guesser, Launching, Markov, V, models

from hsd_viz.adaptive.choice import Chooser
from hsd_viz.adaptive.loop import AutoLoop
from hsd_viz.adaptive.options import Estimates, Option
from hsd_viz.backends.choose import backend_for
from hsd_viz.decoding.loop import Draft, Level, Loop
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting import make_drafter
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.engine import load_engine
from hsd_viz.latency.acceptance import Edge
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost, LookupCost
from hsd_viz.stack import DraftSource
from hsd_viz.trace.metrics import check
from hsd_viz.views.payload import level_names

NAMES = ("m0", "m1", "target")


def priced(bottom: str | None, draft: float = 0.06, slope: float = 0.08) -> Estimates:
    """Fixed costs, so that a run can be repeated: the target's forward costs 1, drafting some share of it."""
    line = lambda first: tuple(first * (1 + slope * m) for m in range(40))
    costs = {"m0": LevelCost(line(draft)), "m1": LevelCost(line(4 * draft)), "target": LevelCost(line(1.0))}
    edges = {pair: Edge(tail=0.6) for pair in combinations(NAMES, 2)}
    calibration = Calibration(NAMES, costs, edges, {}, {"db": LookupCost(0.01, 0.0)})
    return Estimates(NAMES, (1, 4, 16), bottom=bottom, calibration=calibration, learn_costs=False)


class Drawn(Chooser):
    """Options by a generator of its own: any nodes of the tree, any models, any lookaheads, catching up after any pause."""

    def __init__(self, estimates: Estimates) -> None:
        super().__init__(estimates)
        self._random = np.random.default_rng(5)

    def looks(self) -> bool:
        return self.estimates.bottom is not None and self._random.random() < 0.7

    def choose(self, pending, reach=None):
        draw, n = self._random, len(pending)
        kind = int(draw.integers(5))
        if kind == 0:
            return Option()
        if kind == 1 and reach:
            return Option(int(draw.integers(1, len(reach) + 1)), (), True)
        members = sorted(draw.choice(n, size=int(draw.integers(1, n + 1)), replace=False).tolist())
        chain = tuple((m, int(draw.integers(1, 8))) for m in members)
        return Option(0, chain, self.estimates.bottom is not None and kind > 2)


class DrawnLoop(AutoLoop):
    """A loop that does not choose."""

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self.chooser = Drawn(self.estimates)


def kind_of(option: Option) -> str:
    models = ">".join(str(m) for m, _ in option.models)
    return "db" if option.nodes else f"db>{models}" if option.looked_up else models or "plain"


# --- greedy, token for token -------------------------------------------------------------------------------------------


def decoded(loop: Loop, prompt: list[int]) -> tuple[list[int], Counter]:
    for _ in loop.prefill():
        pass
    kinds: Counter = Counter()
    for verified in loop.rounds():
        if isinstance(loop, AutoLoop) and verified.accepted:
            kinds[kind_of(loop.option)] += len(verified.accepted)
    return loop.text[len(prompt) :], kinds


@pytest.mark.parametrize("cls", [AutoLoop, DrawnLoop])
@pytest.mark.parametrize(("runtime", "dtype"), RUNTIMES)
def test_random_models(runtime, dtype, cls):
    """The tokens of plain greedy decoding, by the clock's choice and by any; ends of text, limits and room for none included."""
    target = random_model(0, dtype=dtype, runtime=runtime)
    drafts = [random_model(0, noise=noise, dtype=dtype, runtime=runtime) for noise in (0.12, 0.06)]
    kinds: Counter = Counter()
    for seed in range(5):
        prompt = torch.randint(0, 64, (5 + seed,), generator=torch.Generator().manual_seed(seed)).tolist()
        plain, _ = decoded(
            Loop(
                [Level("target", target.session())],
                None,
                Sampling(),
                prompt,
                max_new_tokens=60,
                backend=backend_for(target),
            ),
            prompt,
        )
        estimates = Estimates(NAMES, (1, 4, 16), bottom="db")
        for eos in (frozenset(), frozenset([plain[30]]), frozenset([plain[0]])):
            for tokens in (60, 7, 1):
                expected = plain[:tokens]
                ends = [k for k, t in enumerate(expected) if t in eos]
                expected = expected[: ends[0] + 1] if ends else expected
                levels = [Level(name, m.session()) for name, m in zip(NAMES, (*drafts, target), strict=True)]
                drafter = make_drafter(DraftSource("db", ("context",)), eos=min(eos, default=None), costs=0.05)
                loop = cls(
                    levels,
                    drafter,
                    Sampling(),
                    prompt,
                    max_new_tokens=tokens,
                    positions=256,
                    eos=eos,
                    estimates=estimates,
                    backend=backend_for(target),
                )
                out, served = decoded(loop, prompt)
                assert out == expected
                kinds += served
    # What the clock chooses is the machine's affair, and plain steps may be best on a busy one.
    assert cls is AutoLoop or sum(kinds.values()) > 150, "next to nothing was accepted: the test saw no speculation"
    if cls is DrawnLoop:
        assert len(kinds) == 7, f"not every option that drafts served: {kinds}"


@needs_native
def test_shipped_ladder():
    """On the native runtime in float32 the very tokens; the trace keeps its identities, and tells who served."""
    engine = load_engine(device="cpu")
    engine.wait_ready()
    options = {"max_new_tokens": 96, "record": False}
    for text in bundled_prompts(6):
        plain = engine.run(text, "target", **options).token_ids
        for stack in ("auto > target", "auto[nano,small] > target", "auto[db] > target"):
            trace = engine.run(text, stack, **options)
            assert trace.token_ids == plain
            check(trace)
            assert trace.meta["stack_resolved"] == {"auto > target": "auto[db,nano,small] > target"}.get(stack, stack)
            assert level_names(trace.meta) == [name for _, name in sorted({(c.level, c.name) for c in trace.call_rows})]
            served = {d.round: d.source for d in trace.draft_rows}
            top = max(r.level for r in trace.round_rows)
            assert all((r.id in served) == (r.why_no_draft is None) for r in trace.round_rows if r.level == top)
            assert {r.why_no_draft for r in trace.round_rows} <= {None, "not worth it", "no match", "no room"}
            taking_part = {t.source: t.path for t in trace.token_rows}
            assert all(path[-1] == top for path in taking_part.values()) and taking_part["target"] == (top,)


@pytest.mark.parametrize("dtype", ["float64"])
def test_shipped_ladder_in_float64(dtype):
    engine = ladder_engine(dtype)
    for text in bundled_prompts(3):
        plain = engine.run(text, "target", max_new_tokens=48, record=False).token_ids
        assert engine.run(text, "auto > target", max_new_tokens=48, record=False).token_ids == plain


# --- sampled, in distribution ------------------------------------------------------------------------------------------


def toy(
    cls, sampling: Sampling, tokens: int, model=Markov, estimates: Estimates | None = None, spread: float = 1.0
) -> AutoLoop:
    """Two draft models and a database over a target, all tables; ``spread``: how far they are from each other."""
    tables = models(3, spread=spread)
    levels = [Level(name, model(table)) for name, table in zip(NAMES, tables, strict=True)]
    loop = cls(
        levels,
        Guesser(tables[1]),
        sampling,
        [0],
        max_new_tokens=tokens,
        estimates=priced("db") if estimates is None else estimates,
        backend=HOST,
    )
    for _ in loop.prefill():
        pass
    return loop


class Counting(AutoLoop):
    """Counts what served."""

    def rounds(self):
        self.kinds: Counter = Counter()
        for verified in super().rounds():
            self.kinds[kind_of(self.option)] += 1
            yield verified


class CountingDrawn(Counting, DrawnLoop):
    pass


ONE = Sampling(temperature=1.0, seed=1)


@pytest.mark.parametrize("cls", [Counting, CountingDrawn])
def test_lossless(cls):
    # Costs at which several options are nearly as good as one another.
    loop = toy(cls, ONE, TOKENS, estimates=priced("db", draft=0.25, slope=0.03))
    assert min(p_values(loop)) > LEVEL
    assert len([k for k, n in loop.kinds.items() if n > 500]) >= (2 if cls is Counting else 8), (
        f"too few options served: {loop.kinds}"
    )


@pytest.mark.parametrize("model", [Markov, Launching])
def test_lossless_after_temperature_top_k_and_top_p(model):
    assert min(p_values(toy(DrawnLoop, SHAPED, FEWER_TOKENS, model))) > LEVEL


def test_times_do_not_matter():
    """Costs learnt by the clock, on models whose times mean nothing."""
    assert min(p_values(toy(AutoLoop, ONE, FEWER_TOKENS, estimates=Estimates(NAMES, (1, 4, 16), bottom="db")))) > LEVEL


# --- mutants -----------------------------------------------------------------------------------------------------------


class DropsWhatItSaw(DrawnLoop):
    """The choice is taken back after a draft was seen: one that begins with an unlikely token is thrown away."""

    def propose(self, room):
        draft = super().propose(room)
        if draft.rows is not None and draft.rows[0, draft.tree.tokens[0]] < 0.3:
            return Draft(DraftTree(why_empty="not worth it"))
        return draft


class LooksAtAcceptance(DrawnLoop):
    """The choice knows what the target will say: a round whose first token would be refused becomes a plain step."""

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        if i < len(self.levels) - 1 or draft.rows is None or verified.accepted:
            return verified
        self.levels[i].model.truncate(len(self.text) - 1)
        return super().verify(i, Draft(DraftTree(why_empty="not worth it")))


class ChoosesByTheDraft(DrawnLoop):
    """Two options draft, and the one whose own model finds its tokens likelier is taken."""

    def propose(self, room):
        one = super().propose(room)
        self._forget()
        other = super().propose(room)
        self._forget()
        if one.rows is None or other.rows is None:
            return one
        chance = lambda draft: float(draft.rows[0, draft.tree.tokens[0]])
        return one if chance(one) >= chance(other) else other

    def _forget(self) -> None:
        for model in self._models:
            model.truncate(len(self.text) - 1)


@pytest.mark.parametrize("mutant", [DropsWhatItSaw, LooksAtAcceptance, ChoosesByTheDraft])
def test_mutant_is_caught(mutant):
    assert min(p_values(toy(mutant, ONE, FEWER_TOKENS // 2, spread=2.5))) < LEVEL


def test_what_the_mutants_were_made_from_passes():
    assert min(p_values(toy(DrawnLoop, ONE, FEWER_TOKENS // 2, spread=2.5))) > LEVEL


# --- the same again ----------------------------------------------------------------------------------------------------


def test_with_given_costs_a_run_can_be_repeated():
    """The same options, drafts and tokens; with other costs other drafts."""

    def run(estimates: Estimates):
        loop = toy(AutoLoop, ONE, 2000, estimates=estimates)
        for _ in loop.rounds():
            pass
        return loop.text, [
            (d.round, d.level, d.token_id, d.verdict) for judged in loop.log.drafts for d in judged.rows(str)
        ]

    first, again, dear = run(priced("db")), run(priced("db")), run(priced("db", draft=0.6))
    assert first == again
    assert first[1] != dear[1]
    assert len(first[0]) == 2001 and max(first[0]) < V
