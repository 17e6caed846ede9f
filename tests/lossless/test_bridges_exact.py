"""Drafts by a model with another tokenizer, by exact enumeration: random pairs of tokenizers,
both bridges, 1e-12.
"""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import distribution
from hsd_viz.measure.audit.exact import exact
from hsd_viz.measure.audit.stacks import loop_decoder
from hsd_viz.settings.engine_choices import BRIDGES
from hsd_viz.stack import parse
from tests.lossless.random_tokenizers import make_draft, make_translator
from tests.lossless.test_chi_square import LEVEL, p_value
from tests.lossless.toys import Markov, V, models, sample

TOLERANCE = 1e-12
PAIRS = range(32)
#: (stack, vocabulary of the target, new tokens).
STACKS = [
    ("draft:2 > target", 4, 3),
    ("draft:3 > target", 3, 3),
    ("draft:1 > small:2 > target", 3, 3),
]


def shares_tokens(seed: int, size: int) -> bool:
    return bool(make_translator(seed, size)[0].shared)


def audit(seed: int, kind: str, stack: str, size: int, tokens: int, cls: type[Loop] = Loop):
    model = make_draft(seed, size, kind, positions=4 if seed % 3 == 0 else None)
    decode = loop_decoder(parse(stack), "block" if seed % 2 else "token", cls, lowest=model.session)
    return exact(
        decode,
        models=len(parse(stack).models),
        vocabulary=size,
        new_tokens=tokens,
        instances=2,
        seed=seed,
    )


@pytest.mark.parametrize("kind", BRIDGES)
@pytest.mark.parametrize("seed", PAIRS)
def test_the_law_is_the_targets(seed, kind):
    stack, size, tokens = STACKS[seed % len(STACKS)]
    if kind == "tli" and not shares_tokens(seed, size):
        with pytest.raises(ValueError, match="share no token"):
            make_draft(seed, size, kind)
        return
    result = audit(seed, kind, stack, size, tokens)
    assert result.lossless, str(result)
    assert result.error < TOLERANCE, str(result)


def test_the_pairs_disagree_and_their_drafts_are_accepted():
    """Enough pairs have shared tokens, other ones have none; the drafts of both bridges are long
    enough to matter.
    """
    sharing = [seed for seed in PAIRS if shares_tokens(seed, STACKS[seed % len(STACKS)][1])]
    assert len(sharing) >= 20
    assert len(sharing) < len(PAIRS)
    for kind in BRIDGES:
        drafted = accepted = 0
        for seed in sharing:
            _, size, _ = STACKS[seed % len(STACKS)]
            for verified in run(seed, kind, size, 60).rounds():
                drafted = drafted + len(verified.draft)
                accepted = accepted + len(verified.accepted)
        assert drafted > 10 * len(sharing), (
            kind,
            drafted,
            accepted,
        )
        assert accepted > 3 * len(sharing), (
            kind,
            drafted,
            accepted,
        )


def run(
    seed: int, kind: str, size: int, tokens: int, target=None, sampling: Sampling | None = None
) -> Loop:
    if target is None:
        target = np.random.default_rng(seed).normal(size=(size, size))
    levels = [Level("target", Markov(target))]
    if kind:
        levels.insert(0, Level("draft", make_draft(seed, size, kind).session(), 3))
    loop = Loop(
        LoopInputs(
            levels,
            None,
            sampling or Sampling(temperature=1.0, seed=seed),
            [0],
            max_new_tokens=tokens,
        )
    )
    list(loop.prefill())
    return loop


@pytest.mark.parametrize(("kind", "temperature"), [("slem", 0.0), ("slem", 1.0), ("tli", 0.0)])
def test_greedy_and_point_mass_drafts_give_the_tokens_of_plain_decoding(kind, temperature):
    for seed in PAIRS:
        size = STACKS[seed % len(STACKS)][1]
        if kind == "tli" and not shares_tokens(seed, size):
            continue
        runs = []
        for drafting in (kind, ""):
            runs.append(
                run(seed, drafting, size, 80, sampling=Sampling(temperature=temperature, seed=seed))
            )
        assert sample(runs[0]) == sample(runs[1]), seed


# --- mutants --------------------------------------------------------------------------------------


class NotRenormalized(Loop):
    """q is the draft's row over its own vocabulary, without the tokens that the target lacks."""

    def sample(self, i, n):
        out = super().sample(i, n)
        out.rows = out.rows * 0.7
        return out


class OtherIds(Loop):
    """The row's ids are the draft's, not the target's."""

    def sample(self, i, n):
        out = super().sample(i, n)
        out.rows = (np.roll(out.rows, 1, -1) + 1e-3) / (1 + 1e-3 * out.rows.shape[1])
        return out


class SoftmaxOfText(Loop):
    """The tokens cut from the draft's text are verified with a row, not as point masses."""

    def sample(self, i, n):
        out = super().sample(i, n)
        vocabulary = self.levels.models[-1].session._logits.shape[-1]
        out.rows = np.full((len(out), vocabulary), 1 / vocabulary)
        return out


@pytest.mark.parametrize(
    ("mutant", "kind"), [(NotRenormalized, "tli"), (OtherIds, "tli"), (SoftmaxOfText, "slem")]
)
def test_mutants_are_caught(mutant, kind):
    seeds = [seed for seed in PAIRS if len(make_translator(seed, 4)[0].shared) >= 2][:3]
    results = [audit(seed, kind, "draft:2 > target", 4, 3, mutant) for seed in seeds]
    wrong = [result for result in results if not result.lossless and result.error > 1e-4]
    assert wrong, list(map(str, results))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["token", "block"])
def test_chi_square_of_restricted_rows(rule):
    """300 texts of 200 tokens."""
    seed = next(s for s in PAIRS if len(make_translator(s, V)[0].shared) >= 3)
    target = models(2)[1]
    texts = []
    for k in range(300):
        sampling = Sampling(temperature=1.0, seed=k, rule=rule)
        texts.append([0, *sample(run(seed, "tli", V, 200, target, sampling))])
    exact_rows = distribution(target, Sampling(temperature=1.0))

    assert min(p_value(texts, exact_rows, order) for order in (1, 2)) > LEVEL
