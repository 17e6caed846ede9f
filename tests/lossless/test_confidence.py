"""Drafts that stop when they are unsure, by exact enumeration of the loop over random stacks:
1e-12, no other tolerance.

Every level stops by its own confidence: the lowest model, those that verify, and those over a
database that drafts trees. Two and three levels, all rules, end tokens, limits that cut drafts.
"""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import distribution
from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.measure.audit import enumeration
from hsd_viz.measure.audit.stacks import EnumeratedDraws, ToySession
from hsd_viz.trace.tables import RULES
from tests.lossless import mutants

TOLERANCE = 1e-12
#: Random instances in each part; the parts are of 216 in all.
INSTANCES = 27
PARTS = 8
#: Shapes: draft models, whether a database that drafts trees is below them, new tokens, the largest
#: vocabulary.
SHAPES = [(1, False, 4, 3), (2, False, 3, 2), (1, True, 3, 3), (2, True, 3, 2)]


class TreeOfTwo(Drafter):
    """A database of sorts: of each text the same tree of two branches."""

    name = "db"
    nodes = 4

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary

    def start(self, prompt):
        pass

    def extend(self, tokens):
        pass

    def draft(self, text, budget):
        tree = DraftTree()
        first = tree.add(text[-1], -1, "context")
        tree.add((text[-1] + 1) % self.vocabulary, -1, "context")
        tree.add((text[-1] + 1) % self.vocabulary, first, "context")
        return tree


class Instance:
    """A random stack over random tables, with a confidence at every draft level."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(1000 + seed)
        drafts, has_tree, self.new_tokens, most = SHAPES[seed % len(SHAPES)]
        v = int(random.integers(2, most + 1))
        tables = [2 * random.normal(size=(v, v, v))]
        for _ in range(drafts):
            tables.append(tables[-1] + random.normal(size=(v, v, v)))
        self.tables = tables
        self.lookaheads = [int(random.integers(2, 4)) for _ in range(drafts)]
        self.confidences = [float(random.uniform(0.2, 0.8)) for _ in range(drafts)]
        self.eos = frozenset({v - 1} if seed // len(SHAPES) % 2 else ())
        self.sampling = Sampling(
            temperature=float(random.uniform(0.6, 1.5)), rule=RULES[seed // 8 % len(RULES)]
        )
        self.drafter = TreeOfTwo(v) if has_tree else None
        #: (level, why) of the drafts of models that were verified.
        self.ends: set[tuple[int, str]] = set()

    def loop(self, cls: type[Loop] = Loop) -> Loop:
        names = [f"m{k}" for k in range(len(self.lookaheads))]
        levels = [
            *map(
                Level,
                names,
                map(ToySession, self.tables),
                self.lookaheads,
                self.confidences,
            ),
            Level("target", ToySession(self.tables[-1])),
        ]
        return cls(
            LoopInputs(
                levels,
                self.drafter,
                self.sampling,
                [0, 1],
                max_new_tokens=self.new_tokens,
                eos=self.eos,
            )
        )

    def error(self, cls: type[Loop] = Loop) -> float:
        """The largest difference between the probability of an output and the target's."""

        def text(choices) -> tuple[int, ...]:
            loop = self.loop(cls)
            loop.draws = EnumeratedDraws(choices)
            list(loop.prefill())
            for _ in loop.rounds():
                rounds = loop.log.take()["rounds"]
                self.ends |= set(zip(rounds["level"], rounds["draft_end"], strict=True))
            return tuple(loop.text[2:])

        law = enumeration.law(text)

        def compare(prefix: tuple[int, ...], weight: float) -> float:
            if len(prefix) == self.new_tokens or (prefix and prefix[-1] in self.eos):
                return abs(law.pop(prefix, 0.0) - weight)
            scores = self.tables[-1][(0, 1, *prefix)[-2:]]
            row = distribution(scores[None], self.sampling)[0]
            return max(compare((*prefix, token), weight * float(p)) for token, p in enumerate(row))

        return max(compare((), 1.0), sum(law.values()))


@pytest.mark.parametrize("part", range(PARTS))
def test_the_law_is_the_targets_with_a_confidence_at_every_level(part):
    ends: set[tuple[int, str]] = set()
    for seed in range(part * INSTANCES, (part + 1) * INSTANCES):
        instance = Instance(seed)
        assert instance.error() < TOLERANCE, seed
        ends |= instance.ends
    # Verified by level 1 and 2 alike; a draft at level 1 is of a model where there is no database.
    assert ends >= {(1, "confidence"), (2, "confidence"), (1, "length"), (2, "length")}
    assert {why for _, why in ends} >= {"eos", "limit", None}


def drafts_by_hand(sampling: Sampling, confidences: list[float], lookaheads: list[int]) -> tuple:
    """The lengths of the drafts that the target verified, and why they ended. Each model gives
    token 1 a probability of 0.8 at temperature 1, and it is always drawn.
    """
    row = np.log([0.1, 0.8, 0.1])
    tables = [np.broadcast_to(row, (3, 3, 3))] * (len(lookaheads) + 1)
    names = [f"m{k}" for k in range(len(lookaheads))]
    levels = [
        *map(Level, names, map(ToySession, tables), lookaheads, confidences),
        Level("target", ToySession(tables[-1])),
    ]
    loop = Loop(LoopInputs(levels, None, sampling, [0, 1], max_new_tokens=12))
    loop.draws = AlwaysInTheMiddle()
    list(loop.prefill())
    list(loop.rounds())
    rounds = loop.log.take()["rounds"]
    drafts = zip(rounds["level"], rounds["drafted"], rounds["draft_end"], strict=True)
    return tuple((drafted, end) for level, drafted, end in drafts if level == len(lookaheads))


class AlwaysInTheMiddle:
    """Numbers that draw the token in the middle of a row."""

    def at(self, position):
        return 0.5

    def fresh(self, n):
        return [0.5] * n


@pytest.mark.parametrize(
    "sampling", [Sampling(temperature=1.0, rule="token"), Sampling(temperature=0.0)], ids=str
)
@pytest.mark.parametrize(
    ("confidences", "lookaheads", "first"),
    [
        # 0.8, 0.64, 0.512: the third token makes it less than 0.6.
        pytest.param([0.6], [8], (3, "confidence"), id="the third token"),
        pytest.param([0.9], [8], (1, "confidence"), id="at once"),
        pytest.param([0.8], [8], (2, "confidence"), id="what is 0.8 is not below 0.8"),
        pytest.param([0.6], [3], (3, "length"), id="at its lookahead"),
        pytest.param([0.0], [4], (4, None), id="without a confidence"),
        # Rounds of the middle level: one token of the lowest, all accepted, and one of its own.
        pytest.param([0.0, 0.6], [1, 8], (4, "confidence"), id="a middle level, after two rounds"),
        pytest.param([0.0, 0.3], [1, 8], (6, "confidence"), id="a middle level, after three"),
        pytest.param([0.6, 0.01], [8, 4], (4, "length"), id="the lowest of two"),
    ],
)
def test_where_a_draft_stops_by_hand(sampling, confidences, lookaheads, first):
    assert drafts_by_hand(sampling, confidences, lookaheads)[0] == first


def test_the_limit_is_named_where_it_ends_a_draft():
    assert drafts_by_hand(Sampling(temperature=0.0), [0.001], [8])[-1] == (2, "limit")


def test_with_greedy_decoding_the_text_is_that_of_the_target_alone():
    for seed in range(40):
        instance = Instance(seed)
        instance.sampling = Sampling(temperature=0.0)
        instance.new_tokens = 12
        plain = Loop(
            LoopInputs(
                [Level("target", ToySession(instance.tables[-1]))],
                None,
                instance.sampling,
                [0, 1],
                max_new_tokens=12,
                eos=instance.eos,
            )
        )
        loops = [plain, instance.loop()]
        for loop in loops:
            list(loop.prefill())
            list(loop.rounds())
        assert loops[0].text == loops[1].text, seed


LOOKING_AHEAD = [
    mutants.UnsureTokenDropped,
    mutants.UnsureTokenOfAMiddleLevelDropped,
    mutants.CutAfterItsSurestToken,
    mutants.UnsureDraftHalved,
    mutants.SurerOfTwoDrafts,
]


@pytest.mark.parametrize("mutant", LOOKING_AHEAD, ids=lambda cls: cls.__name__)
def test_a_stop_that_looks_ahead_is_caught(mutant):
    """Under each rule, over the stacks without a database."""
    seeds = range(0, 24, len(SHAPES))
    if mutant is mutants.UnsureTokenOfAMiddleLevelDropped:
        seeds = range(1, 48, len(SHAPES))
    if mutant is mutants.SurerOfTwoDrafts:
        # Two drafts have many outcomes: vocabularies of two tokens.
        seeds = [seed for seed in range(0, 96, 8) if len(Instance(seed).tables[0]) == 2]
    errors = {rule: 0.0 for rule in RULES}
    for seed in seeds:
        instance = Instance(seed)
        rule = instance.sampling.rule
        errors[rule] = max(errors[rule], instance.error(mutant))
    assert min(errors.values()) > 1e-3, errors


def test_a_middle_level_may_stop_inside_a_round():
    for seed in range(1, 24, len(SHAPES)):
        assert Instance(seed).error(mutants.CutInsideARound) < TOLERANCE, seed
